package login

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// storeTimeout bounds each call of the store.
	storeTimeout = 5 * time.Second
	// storePause is how long a store that could not be read is not read again, and
	// how old what was read is before a login is rejected for it.
	storePause = time.Minute
	// maxConflicts is how often a write is repeated that other processes came before.
	maxConflicts = 5
	// passwordBytes is the size of the hash of a password. It is so short that one in
	// 65,536 passwords has the same: the password cannot be found by
	// trying, and a new password almost always differs from a refused one.
	passwordBytes = 2
	accountBytes  = 8
)

// Option changes a [Guard].
type Option func(*Guard)

// WithStore makes the guard keep its failures in a store. It reads the store before the
// first login, and writes each reservation before the password is sent, unless the
// password was accepted since the start; so a login whose process ends before it has a
// result counts as a failure. If the store fails, which is logged once, the guard knows
// of the failures of this process alone. Nil is no store.
func WithStore(store Store) Option {
	return func(g *Guard) {
		if store != nil {
			g.stored = &stored{store: store, self: rand.Text()[:8], turn: make(chan struct{}, 1)}
		}
	}
}

// stored is what a guard knows of its store. The fields from readable on are guarded by
// the lock of the guard.
type stored struct {
	store Store
	self  string        // the name of this process in the record
	turn  chan struct{} // holds a value during a call of the store

	readable bool      // the store has been read
	read     time.Time // when that was tried last
	salt     []byte
	others   []PasswordRecord // of other processes
	saved    []PasswordRecord // all, as in the store
	warned   bool             // that the store fails, since it worked last
}

// hashes identify a password in the record.
type hashes struct{ account, password string }

// hashesOf returns the hashes of a request.
func hashesOf(r Request, salt []byte) hashes {
	sum := func(size int, text string) string {
		mac := hmac.New(sha256.New, salt)
		mac.Write([]byte(text))

		return hex.EncodeToString(mac.Sum(nil)[:size])
	}
	account := sum(accountBytes, r.Account)

	return hashes{account, sum(passwordBytes, account+r.Password.Reveal())}
}

// open reads the store before the first login, and makes the password of the request
// known by its hashes.
func (g *Guard) open(ctx context.Context, r Request) {
	if g.stored == nil || !g.enter(ctx) {
		return
	}
	defer g.leave()
	loaded := g.unread() && g.load(ctx)
	g.identify(r)
	if loaded {
		_ = g.flush(ctx, r, false) // what failed before the store could be read
	}
}

// unread reports whether the store must be read before a login.
func (g *Guard) unread() bool {
	g.mu.Lock()
	defer g.mu.Unlock()

	return !g.stored.readable && g.clock.Since(g.stored.read) >= storePause
}

// refresh reads the store again before a login is rejected, since the failures that it
// is rejected for may be those of another process whose login was accepted meanwhile. It
// reports whether anything has changed.
func (g *Guard) refresh(ctx context.Context, r Request) bool {
	if g.stored == nil || !g.enter(ctx) {
		return false
	}
	defer g.leave()
	g.mu.Lock()
	before := g.stored.others
	needed := g.stored.readable && len(before) > 0 && g.clock.Since(g.stored.read) >= storePause
	g.mu.Unlock()
	if !needed || !g.load(ctx) {
		return false
	}
	g.identify(r)
	_ = g.flush(ctx, r, false) // times that are later than now
	g.mu.Lock()
	defer g.mu.Unlock()

	return !reflect.DeepEqual(before, g.stored.others)
}

// enter waits for the calls of the store by other logins. It fails when ctx ends.
func (g *Guard) enter(ctx context.Context) bool {
	select {
	case g.stored.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *Guard) leave() { <-g.stored.turn }

// load reads the store and reports whether that succeeded.
func (g *Guard) load(ctx context.Context) bool {
	call, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	record, err := g.stored.store.Load(call)
	if errors.Is(err, apierr.ErrInvalid) {
		klog.FromContext(ctx).Error(err, "Stored logins cannot be read and will be replaced")
		record, err = Record{}, nil
	}
	if ctx.Err() != nil {
		return false // the caller has given up, so it means nothing
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s, now := g.stored, g.clock.Now()
	s.read = now
	if err != nil {
		g.warn(ctx, err)

		return false
	}
	if record.Salt == nil && s.salt == nil {
		record.Salt = make([]byte, saltSize)
		_, _ = rand.Read(record.Salt) // it never fails
	}
	if record.Salt != nil {
		s.salt = record.Salt
	}
	s.readable, s.warned = true, false
	s.saved, s.others = record.Passwords, record.others(s.self, now, g.limits)
	g.adopt()

	return true
}

// warn logs once that the store fails. It is called with the lock held.
func (g *Guard) warn(ctx context.Context, err error) {
	if !g.stored.warned {
		klog.FromContext(ctx).Error(err, "Failed logins are not stored: after a restart, as many may fail again")
	}
	g.stored.warned = true
}

// identify makes the password of a request known by its hashes.
func (g *Guard) identify(r Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	salt := g.stored.salt
	a, p := g.find(r)
	if salt == nil || p.hashes != (hashes{}) && slices.Equal(p.salt, salt) {
		return
	}
	p.hashes, p.salt, p.hashed = hashesOf(r, salt), salt, g.clock.Now()
	a.hash = p.hashes.account
	g.adopt()
}

// adopt makes the delays of other processes those of this one. It is called with the
// lock held.
func (g *Guard) adopt() {
	for _, a := range g.accounts {
		for _, p := range a.passwords {
			if p.accepted {
				g.forgive(p)
			}
			for _, other := range g.stored.others {
				if p.is(other) && other.Until.After(p.backoff.until) {
					p.backoff = Backoff{failures: other.Refusals, until: other.Until, cause: errEarlier}
					p.adopted = true
				}
			}
		}
	}
}

// is reports whether a record is that of the password.
func (p *password) is(r PasswordRecord) bool { return p.hashes == hashes{r.Account, r.Password} }

// save writes what has changed. For a reservation it returns a NotTriedError, and writes
// nothing, if another process has reserved too many meanwhile. If the store fails,
// there is no error.
func (g *Guard) save(ctx context.Context, r Request, reserving bool) error {
	if g.stored == nil {
		return nil
	}
	if ctx.Err() != nil || !g.enter(ctx) {
		return notWritten(ctx)
	}
	defer g.leave()

	return g.flush(ctx, r, reserving)
}

// flush is save during a turn.
func (g *Guard) flush(ctx context.Context, r Request, reserving bool) error {
	for range maxConflicts {
		g.mu.Lock()
		if reserving {
			if err := g.exceeded(r); err != nil {
				g.mu.Unlock()

				return err
			}
		}
		record, changed := g.compose()
		g.mu.Unlock()
		if !changed {
			return nil
		}
		switch err := g.write(ctx, record); {
		case ctx.Err() != nil:
			return notWritten(ctx)
		case errors.Is(err, apierr.ErrConflict):
			if !g.load(ctx) {
				return nil
			}
			g.identify(r)
		case err != nil:
			g.mu.Lock()
			defer g.mu.Unlock()
			g.warn(ctx, err)

			return nil
		default:
			g.mu.Lock()
			defer g.mu.Unlock()
			g.stored.saved, g.stored.warned = record.Passwords, false

			return nil
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.warn(ctx, apierr.Mark(apierr.ErrConflict, errors.New("other processes write all the time")))

	return nil
}

// notWritten is the error of a reservation whose caller has given up.
func notWritten(ctx context.Context) error {
	return &NotTriedError{Cause: apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("store that a login begins: %w", context.Cause(ctx)))}
}

// write calls the store.
func (g *Guard) write(ctx context.Context, record Record) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()

	return g.stored.store.Save(ctx, record)
}

// exceeded returns a NotTriedError if a reserved login may not be tried because of what
// other processes have stored. It is called with the lock held.
func (g *Guard) exceeded(r Request) error {
	a, p := g.find(r)
	if err := g.check(a, p, r); err != nil {
		return err
	}
	if p.trying()+len(g.passwordTimes(p)) > g.limits.PerPassword || a.trying()+len(g.accountTimes(a)) > g.limits.PerAccount {
		return &NotTriedError{Cause: a.reason()}
	}

	return nil
}

// compose returns what is to be stored, and whether it is not stored already. It is
// called with the lock held.
func (g *Guard) compose() (record Record, changed bool) {
	s, now := g.stored, g.clock.Now()
	if !s.readable {
		return Record{}, false
	}
	var all []PasswordRecord
	taken := map[hashes]bool{}
	for _, a := range g.accounts {
		for _, p := range a.passwords {
			if (p.hashes == hashes{}) || !slices.Equal(p.salt, s.salt) {
				continue // it was not used since the store has another salt
			}
			taken[p.hashes] = true
			if own := g.recordOf(p).current(now, g.limits); own.counts() {
				all = append(all, own)
			}
		}
	}
	for _, other := range s.others {
		if other = other.current(now, g.limits); !taken[hashes{other.Account, other.Password}] && other.counts() {
			all = append(all, other)
		}
	}
	all = bounded(all)
	// What has become too old since is left where it is until something else changes.
	var saved []PasswordRecord
	for _, p := range s.saved {
		if p = p.current(now, g.limits); p.counts() {
			saved = append(saved, p)
		}
	}

	return Record{Salt: s.salt, Passwords: all}, !slices.EqualFunc(all, bounded(saved), PasswordRecord.equal)
}

// recordOf returns what is to be stored of a password of this process.
func (g *Guard) recordOf(p *password) PasswordRecord {
	r := PasswordRecord{Account: p.hashes.account, Password: p.hashes.password, Refusals: min(p.backoff.failures, maxRefusals), Until: p.backoff.until.UTC()}
	for _, f := range p.failures {
		r.Failures = append(r.Failures, FailureRecord{At: f.at.UTC(), Refused: !f.lost, By: g.stored.self})
	}
	if !p.accepted {
		for _, at := range p.reserved {
			r.Failures = append(r.Failures, FailureRecord{At: at.UTC(), By: g.stored.self})
		}
	}
	for _, other := range g.stored.others {
		if p.is(other) {
			r.Failures = append(r.Failures, other.Failures...)
		}
	}

	return r
}

// forgive drops the logins of other processes with an accepted password that have no
// result, as for those of this process. It is called with the lock held.
func (g *Guard) forgive(p *password) {
	if g.stored == nil {
		return
	}
	for i, other := range g.stored.others {
		if p.is(other) {
			other.Failures = slices.DeleteFunc(slices.Clone(other.Failures), func(f FailureRecord) bool { return !f.Refused })
			other.Refusals, other.Until = 0, time.Time{}
			g.stored.others[i] = other
		}
	}
}

// passwordTimes returns when logins with the password failed, in order, those of other
// processes as well.
func (g *Guard) passwordTimes(p *password) []time.Time {
	times := p.times()
	if g.stored != nil && p.hashes != (hashes{}) {
		for _, other := range g.stored.others {
			if p.is(other) {
				times = append(times, g.counting(other)...)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)

	return times
}

// accountTimes returns when logins with all passwords failed, in order, those of other
// processes as well.
func (g *Guard) accountTimes(a *account) []time.Time {
	times := a.times()
	if g.stored != nil && a.hash != "" {
		for _, other := range g.stored.others {
			if other.Account == a.hash {
				times = append(times, g.counting(other)...)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)

	return times
}

// counting returns the times of the failures that still count.
func (g *Guard) counting(r PasswordRecord) []time.Time {
	var times []time.Time
	for _, f := range r.current(g.clock.Now(), g.limits).Failures {
		times = append(times, f.At)
	}

	return times
}
