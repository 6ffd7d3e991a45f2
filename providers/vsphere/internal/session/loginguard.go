package session

import (
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// accountOf returns the same for the forms of a user name that vCenter takes for the
// same account, U@domain and DOMAIN\u.
func accountOf(user string) string {
	user = strings.ToLower(strings.TrimSpace(user))
	if domain, name, ok := strings.Cut(user, `\`); ok {
		return name + "@" + domain
	}

	return user
}

// loginRequest describes a login to the guard.
func (s *Session) loginRequest(api api, credentials Credentials) login.Request {
	return login.Request{
		Account:  accountOf(credentials.User),
		Password: credentials.Password,
		Target:   fmt.Sprintf("vCenter %s (%s)", s.endpoint.name(), api),
	}
}

// loginResult returns what the error of a login means for the password.
func loginResult(err error) login.Result {
	switch {
	case err == nil:
		return login.Accepted
	case isWrongPassword(err):
		return login.Refused
	case mayBeApplied(err):
		return login.Lost
	default:
		return login.Failed
	}
}

// mayLogIn returns an error if these credentials may not be tried now. Both APIs have one
// directory: what one has refused is not tried at the other, unless the SOAP API, without
// which nothing works, has accepted it.
func (s *Session) mayLogIn(api api, credentials Credentials) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.backoff.denied(api, credentials); err != nil || !credentials.password() {
		return err
	}
	err := s.options.LoginGuard.Check(s.loginRequest(apiSOAP, credentials))
	if err == nil && (api == apiREST || s.backoff.apis[apiSOAP].accepted != credentials) {
		err = s.options.LoginGuard.Check(s.loginRequest(apiREST, credentials))
	}

	return err
}
