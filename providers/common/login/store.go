package login

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/conversion"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Store keeps what a [Guard] knows of failures beyond the end of its process. Methods
// are called one at a time.
type Store interface {
	// Load returns what is stored, and the zero Record if nothing is. An error that
	// is apierr.ErrInvalid means that what is stored is no Record; the next Save
	// replaces it.
	Load(ctx context.Context) (Record, error)
	// Save replaces what was loaded or saved last. An error that is
	// apierr.ErrConflict means that another process has stored something since.
	Save(ctx context.Context, record Record) error
}

// Record is what is stored of the logins that failed, of all processes. It has no
// password and no name of an account.
type Record struct {
	// Salt is part of what the hashes are made of. It is random and does not change.
	Salt []byte `json:"salt"`
	// Passwords are those with which a login failed, by the time of the last one.
	Passwords []PasswordRecord `json:"passwords,omitempty"`
}

// PasswordRecord is what is stored of one password of one account.
type PasswordRecord struct {
	// Account and Password are hashes with the salt of the record.
	Account  string `json:"account"`
	Password string `json:"password"`
	// Failures are the logins that count, in order.
	Failures []FailureRecord `json:"failures,omitempty"`
	// Refusals is how many logins in a row were refused, and Until when the delay
	// after the last one ends.
	Refusals int       `json:"refusals,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// FailureRecord is a login that was refused, or that has no result: it is under way,
// there was no response, or its process has ended.
type FailureRecord struct {
	At      time.Time `json:"at"`
	Refused bool      `json:"refused,omitempty"`
	// By is the process, as a random name.
	By string `json:"by"`
}

// lost reports whether the login has no result.
func (f FailureRecord) lost() bool { return !f.Refused }

// Bounds of what is stored, far more than limits allow: about 16 KiB.
const (
	maxPasswords = 32
	maxFailures  = 8
	maxRefusals  = 32 // the delay has long reached its end
	saltSize     = 16
)

var (
	errRecord = errors.New("it is no record of logins")
	// errEarlier is the cause of a delay whose failures are those of other processes.
	errEarlier = apierr.Mark(apierr.ErrDenied, errors.New("logins were refused or had no response, before this process started or in another one"))
)

// validate returns an error for a record that no guard has made. The zero one is valid.
func (r Record) validate() error {
	if len(r.Salt) != saltSize && (r.Salt != nil || len(r.Passwords) > 0) {
		return errRecord
	}
	for _, p := range r.Passwords {
		if p.Account == "" || p.Password == "" || p.Refusals < 0 {
			return errRecord
		}
	}

	return nil
}

// others returns what other processes have stored and what still counts. No time is
// later than now, so that a wrong clock delays no login for longer than a right one.
func (r Record) others(self string, now time.Time, limits Limits) map[hashes]PasswordRecord {
	latest := now.Add(max(limits.Delays.Cap, limits.DelaysIfAccepted.Cap, limits.Delays.Duration, limits.DelaysIfAccepted.Duration))
	passwords := slices.Clone(r.Passwords)
	for i := range passwords {
		p := &passwords[i]
		p.Failures = slices.DeleteFunc(slices.Clone(p.Failures), func(f FailureRecord) bool { return f.By == self })
		for j := range p.Failures {
			p.Failures[j].At = earlier(p.Failures[j].At, now)
		}
		p.Until, p.Refusals = earlier(p.Until, latest), min(p.Refusals, maxRefusals)
	}
	others := map[hashes]PasswordRecord{}
	for _, p := range current(passwords, now, limits) {
		others[hashes{p.Account, p.Password}] = p
	}

	return others
}

// current returns what is not too old to count, the newest entries in order.
func current(passwords []PasswordRecord, now time.Time, limits Limits) []PasswordRecord {
	var current []PasswordRecord
	for _, p := range passwords {
		p.Failures = slices.DeleteFunc(slices.Clone(p.Failures), func(f FailureRecord) bool { return now.Sub(f.At) > limits.Interval })
		slices.SortFunc(p.Failures, func(a, b FailureRecord) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.By, b.By)) })
		p.Failures = p.Failures[max(0, len(p.Failures)-maxFailures):]
		if now.Sub(p.Until) > limits.Retention {
			p.Refusals, p.Until = 0, time.Time{}
		}
		if len(p.Failures) > 0 || p.Refusals > 0 {
			current = append(current, p)
		}
	}
	slices.SortFunc(current, func(a, b PasswordRecord) int {
		return cmp.Or(a.last().Compare(b.last()), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Password, b.Password))
	})

	return current[max(0, len(current)-maxPasswords):]
}

// equalities compare records whose failures are in order.
var equalities = conversion.EqualitiesOrDie(time.Time.Equal)

// last returns the time of what happened last.
func (p PasswordRecord) last() time.Time {
	times := lists.Map(p.Failures, func(f FailureRecord) time.Time { return f.At })

	return slices.MaxFunc(append(times, p.Until), time.Time.Compare)
}

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }
