package session

import (
	"maps"
	"sync"
	"time"
)

// freeTries is how often refused credentials may have failed for a session that
// has not seen that itself to try them all the same: where vCenters have a
// directory of their own, one that refuses them says nothing about the other.
const freeTries = 2

// forgetAfter is how long after its end a pause still makes the next one longer.
const forgetAfter = time.Hour

// Lockout counts how often credentials were refused, for all sessions that are
// made with it. Linked vCenters have one directory, which locks an account for the
// failures at all of them. It is safe for concurrent use.
type Lockout struct {
	mu      sync.Mutex
	refused map[Credentials]*pause
}

// NewLockout makes one that knows of no refusal.
func NewLockout() *Lockout {
	return &Lockout{refused: map[Credentials]*pause{}}
}

// admit returns the cause if credentials may not be tried now. Once a pause is
// over it lets one in, and no other for a while unless that one succeeds.
func (l *Lockout) admit(credentials Credentials, now time.Time, seen bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()

	p := l.refused[credentials]
	if p == nil || !seen && p.failures < freeTries {
		return nil
	}
	if err := p.closed(now); err != nil {
		return err
	}
	p.until = now.Add(refusedFirst)

	return nil
}

// fail takes note of a refusal and returns the end of the pause after it.
func (l *Lockout) fail(credentials Credentials, now time.Time, cause error) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()

	maps.DeleteFunc(l.refused, func(_ Credentials, p *pause) bool { return now.Sub(p.until) > forgetAfter })
	p := l.refused[credentials]
	if p == nil {
		p = &pause{}
		l.refused[credentials] = p
	}
	p.fail(now, refusedFirst, refusedMax, cause)

	return p.until
}

// forget takes note of a login that worked.
func (l *Lockout) forget(credentials Credentials) {
	l.mu.Lock()
	defer l.mu.Unlock()

	delete(l.refused, credentials)
}
