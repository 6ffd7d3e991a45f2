package login

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Limits are how many logins may fail before a cloud locks an account.
type Limits struct {
	// Interval is the time in which failures add up. In the first one of the process, one
	// refused login is enough for an account of which none was accepted: the process may
	// have been started again and again.
	Interval time.Duration
	// LostInterval is the time in which logins without a response add to the failures.
	// Default: Interval.
	LostInterval time.Duration
	// PerPassword and PerAccount are how many logins may fail in an interval, with one
	// password and with all passwords of an account, so that a new one can be tried at once.
	PerPassword, PerAccount int
	// Delays are those after refused logins in a row at a target, and DelaysIfAccepted
	// those with a password that the target has accepted before: it may be right, and a
	// directory behind the target not reachable.
	Delays, DelaysIfAccepted []time.Duration
}

// DefaultLimits keep below five failures, the usual number that locks an account: in 180
// seconds in vCenter, and in 30 minutes in many other directories, which a password that
// was never accepted can reach with at most four.
func DefaultLimits() Limits {
	return Limits{
		Interval:         181 * time.Second, // clocks differ
		PerPassword:      2,
		PerAccount:       3,
		Delays:           []time.Duration{15 * time.Second, 10 * time.Minute},
		DelaysIfAccepted: []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute},
	}
}

// retention is how long after its end a delay still makes the next one longer.
const retention = time.Hour

// Guard lets logins with passwords happen within its limits. Which targets share a
// directory is not known, so it counts by account alone. It is safe for concurrent use.
type Guard struct {
	limits Limits
	clock  clock.PassiveClock

	mu       sync.Mutex
	begun    time.Time     // when the first login began
	changed  chan struct{} // closed at the end of each login, then replaced
	accounts map[string]*account
}

// OfProcess returns the guard of all providers, clouds and tries in the process.
var OfProcess = sync.OnceValue(func() *Guard { return NewGuard(DefaultLimits(), clock.RealClock{}) })

// NewGuard returns a guard that knows of no failure.
func NewGuard(limits Limits, clock clock.PassiveClock) *Guard {
	return &Guard{limits: limits, clock: clock, changed: make(chan struct{}), accounts: map[string]*account{}}
}

// Request describes a login.
type Request struct {
	// Account is the user, in the one form that all names of an account have.
	Account  string
	Password config.Secret
	// Target is where the password is sent to, as errors name it.
	Target string
}

// Result is that of a login.
type Result int

// The results of a login.
const (
	// Accepted means that the password is right.
	Accepted Result = iota
	// Refused means that the password is wrong or the account locked.
	Refused
	// Lost means that there was no response: the password may have been refused, unless the
	// last response accepted it.
	Lost
	// Failed means any other failure, which locks no account.
	Failed
)

// NotTriedError means that a login was not tried.
type NotTriedError struct {
	// Until is when it may be tried. It is zero if that depends on another login.
	Until time.Time
	// Cause is the failure that it is not tried for.
	Cause error
	// Refused reports whether the target has refused this password and never accepted it.
	Refused bool
}

// Error returns the cause, and the time until which it applies if that is certain.
func (e *NotTriedError) Error() string {
	if e.Until.IsZero() {
		return e.Cause.Error()
	}

	return fmt.Sprintf("not tried again before %s: %v", e.Until.UTC().Format(time.RFC3339), e.Cause)
}

// Unwrap returns the cause.
func (e *NotTriedError) Unwrap() error { return e.Cause }

// Check returns a [NotTriedError] if a login may not be tried now, whatever the results
// of the ones under way are.
func (g *Guard) Check(r Request) error {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.check(g.find(r))
}

// Reserve waits until a password may be sent. The caller passes the result to the
// function that it returns, with the error if there is one. It fails with a
// [NotTriedError] if the password may not be sent for a while, or if ctx ends first.
func (g *Guard) Reserve(ctx context.Context, r Request) (done func(Result, error), err error) {
	for {
		g.mu.Lock()
		a, s := g.find(r)
		err, other, changed := g.check(a, s), g.conflict(a, s), g.changed
		if err == nil && other == nil {
			g.begin(a, s)
		}
		g.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case other == nil:
			return func(result Result, err error) { g.record(r, s, result, err) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &NotTriedError{Cause: apierr.Mark(apierr.ErrUnavailable,
				fmt.Errorf("wait for a login to the same account at %s: %w", other.target, context.Cause(ctx)))}
		}
	}
}

// begin stores that a login is under way. It is called with the lock held.
func (g *Guard) begin(a *account, s *secret) {
	a.underWay = append(a.underWay, s)
	if g.begun.IsZero() {
		g.begun = g.clock.Now()
	}
}

// record stores the result of a login.
func (g *Guard) record(r Request, s *secret, result Result, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, now := g.accounts[r.Account], g.clock.Now()
	i := slices.Index(a.underWay, s)
	a.underWay = slices.Delete(a.underWay, i, i+1)
	switch at := now.UTC().Format(time.RFC3339); result {
	case Accepted:
		a.accept(s)
	case Refused:
		err = fmt.Errorf("%s refused %s at %s: %w", r.Target, r.Account, at, err)
		a.fail(failure{secretKey: s.secretKey, until: now.Add(g.limits.Interval), refused: true, cause: err})
		delays := g.limits.Delays
		if s.accepted {
			delays = g.limits.DelaysIfAccepted
		}
		s.delay.Fail(now, delays, err)
	case Lost:
		if !s.right() {
			err = fmt.Errorf("%s did not respond to the login of %s at %s: %w", r.Target, r.Account, at, err)
			a.fail(failure{secretKey: s.secretKey, until: now.Add(cmp.Or(g.limits.LostInterval, g.limits.Interval)), cause: err})
		}
	case Failed:
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// account is what is known of one account.
type account struct {
	secrets  map[secretKey]*secret
	underWay []*secret // of each login under way
	failures []failure // that still count, in order of until
	accepted bool      // whether a password was
}

// secretKey identifies a password at a target without containing it.
type secretKey struct {
	password [sha256.Size]byte
	target   string
}

// secret is what is known of a password at a target.
type secret struct {
	secretKey
	// accepted reports whether the target has accepted the password.
	accepted bool
	delay    Backoff // after it was refused
}

// right reports whether the last response of the target accepted the password.
func (s *secret) right() bool { return s.accepted && s.delay.cause == nil }

// failure is a login that was refused, or that may have been.
type failure struct {
	secretKey
	until   time.Time // it counts until then
	refused bool
	cause   error
}

// find returns what is known of an account and of a password, without what is too old
// to count. It is called with the lock held.
func (g *Guard) find(r Request) (*account, *secret) {
	a := g.accounts[r.Account]
	if a == nil {
		a = &account{secrets: map[secretKey]*secret{}}
		g.accounts[r.Account] = a
	}
	now := g.clock.Now()
	a.failures = slices.DeleteFunc(a.failures, func(f failure) bool { return !now.Before(f.until) })
	maps.DeleteFunc(a.secrets, func(_ secretKey, s *secret) bool {
		return !s.accepted && !slices.Contains(a.underWay, s) && now.Sub(s.delay.Until()) > retention
	})
	key := secretKey{password: sha256.Sum256([]byte(r.Password.Reveal())), target: r.Target}
	s := a.secrets[key]
	if s == nil {
		s = &secret{secretKey: key}
		a.secrets[key] = s
	}

	return a, s
}

// fail stores a failure, in order.
func (a *account) fail(f failure) {
	a.failures = append(a.failures, f)
	slices.SortStableFunc(a.failures, func(x, y failure) int { return x.until.Compare(y.until) })
}

// accept stores that a target has accepted a password. It has then accepted it in the
// logins without a response, too; those that it refused still count.
func (a *account) accept(s *secret) {
	a.accepted, s.accepted, s.delay = true, true, Backoff{}
	a.failures = slices.DeleteFunc(a.failures, func(f failure) bool { return f.secretKey == s.secretKey && !f.refused })
}

// of returns the failures of a password at all targets.
func (a *account) of(s *secret) (failures []failure) {
	for _, f := range a.failures {
		if f.password == s.password {
			failures = append(failures, f)
		}
	}

	return failures
}

// check is Check with the lock held.
func (g *Guard) check(a *account, s *secret) error {
	now := g.clock.Now()
	until, cause := s.delay.Until(), s.delay.cause
	for _, end := range []time.Time{
		free(a.of(s), g.limits.PerPassword), free(a.failures, g.limits.PerAccount), g.settled(a),
	} {
		if end.After(until) {
			until, cause = end, a.failures[len(a.failures)-1].cause
		}
	}
	if now.Before(until) {
		return &NotTriedError{Until: until, Cause: cause, Refused: s.delay.cause != nil && !s.accepted}
	}

	return nil
}

// free returns when failures are fewer than a limit again. It is zero if they are now.
func free(failures []failure, limit int) time.Time {
	if len(failures) < limit {
		return time.Time{}
	}

	return failures[len(failures)-limit].until
}

// settled returns when the first interval ends, if a login of the account was refused and
// none accepted. It is zero otherwise.
func (g *Guard) settled(a *account) time.Time {
	if a.accepted || !slices.ContainsFunc(a.failures, func(f failure) bool { return f.refused }) {
		return time.Time{}
	}

	return g.begun.Add(g.limits.Interval)
}

// conflict returns a login under way that another one has to wait for, nil if there is
// none: passwords that were not accepted, or failed since, are tried one at a time, and no
// more logins run at a time than may fail.
func (g *Guard) conflict(a *account, s *secret) *secret {
	failed := len(a.of(s))
	for _, other := range a.underWay {
		if other.password == s.password {
			failed++ // it may
		}
		if a.unproven(s) && a.unproven(other) || failed >= g.limits.PerPassword || len(a.underWay)+len(a.failures) >= g.limits.PerAccount {
			return other
		}
	}

	return nil
}

// unproven reports whether a login with a password may well fail.
func (a *account) unproven(s *secret) bool {
	return !s.accepted || slices.ContainsFunc(a.failures, func(f failure) bool { return f.secretKey == s.secretKey })
}
