package nsxt

import (
	"net/http"
	"net/url"
	"strconv"
)

// tokenUser is the user of requests with an access token.
const tokenUser = "token"

// createToken exchanges the refresh token for an access token ([terraform]
// nsxt/provider.go, the login to VMware Cloud).
func (c *Cloud) createToken(k *call) (any, error) {
	form, err := url.ParseQuery(string(k.body))
	if err != nil || form.Get("refresh_token") != c.spec.Token.Refresh {
		return nil, &apiError{status: http.StatusBadRequest, module: "csp", message: "invalid_grant: the refresh token is not valid"}
	}
	token := c.ids.Hex("token", 40)
	c.tokens[token] = c.now().Add(c.spec.Token.Lifetime)
	var expires any = int(c.spec.Token.Lifetime.Seconds())
	if c.spec.Token.ExpiresAsString {
		expires = strconv.Itoa(int(c.spec.Token.Lifetime.Seconds()))
	}

	return Object{"access_token": token, "token_type": "bearer", "expires_in": expires, "scope": "ALL_PERMISSIONS"}, nil
}

// loginByToken checks an access token.
func (c *Cloud) loginByToken(token string) (caller, error) {
	if !c.now().Before(c.tokens[token]) {
		return caller{}, newError(http.StatusUnauthorized, 0)
	}

	return caller{name: tokenUser}, nil
}
