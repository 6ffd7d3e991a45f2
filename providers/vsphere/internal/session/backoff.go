package session

import (
	"errors"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// The delays between logins after failures in a row. An API that is unavailable is tried
// often, so that Nodes which wait for it are initialized soon after its end.
var (
	// deniedDelays are not those of a refused password, which the login guard has.
	deniedDelays      = []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute}
	unavailableDelays = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second}
	shortLivedDelays  = []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second,
	}
)

// backoff decides when a login to one vCenter may be tried again, apart from what the
// login guard decides. It is guarded by the lock of its session. Each API has its own,
// because they are separate services in a vCenter.
type backoff struct {
	clock clock.PassiveClock
	apis  [apiCount]apiBackoff
}

// apiBackoff is the backoff of one API.
type apiBackoff struct {
	// accepted are the credentials that the API accepted last, unless it refused them since.
	accepted Credentials
	// denied is for a login with these credentials that failed for another reason
	// than a wrong password, such as a missing permission.
	denied            login.Backoff
	deniedCredentials Credentials
	// unavailable is for failures that are not about credentials.
	unavailable login.Backoff
	// lost reports whether the last login may have been refused, but had no response.
	lost bool
	// shortLived is for sessions that ended right after their login. Unlike the
	// others it remains after a login that succeeds.
	shortLived login.Backoff
}

// unavailable returns the cause if no login to an API may be tried now.
func (b *backoff) unavailable(api api) error {
	now := b.clock.Now()
	if err := b.apis[api].shortLived.Err(now); err != nil {
		return err
	}

	return b.apis[api].unavailable.Err(now)
}

// denied returns an error if these credentials may not be tried now.
func (b *backoff) denied(api api, credentials Credentials) error {
	a := &b.apis[api]
	if err := a.denied.Err(b.clock.Now()); err != nil && a.deniedCredentials == credentials {
		return &login.NotTriedError{Until: a.denied.Until(), Cause: err}
	}

	return nil
}

// record stores the result of a login.
func (b *backoff) record(api api, credentials Credentials, err error) {
	a := &b.apis[api]
	a.lost = false
	switch {
	case err == nil:
		*a = apiBackoff{accepted: credentials, shortLived: a.shortLived}
	case credentials.password() && isWrongPassword(err):
		*a = apiBackoff{shortLived: a.shortLived}
	case errors.Is(err, apierr.ErrDenied):
		a.unavailable = login.Backoff{}
		if a.deniedCredentials != credentials {
			a.deniedCredentials, a.denied = credentials, login.Backoff{}
		}
		a.denied.Fail(b.clock.Now(), deniedDelays, err)
	default:
		b.recordUnavailable(api, err)
		a.lost = mayBeApplied(err)
	}
}

// recordUnavailable stores a failure that is not about credentials.
func (b *backoff) recordUnavailable(api api, err error) {
	b.apis[api].unavailable.Fail(b.clock.Now(), unavailableDelays, err)
}

// recordShortLived stores that one session too many ended right after its login.
func (b *backoff) recordShortLived(api api) {
	b.apis[api].shortLived.Fail(b.clock.Now(), shortLivedDelays, errShortLived)
}

// resetShortLived ends the delay for short-lived sessions, because one lasted.
func (b *backoff) resetShortLived(api api) { b.apis[api].shortLived = login.Backoff{} }

// resetUnavailable lets the next login happen at once, because the cause of the failures
// may be gone.
func (b *backoff) resetUnavailable() {
	for api := range b.apis {
		b.apis[api].unavailable = login.Backoff{}
	}
}
