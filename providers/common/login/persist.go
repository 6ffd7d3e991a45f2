package login

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
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
	return func(g *Guard) { g.stored.store = store }
}

// stored is what a guard knows of its store. The fields from read to warned are used
// during a turn, the others behind them with the lock of the guard.
type stored struct {
	store Store               // nil without one
	self  string              // the name of this process in the record
	turn  *semaphore.Weighted // held during a call of the store

	read   time.Time        // when reading was tried last
	saved  []PasswordRecord // all, as in the store
	warned bool             // that the store fails, since it worked last

	salt   []byte                    // nil until the store has been read
	others map[hashes]PasswordRecord // of other processes
}

func newStored() stored { return stored{self: rand.Text()[:8], turn: semaphore.NewWeighted(1)} }

// unread reports whether the store must be read before a login.
func (s *stored) unread() bool { return s.salt == nil }

// outdated reports whether the store must be read before a login is rejected: the
// failures that it is rejected for may be those of another process whose login was
// accepted meanwhile.
func (s *stored) outdated() bool { return len(s.others) > 0 }

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

// read reads the store if that is needed and was not tried just before. It reports
// whether anything has changed.
func (g *Guard) read(ctx context.Context, r Request, needed func() bool) bool {
	if !g.enter(ctx) {
		return false
	}
	defer g.stored.turn.Release(1)
	g.mu.Lock()
	before := g.stored.others
	wanted := needed() && g.clock.Since(g.stored.read) >= storePause
	g.mu.Unlock()
	if !wanted || !g.load(ctx) {
		return false
	}
	_ = g.flush(ctx, r, false) // failures before the first read, and times that are later than now
	g.mu.Lock()
	defer g.mu.Unlock()

	return !equalities.DeepEqual(before, g.stored.others)
}

// enter waits for the calls of the store by other logins. It fails without a store, or
// when ctx ends.
func (g *Guard) enter(ctx context.Context) bool {
	return g.stored.store != nil && g.stored.turn.Acquire(ctx, 1) == nil
}

// load reads the store and reports whether that succeeded.
func (g *Guard) load(ctx context.Context) bool {
	call, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	s := &g.stored
	record, err := s.store.Load(call)
	if errors.Is(err, apierr.ErrInvalid) {
		klog.FromContext(ctx).Error(err, "Stored logins cannot be read and will be replaced")
		record, err = Record{}, nil
	}
	if ctx.Err() != nil {
		return false // the caller has given up, so it means nothing
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	s.read = now
	if s.warn(ctx, err); err != nil {
		return false
	}
	if record.Salt == nil && s.salt == nil {
		record.Salt = make([]byte, saltSize)
		_, _ = rand.Read(record.Salt) // it never fails
	}
	if record.Salt != nil {
		s.salt = record.Salt
	}
	s.saved, s.others = record.Passwords, record.others(s.self, now, g.limits)
	for _, a := range g.accounts {
		for _, p := range a.passwords {
			g.adopt(p)
		}
	}

	return true
}

// warn logs once that the store fails.
func (s *stored) warn(ctx context.Context, err error) {
	if err != nil && !s.warned {
		klog.FromContext(ctx).Error(err, "Failed logins are not stored: after a restart, as many may fail again")
	}
	s.warned = err != nil
}

// adopt makes the delay of other processes that of this one, and drops one that is no
// longer stored. If the password was accepted here, it drops the delay, and the logins
// without a result: they were accepted. It is called with the lock held.
func (g *Guard) adopt(p *password) {
	if p.adopted {
		p.backoff, p.adopted = Backoff{}, false
	}
	other, found := g.stored.others[p.hashes]
	if found && p.accepted {
		other.Failures = slices.DeleteFunc(slices.Clone(other.Failures), FailureRecord.lost)
		other.Refusals, other.Until = 0, time.Time{}
		g.stored.others[p.hashes] = other
	}
	if other.Until.After(p.backoff.until) {
		p.backoff = Backoff{failures: other.Refusals, until: other.Until, cause: errEarlier}
		p.adopted = true
	}
}

// save writes what has changed. For a reservation it returns a NotTriedError, and writes
// nothing, if another process has reserved too many meanwhile. If the store fails,
// there is no error.
func (g *Guard) save(ctx context.Context, r Request, reserving bool) error {
	if g.stored.store == nil {
		return nil
	}
	if ctx.Err() != nil || !g.enter(ctx) {
		return notWritten(ctx)
	}
	defer g.stored.turn.Release(1)

	return g.flush(ctx, r, reserving)
}

// flush is save during a turn.
func (g *Guard) flush(ctx context.Context, r Request, reserving bool) error {
	for range maxConflicts {
		record, changed, err := g.compose(r, reserving)
		if err != nil || !changed {
			return err
		}
		switch err := g.write(ctx, record); {
		case ctx.Err() != nil:
			return notWritten(ctx)
		case !errors.Is(err, apierr.ErrConflict):
			if g.stored.warn(ctx, err); err == nil {
				g.stored.saved = record.Passwords
			}

			return nil
		case !g.load(ctx):
			return nil
		}
	}
	g.stored.warn(ctx, apierr.Mark(apierr.ErrConflict, errors.New("other processes write all the time")))

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

// compose returns what is to be stored, and whether it is not stored already. It fails
// with a NotTriedError if a reserved login may not be tried because of what other
// processes have stored.
func (g *Guard) compose(r Request, reserving bool) (record Record, changed bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, p := g.find(r)
	if reserving {
		if err := g.exceeded(a, p, r); err != nil {
			return Record{}, false, err
		}
	}
	s, now := &g.stored, g.clock.Now()
	if s.unread() {
		return Record{}, false, nil
	}
	passwords := maps.Clone(s.others)
	for _, a := range g.accounts {
		for _, p := range a.passwords {
			if bytes.Equal(p.salt, s.salt) { // it was used since the store has this salt
				passwords[p.hashes] = g.addTo(passwords[p.hashes], p)
			}
		}
	}
	all := current(slices.Collect(maps.Values(passwords)), now, g.limits)
	// What has become too old since is left where it is until something else changes.
	changed = !equalities.DeepEqual(all, current(s.saved, now, g.limits))

	return Record{Salt: s.salt, Passwords: all}, changed, nil
}

// exceeded returns a NotTriedError if a reserved login may not be tried.
func (g *Guard) exceeded(a *account, p *password, r Request) error {
	if err := g.check(a, p, r); err != nil {
		return err
	}
	if len(p.reserved)+len(g.passwordTimes(p)) > g.limits.PerPassword || a.trying()+len(g.accountTimes(a, p)) > g.limits.PerAccount {
		return &NotTriedError{Cause: a.reason()}
	}

	return nil
}

// addTo adds a password of this process to what others have stored of it.
func (g *Guard) addTo(r PasswordRecord, p *password) PasswordRecord {
	r.Account, r.Password = p.hashes.account, p.hashes.password
	r.Failures = slices.Concat(r.Failures, p.failures)
	if !p.accepted {
		for _, at := range p.reserved {
			r.Failures = append(r.Failures, FailureRecord{At: at.UTC(), By: g.stored.self})
		}
	}
	if p.backoff.until.After(r.Until) {
		r.Refusals, r.Until = min(p.backoff.failures, maxRefusals), p.backoff.until.UTC()
	}

	return r
}
