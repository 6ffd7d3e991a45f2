package session

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// A vCenter locks an account after five failures within 180 seconds by default,
// of every session and at whichever of the vCenters that share a directory:
// https://techdocs.broadcom.com/us/en/vmware-cis/vcf/vcf-5-2-and-earlier/4-5/configure-the-account-lockout-policy-for-vcenter-single-sign-on.html.
// One password may fail twice in that time, so that two failures are left for
// other programs even if a second password, which is tried at once, is wrong too.
const (
	refusalInterval     = 180 * time.Second
	refusalsPerPassword = 2
	refusalsPerAccount  = 3
)

// forgetAfter is how long after its end a pause still makes the next one longer.
const forgetAfter = time.Hour

// Lockout keeps accounts from being locked by the refused logins of all sessions
// that are made with it. Which vCenters share a directory is not known, so it
// counts by account alone. Each login reserves one of the failures that its
// account may have before the password is sent. It is safe for concurrent use.
type Lockout struct {
	mu       sync.Mutex
	changed  chan struct{} // closed at the end of each login, then replaced
	accounts map[string]*account
}

// account is what is known of one user name.
type account struct {
	passwords map[passwordKey]*password
	cause     error  // of the last failure
	vcenter   string // of the last login
}

// passwordKey tells the passwords of an account apart without keeping them.
type passwordKey [sha256.Size]byte

// password is what is known of one password.
type password struct {
	// pause is for the sessions that saw it refused.
	pause pause
	// proven reports whether it was accepted and did not fail since.
	proven bool
	// trying counts logins under way.
	trying int
	// failed are the times of refusals and of logins whose answer was lost.
	failed []failure
}

type failure struct {
	at   time.Time
	lost bool
}

// heldError means that a login was not tried.
type heldError struct {
	until time.Time // zero if it depends on another login
	cause error
}

func (e *heldError) Error() string {
	if e.until.IsZero() {
		return e.cause.Error()
	}

	return fmt.Sprintf("not tried again before %s: %v", e.until.UTC().Format(time.RFC3339), e.cause)
}

func (e *heldError) Unwrap() error { return e.cause }

// NewLockout makes one that knows of no refusal.
func NewLockout() *Lockout {
	return &Lockout{changed: make(chan struct{}), accounts: map[string]*account{}}
}

// accountOf writes the forms of a user name that vCenter takes for the same
// account, U@domain and DOMAIN\u, alike.
func accountOf(user string) string {
	user = strings.ToLower(strings.TrimSpace(user))
	if domain, name, ok := strings.Cut(user, `\`); ok {
		return name + "@" + domain
	}

	return user
}

// find returns what is known of credentials. It is called with the lock held.
func (l *Lockout) find(credentials Credentials, now time.Time) (*account, *password) {
	name := accountOf(credentials.User)
	a := l.accounts[name]
	if a == nil {
		a = &account{passwords: map[passwordKey]*password{}}
		l.accounts[name] = a
	}
	for key, p := range a.passwords {
		p.failed = slices.DeleteFunc(p.failed, func(f failure) bool { return now.Sub(f.at) > refusalInterval })
		if !p.proven && p.trying == 0 && len(p.failed) == 0 && now.Sub(p.pause.until) > forgetAfter {
			delete(a.passwords, key)
		}
	}
	key := passwordKey(sha256.Sum256([]byte(credentials.Password.Reveal())))
	p := a.passwords[key]
	if p == nil {
		p = &password{}
		a.passwords[key] = p
	}

	return a, p
}

// held returns an error if credentials may not be tried now, whatever the result
// of the logins under way is. The pause after a refusal applies to a session that
// saw it.
func (l *Lockout) held(credentials Credentials, now time.Time, sawRefusal bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, p := l.find(credentials, now)

	return a.held(p, now, sawRefusal)
}

func (a *account) held(p *password, now time.Time, sawRefusal bool) error {
	var until time.Time
	if sawRefusal && now.Before(p.pause.until) {
		until = p.pause.until
	}
	for limit, failed := range map[int][]time.Time{
		refusalsPerPassword: times(p),
		refusalsPerAccount:  a.times(),
	} {
		if len(failed) < limit {
			continue
		}
		if free := failed[len(failed)-limit].Add(refusalInterval); free.After(until) {
			until = free
		}
	}
	if until.IsZero() {
		return nil
	}

	return &heldError{until: until, cause: a.cause}
}

// busy reports whether a login has to wait for the ones under way: a password
// that is not proven goes alone, and no more logins are made at a time than may
// be refused.
func (a *account) busy(p *password) bool {
	trying := 0
	for _, other := range a.passwords {
		trying += other.trying
	}

	return p.trying > 0 && !p.proven ||
		p.trying+len(p.failed) >= refusalsPerPassword ||
		trying+len(a.times()) >= refusalsPerAccount
}

func times(p *password) []time.Time {
	at := make([]time.Time, len(p.failed))
	for i, f := range p.failed {
		at[i] = f.at
	}

	return at
}

// times are those of all failures of the account, in their order.
func (a *account) times() []time.Time {
	var all []time.Time
	for _, p := range a.passwords {
		all = append(all, times(p)...)
	}
	slices.SortFunc(all, time.Time.Compare)

	return all
}

// ticket says who wants to log in.
type ticket struct {
	vcenter     string
	credentials Credentials
	clock       clock.PassiveClock
	// sawRefusal reports whether they were refused here before, and worked whether
	// they were accepted before.
	sawRefusal, worked bool
}

// reserve waits until the credentials may be sent to a vCenter. The function that
// it returns takes the result of that. It fails if they may not be sent for a
// while, or if ctx ends before.
func (l *Lockout) reserve(ctx context.Context, t ticket) (func(error), error) {
	for {
		l.mu.Lock()
		a, p := l.find(t.credentials, t.clock.Now())
		err, busy, changed, vcenter := a.held(p, t.clock.Now(), t.sawRefusal), a.busy(p), l.changed, a.vcenter
		if err == nil && !busy {
			p.trying++
			a.vcenter = t.vcenter
		}
		l.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if !busy {
			return func(err error) { l.end(t, err) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &heldError{cause: apierr.Mark(apierr.ErrUnavailable,
				fmt.Errorf("wait for a login to the same account at vCenter %s: %w", vcenter, context.Cause(ctx)))}
		}
	}
}

// end takes note of how a login went.
func (l *Lockout) end(t ticket, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := t.clock.Now()
	a, p := l.find(t.credentials, now)
	p.trying--
	switch {
	case err == nil:
		p.proven, p.pause = true, pause{}
		// The password is right, so what was lost had been accepted.
		p.failed = slices.DeleteFunc(p.failed, func(f failure) bool { return f.lost })
	case isWrongPassword(err) || mayBeApplied(err):
		p.proven = false
		p.failed = append(p.failed, failure{at: now, lost: !isWrongPassword(err)})
		a.cause = fmt.Errorf("vCenter %s: %w", t.vcenter, err)
		if isWrongPassword(err) {
			p.pause.fail(now, refusedFirst, t.longestPause(), a.cause)
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// longestPause is the longest that credentials are not tried after a refusal.
func (t ticket) longestPause() time.Duration {
	if t.worked {
		return refusedAgain
	}

	return refusedMax
}
