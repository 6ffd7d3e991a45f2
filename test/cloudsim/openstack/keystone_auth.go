package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// authRequest is the body of a login (keystone: api-ref v3, password, token and
// application credential authentication).
type authRequest struct {
	Identity struct {
		Methods               []string           `json:"methods"`
		Password              *passwordRequest   `json:"password"`
		Token                 *tokenRequest      `json:"token"`
		ApplicationCredential *credentialRequest `json:"application_credential"`
	} `json:"identity"`
	Scope json.RawMessage `json:"scope"`
}

type passwordRequest struct {
	User userRequest `json:"user"`
}

type tokenRequest struct {
	ID string `json:"id"`
}

type credentialRequest struct {
	ID     string       `json:"id"`
	Name   string       `json:"name"`
	Secret string       `json:"secret"`
	User   *userRequest `json:"user"`
}

type domainRequest struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type userRequest struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Password string         `json:"password"`
	Domain   *domainRequest `json:"domain"`
}

// login is what the methods of a request have proven, and what for.
type login struct {
	request    *authRequest
	scope      scope
	user       *user
	credential *applicationCredential
	methods    []string  // of the new token
	parent     *token    // the token that was shown
	notAfter   time.Time // zero for any time
}

// refused is the response to every login that fails, whatever the reason
// (keystone: exception.py, Unauthorized; insecure_debug is off by default).
func refused() *apiError {
	return fail(http.StatusUnauthorized, "", "The request you have made requires authentication.")
}

// expected is the response to a request that lacks something (keystone:
// exception.py, ValidationError).
func expected(attribute, target string) *apiError {
	return fail(http.StatusBadRequest, "", "Expecting to find %s in %s. The server could not comply with the request "+
		"since it is either malformed or otherwise incorrect. The client is assumed to be in error.", attribute, target)
}

// unsupportedMethod is the response to a method that no plugin has, with those of the
// default (keystone: conf/auth.py, methods; exception.py, AuthMethodNotSupported).
func unsupportedMethod() *apiError {
	return &apiError{
		status: http.StatusUnauthorized,
		raw: []byte(`{"error":{"code":401,"identity":{"methods":["external","password","token","oauth1","mapped",` +
			`"application_credential"]},"message":"Attempted to authenticate with an unsupported method.","title":"Unauthorized"}}`),
	}
}

// createToken logs in. The scope is looked up before anything is proven (keystone:
// api/_shared/authentication.py, authenticate_for_token).
func createToken(k *call) (response, error) {
	who := &login{}
	if err := k.parseLogin(who); err != nil {
		return response{}, err
	}
	if err := k.findScope(who); err != nil {
		return response{}, err
	}
	for _, method := range who.request.Identity.Methods {
		if err := k.prove(who, method); err != nil {
			return response{}, err
		}
	}
	if who.user == nil || who.user.disabled {
		return response{}, refused()
	}
	if who.user.mfa && slices.Equal(who.methods, []string{"password"}) {
		return response{}, k.receipt(who)
	}
	made, err := k.newToken(who)
	if err != nil {
		return response{}, err
	}
	t := k.cloud.issue(*made, who.notAfter)
	result := response{status: http.StatusCreated, header: http.Header{"X-Subject-Token": {t.id}}}
	result.body = object{"token": k.cloud.tokenDocument(t, !k.query.Has("nocatalog"))}

	return result, nil
}

// parseLogin reads the body, and checks that each method has what it needs.
func (k *call) parseLogin(who *login) error {
	if len(k.body) == 0 {
		return expected("auth", "request body")
	}
	var body struct{ Auth *authRequest }
	if err := json.Unmarshal(k.body, &body); err != nil {
		return expected("valid JSON", "request body")
	}
	if body.Auth == nil {
		return expected("auth", "request body")
	}
	who.request = body.Auth
	identity := &body.Auth.Identity
	given := map[string]bool{
		"password": identity.Password != nil, "token": identity.Token != nil,
		"application_credential": identity.ApplicationCredential != nil,
	}
	for _, method := range identity.Methods {
		if _, known := given[method]; !known {
			return unsupportedMethod()
		}
		if !given[method] {
			return expected(method, "identity")
		}
	}

	return nil
}

// prove runs one method.
func (k *call) prove(who *login, method string) error {
	var err error
	switch method {
	case "password":
		err = k.byPassword(who, &who.request.Identity.Password.User)
	case "application_credential":
		err = k.byCredential(who, who.request.Identity.ApplicationCredential)
	default:
		err = k.byToken(who, who.request.Identity.Token.ID)
	}
	if err != nil {
		return err
	}
	if !slices.Contains(who.methods, method) {
		who.methods = append(who.methods, method)
	}

	return nil
}

// findUser returns the user that a request names.
func (k *call) findUser(request *userRequest) (*user, error) {
	state := k.cloud.keystone
	if request.ID != "" {
		return state.users.get(request.ID), nil
	}
	if request.Domain == nil {
		return nil, expected("domain", "user")
	}
	for _, u := range state.users.all() {
		if u.name == request.Name && k.inDomain(u.domainID, request.Domain) {
			return u, nil
		}
	}

	return nil, nil
}

func (k *call) inDomain(id string, request *domainRequest) bool {
	d := k.cloud.keystone.domains.get(id)

	return d != nil && (d.id == request.ID || (request.ID == "" && d.name == request.Name))
}

// byPassword compares a password. A locked account is refused as a wrong password
// is, and without counting (keystone: identity/backends/sql.py, authenticate).
func (k *call) byPassword(who *login, given *userRequest) error {
	u, err := k.findUser(given)
	if err != nil {
		return err
	}
	if u == nil || k.cloud.keystone.locked(u, k.now()) {
		return refused()
	}
	if u.password != given.Password {
		u.failures++
		u.failedAt = k.now()

		return refused()
	}
	u.failures, who.user = 0, u

	return nil
}

// byCredential compares the secret of an application credential. One that is
// deleted is 404, and one that expired or has another secret is 401 (keystone:
// auth/plugins/core.py, AppCredInfo; tried with Zed).
func (k *call) byCredential(who *login, given *credentialRequest) error {
	credential, err := k.findCredential(given)
	if err != nil {
		return err
	}
	expired := !credential.expires.IsZero() && !k.now().Before(credential.expires)
	if credential.secret != given.Secret || expired {
		return refused()
	}
	who.user, who.notAfter = k.cloud.keystone.users.get(credential.userID), credential.expires
	who.credential = credential

	return nil
}

func (k *call) findCredential(given *credentialRequest) (*applicationCredential, error) {
	state := k.cloud.keystone
	if given.ID != "" {
		credential := state.credentials.get(given.ID)
		if credential == nil {
			return nil, fail(http.StatusNotFound, "", "Could not find Application Credential: %s.", given.ID)
		}

		return credential, nil
	}
	if given.Name == "" {
		return nil, expected("name or ID", "application credential")
	}
	if given.User == nil {
		return nil, expected("user", "application credential")
	}
	u, err := k.findUser(given.User)
	if err != nil {
		return nil, err
	}
	matches := state.credentials.where(func(c *applicationCredential) bool {
		return u != nil && c.userID == u.id && c.name == given.Name
	})
	if len(matches) != 1 {
		return nil, refused()
	}

	return matches[0], nil
}

// byToken takes a valid token as the proof. The new one ends with it.
func (k *call) byToken(who *login, id string) error {
	shown := k.cloud.keystone.valid(id, k.now())
	if shown == nil {
		return k.noToken(id)
	}
	if shown.credentialID != "" || shown.trustID != "" { // keystone: token/provider.py and auth/plugins/token.py
		return disallowed("You are not authorized to perform the requested action: " +
			"Using a delegated token to create another token is not allowed..")
	}
	who.user, who.parent, who.notAfter = k.cloud.keystone.users.get(shown.userID), shown, shown.expires
	who.methods = append(who.methods, shown.methods...)

	return nil
}

// noToken is the response about a token that is not valid (keystone:
// token/token_formatters.py and token/provider.py; tried with Zed).
func (k *call) noToken(id string) error {
	if k.cloud.keystone.tokens.get(id) == nil {
		return fail(http.StatusNotFound, "", "Could not recognize Fernet token")
	}

	return fail(http.StatusNotFound, "", "Failed to validate token")
}

// receipt is the response to a login that lacks a second factor (keystone:
// receipt/handlers.py, build_receipt).
func (k *call) receipt(who *login) error {
	now := k.now().UTC().Truncate(time.Second)
	body, err := json.Marshal(object{
		"receipt": object{
			"methods":    who.methods,
			"user":       object{"id": who.user.id, "name": who.user.name, "domain": k.cloud.domainDocument(who.user.domainID)},
			"issued_at":  now.Format(keystoneTime),
			"expires_at": now.Add(5 * time.Minute).Format(keystoneTime), // keystone: conf/receipt.py, expiration
		},
		"required_auth_methods": [][]string{{"password", "totp"}},
	})
	if err != nil {
		return err
	}

	return &apiError{
		status: http.StatusUnauthorized, raw: body,
		header: http.Header{"Openstack-Auth-Receipt": {"gAAAAAB" + k.cloud.ids.Hex("receipt", 64)}},
	}
}
