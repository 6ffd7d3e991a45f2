package login

import (
	"bytes"
	"cmp"
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
	stored   stored
}

// NewGuard returns a guard that knows of no failure but those in its store, if it has one.
func NewGuard(limits Limits, clock clock.PassiveClock, options ...Option) *Guard {
	g := &Guard{limits: limits, clock: clock, changed: make(chan struct{}), accounts: map[string]*account{}, stored: newStored()}
	for _, option := range options {
		option(g)
	}

	return g
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
// of the ones under way are. It makes no call of the store: it returns nil if Reserve reads
// the store before it decides.
func (g *Guard) Check(r Request) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, p := g.find(r)
	if g.stored.outdated() && g.clock.Since(g.stored.read) >= storePause {
		return nil
	}

	return g.check(a, p, r)
}

// Reserve waits until a password may be sent. The caller passes the result to the
// function that it returns, with the error if there is one. It fails with a
// [NotTriedError] if the password may not be sent for a while, or if ctx ends first. With
// a store, the function also writes the result, whether ctx has ended or not.
func (g *Guard) Reserve(ctx context.Context, r Request) (done func(Result, error), err error) {
	g.read(ctx, r, g.stored.unread)
	for {
		g.mu.Lock()
		a, p := g.find(r)
		err, busy, changed, target, now := g.check(a, p, r), g.busy(a, p), g.changed, a.target, g.clock.Now()
		if err == nil && !busy {
			p.reserved = append(p.reserved, now)
			a.target = r.Target
		}
		g.mu.Unlock()
		if err != nil {
			if g.read(ctx, r, g.stored.outdated) {
				continue
			}

			return nil, err
		}
		if !busy {
			return g.begin(ctx, r, now)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &NotTriedError{Cause: apierr.Mark(apierr.ErrUnavailable,
				fmt.Errorf("wait for a login to the same account at %s: %w", target, context.Cause(ctx)))}
		}
	}
}

// begin writes a reservation to the store. Another process may have reserved meanwhile.
func (g *Guard) begin(ctx context.Context, r Request, reserved time.Time) (done func(Result, error), err error) {
	if err := g.save(ctx, r, true); err != nil {
		g.record(r, reserved, Failed, err)

		return nil, err
	}

	return func(result Result, err error) {
		g.record(r, reserved, result, err)
		_ = g.save(context.WithoutCancel(ctx), r, false) // only a reservation has an error
	}, nil
}

// record stores the result of a login.
func (g *Guard) record(r Request, reserved time.Time, result Result, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, p := g.find(r)
	now := g.clock.Now()
	p.end(reserved)
	switch result {
	case Accepted:
		p.accepted, p.backoff, p.adopted = true, Backoff{}, false
		p.failures = slices.DeleteFunc(p.failures, FailureRecord.lost)
		g.adopt(p)
	case Refused, Lost:
		p.accepted = false
		p.failures = append(p.failures, FailureRecord{At: now.UTC(), Refused: result == Refused, By: g.stored.self})
		p.adopted = p.adopted && result == Lost
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

// reason returns the cause of a delay.
func (a *account) reason() error { return cmp.Or(a.cause, errEarlier) }

// trying returns how many logins are under way.
func (a *account) trying() (n int) {
	for _, p := range a.passwords {
		n += len(p.reserved)
	}

	return n
}

// passwordKey identifies a password without containing it.
type passwordKey [sha256.Size]byte

// password is what is known of one password.
type password struct {
	backoff Backoff // for the targets that refused it
	// accepted reports whether it was accepted and did not fail since.
	accepted bool
	reserved []time.Time // of the logins under way
	failures []FailureRecord

	// hashes identify it in the store, made with a salt.
	hashes hashes
	salt   []byte
	// adopted reports whether the delay is one of another process, which does not
	// know which targets refused the password: it is for all of them.
	adopted bool
}

// end drops a login that was under way.
func (p *password) end(reserved time.Time) {
	if i := slices.Index(p.reserved, reserved); i >= 0 {
		p.reserved = slices.Delete(p.reserved, i, i+1)
	}
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
		p.failures = slices.DeleteFunc(p.failures, func(f FailureRecord) bool { return now.Sub(f.At) > g.limits.Interval })
		if !p.accepted && len(p.reserved) == 0 && len(p.failures) == 0 && now.Sub(p.backoff.Until()) > g.limits.Retention {
			delete(a.passwords, key)
		}
	}
	key := passwordKey(sha256.Sum256([]byte(r.Password.Reveal())))
	p := a.passwords[key]
	if p == nil {
		p = &password{}
		a.passwords[key] = p
	}
	if salt := g.stored.salt; !bytes.Equal(p.salt, salt) {
		p.hashes, p.salt = hashesOf(r, salt), salt
	}
	g.adopt(p)

	return a, p
}

// check is Check with the lock held.
func (g *Guard) check(a *account, p *password, r Request) error {
	var until time.Time
	if (r.Refused || p.adopted) && g.clock.Now().Before(p.backoff.Until()) {
		until = p.backoff.Until()
	}
	for _, free := range []time.Time{
		g.limits.free(g.passwordTimes(p), g.limits.PerPassword), g.limits.free(g.accountTimes(a, p), g.limits.PerAccount),
	} {
		if free.After(until) {
			until = free
		}
	}
	if until.IsZero() {
		return nil
	}

	return &NotTriedError{Until: until, Cause: a.reason()}
}

// busy reports whether a login has to wait for the ones under way: a password that was
// not accepted yet is tried by one at a time, and no more logins run at a time than may
// fail.
func (g *Guard) busy(a *account, p *password) bool {
	return len(p.reserved) > 0 && !p.accepted ||
		len(p.reserved)+len(g.passwordTimes(p)) >= g.limits.PerPassword ||
		a.trying()+len(g.accountTimes(a, p)) >= g.limits.PerAccount
}

// passwordTimes returns when logins with the password failed, in order, those of other
// processes as well.
func (g *Guard) passwordTimes(p *password) []time.Time {
	return g.times(p.failures, g.stored.others[p.hashes].Failures)
}

// accountTimes returns when logins with all passwords of the account of p failed, in
// order, those of other processes as well.
func (g *Guard) accountTimes(a *account, p *password) []time.Time {
	var failures []FailureRecord
	for _, own := range a.passwords {
		failures = append(failures, own.failures...)
	}
	for key, other := range g.stored.others {
		if key.account == p.hashes.account {
			failures = append(failures, other.Failures...)
		}
	}

	return g.times(failures)
}

// times returns the times of the failures that count, in order.
func (g *Guard) times(failures ...[]FailureRecord) []time.Time {
	var times []time.Time
	for _, f := range slices.Concat(failures...) {
		if g.clock.Since(f.At) <= g.limits.Interval {
			times = append(times, f.At)
		}
	}
	slices.SortFunc(times, time.Time.Compare)

	return times
}
