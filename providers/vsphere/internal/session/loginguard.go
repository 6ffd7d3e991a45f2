package session

import (
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// loginLimits keep accounts from being locked. A vCenter locks an account after five
// failures within 180 seconds by default, of every session and at any of the vCenters
// that share a directory:
// https://techdocs.broadcom.com/us/en/vmware-cis/vcf/vcf-5-2-and-earlier/4-5/configure-the-account-lockout-policy-for-vcenter-single-sign-on.html.
// One password may fail twice in that time, so that two failures are left for other
// programs even if a second password, which is tried at once, is wrong too.
var loginLimits = login.Limits{
	Interval:         180 * time.Second,
	PerPassword:      2,
	PerAccount:       3,
	Delays:           deniedDelays,
	DelaysIfAccepted: acceptedDelays,
	Retention:        time.Hour,
}

// NewLoginGuard returns a guard that keeps the sessions which share it from locking
// an account. With a store it does so over restarts of the process.
func NewLoginGuard(clock clock.PassiveClock, options ...login.Option) *login.Guard {
	return login.NewGuard(loginLimits, clock, options...)
}

// accountOf returns the same for the forms of a user name that vCenter takes for the
// same account, U@domain and DOMAIN\u.
func accountOf(user string) string {
	user = strings.ToLower(strings.TrimSpace(user))
	if domain, name, ok := strings.Cut(user, `\`); ok {
		return name + "@" + domain
	}

	return user
}

// loginRequest describes a login to the guard. It is called with the lock held.
func (s *Session) loginRequest(api api, credentials Credentials) login.Request {
	return login.Request{
		Account:  accountOf(credentials.User),
		Password: credentials.Password,
		Target:   "vCenter " + s.endpoint.name(),
		Refused:  s.backoff.wasRefused(api, credentials),
		Accepted: s.backoff.accepted == credentials,
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

// mayLogIn returns an error if these credentials may not be tried now.
func (s *Session) mayLogIn(api api, credentials Credentials) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.backoff.denied(api, credentials); err != nil || !credentials.password() {
		return err
	}

	return s.options.LoginGuard.Check(s.loginRequest(api, credentials))
}
