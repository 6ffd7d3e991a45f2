package login

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Limits are how many failures are allowed before a cloud locks an account.
type Limits struct {
	// Interval is the time in which failures add up.
	Interval time.Duration
	// PerPassword and PerAccount are how many logins may fail in an interval, with one
	// password and with all passwords of an account.
	PerPassword, PerAccount int
	// Delays are those between two logins with a refused password, for the targets
	// that refused it, and DelaysIfAccepted for the targets that accepted it before:
	// it may be right, and a directory behind the target not reachable.
	Delays, DelaysIfAccepted wait.Backoff
	// Retention is how long after its end a delay still makes the next one longer.
	Retention time.Duration
}

// Guard lets logins with passwords happen within its limits. Which targets share a
// directory is not known, so it counts by account alone. It is safe for concurrent use.
type Guard struct {
	limits Limits
	clock  clock.PassiveClock

	mu       sync.Mutex
	changed  chan struct{} // closed at the end of each login, then replaced
	accounts map[string]*account
}

// NewGuard returns a guard that knows of no failure.
func NewGuard(limits Limits, clock clock.PassiveClock) *Guard {
	return &Guard{limits: limits, clock: clock, changed: make(chan struct{}), accounts: map[string]*account{}}
}

// Request describes a login.
type Request struct {
	// Account is the user, in the one form that all names of an account have.
	Account  string
	Password config.Secret
	// Target describes in errors where the password is sent to.
	Target string
	// Refused reports whether the target refused this password last, and Accepted
	// whether it accepted this password last.
	Refused, Accepted bool
}

// Result is that of a login.
type Result int

// The results of a login.
const (
	// Accepted means that the password is right.
	Accepted Result = iota
	// Refused means that the password is wrong or the account locked.
	Refused
	// Lost means that the password may have been refused: there was no response.
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
}

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
	a, p := g.find(r)

	return g.check(a, p, r)
}

// Reserve waits until a password may be sent. The caller passes the result to the
// function that it returns, with the error if there is one. It fails with a
// [NotTriedError] if the password may not be sent for a while, or if ctx ends first.
func (g *Guard) Reserve(ctx context.Context, r Request) (done func(Result, error), err error) {
	for {
		g.mu.Lock()
		a, p := g.find(r)
		err, busy, changed, target := g.check(a, p, r), g.busy(a, p), g.changed, a.target
		if err == nil && !busy {
			p.trying++
			a.target = r.Target
		}
		g.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if !busy {
			return func(result Result, err error) { g.record(r, result, err) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &NotTriedError{Cause: apierr.Mark(apierr.ErrUnavailable,
				fmt.Errorf("wait for a login to the same account at %s: %w", target, context.Cause(ctx)))}
		}
	}
}

// record stores the result of a login.
func (g *Guard) record(r Request, result Result, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, p := g.find(r)
	now := g.clock.Now()
	p.trying--
	switch result {
	case Accepted:
		p.accepted, p.backoff = true, Backoff{}
		// The password is right, so the logins without a response were accepted.
		p.failures = slices.DeleteFunc(p.failures, func(f failure) bool { return f.lost })
	case Refused, Lost:
		p.accepted = false
		p.failures = append(p.failures, failure{at: now, lost: result == Lost})
		a.cause = fmt.Errorf("%s: %w", r.Target, err)
		if result == Refused {
			p.backoff.Fail(now, g.limits.delays(r), a.cause)
		}
	case Failed:
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

func (l Limits) delays(r Request) wait.Backoff {
	if r.Accepted {
		return l.DelaysIfAccepted
	}

	return l.Delays
}

// free returns when failures are fewer than a limit again. It is zero if they are now.
func (l Limits) free(failures []time.Time, limit int) time.Time {
	if len(failures) < limit {
		return time.Time{}
	}

	return failures[len(failures)-limit].Add(l.Interval)
}

// account is what is known of one account.
type account struct {
	passwords map[passwordKey]*password
	cause     error  // of the last failure
	target    string // of the last login
}

// passwordKey identifies a password without containing it.
type passwordKey [sha256.Size]byte

// password is what is known of one password.
type password struct {
	backoff Backoff // for the targets that refused it
	// accepted reports whether it was accepted and did not fail since.
	accepted bool
	trying   int // logins under way
	failures []failure
}

// failure is a refusal, or a login without a response.
type failure struct {
	at   time.Time
	lost bool
}

// find returns what is known of an account and its password, without what is too old
// to count. It is called with the lock held.
func (g *Guard) find(r Request) (*account, *password) {
	a := g.accounts[r.Account]
	if a == nil {
		a = &account{passwords: map[passwordKey]*password{}}
		g.accounts[r.Account] = a
	}
	now := g.clock.Now()
	for key, p := range a.passwords {
		p.failures = slices.DeleteFunc(p.failures, func(f failure) bool { return now.Sub(f.at) > g.limits.Interval })
		if !p.accepted && p.trying == 0 && len(p.failures) == 0 && now.Sub(p.backoff.Until()) > g.limits.Retention {
			delete(a.passwords, key)
		}
	}
	key := passwordKey(sha256.Sum256([]byte(r.Password.Reveal())))
	p := a.passwords[key]
	if p == nil {
		p = &password{}
		a.passwords[key] = p
	}

	return a, p
}

// check is Check with the lock held.
func (g *Guard) check(a *account, p *password, r Request) error {
	var until time.Time
	if r.Refused && g.clock.Now().Before(p.backoff.Until()) {
		until = p.backoff.Until()
	}
	for _, free := range []time.Time{g.limits.free(p.times(), g.limits.PerPassword), g.limits.free(a.times(), g.limits.PerAccount)} {
		if free.After(until) {
			until = free
		}
	}
	if until.IsZero() {
		return nil
	}

	return &NotTriedError{Until: until, Cause: a.cause}
}

// busy reports whether a login has to wait for the ones under way: a password that was
// not accepted yet is tried by one at a time, and no more logins run at a time than may
// fail.
func (g *Guard) busy(a *account, p *password) bool {
	trying := 0
	for _, other := range a.passwords {
		trying += other.trying
	}

	return p.trying > 0 && !p.accepted ||
		p.trying+len(p.failures) >= g.limits.PerPassword ||
		trying+len(a.times()) >= g.limits.PerAccount
}

// times returns when logins with the password failed.
func (p *password) times() []time.Time {
	at := make([]time.Time, len(p.failures))
	for i, f := range p.failures {
		at[i] = f.at
	}

	return at
}

// times returns when logins with all passwords failed, in order.
func (a *account) times() []time.Time {
	var all []time.Time
	for _, p := range a.passwords {
		all = append(all, p.times()...)
	}
	slices.SortFunc(all, time.Time.Compare)

	return all
}
