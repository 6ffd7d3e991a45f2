package session

import (
	"errors"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// How long logins pause. A vCenter locks an account after five failures in
// three minutes by default: 0 s, 15 s, 45 s and 105 s are four.
// What is down is tried often, so that Nodes which wait for it are initialized
// soon after its end.
const (
	refusedFirst = 15 * time.Second
	refusedMax   = 5 * time.Minute
	downFirst    = time.Second
	downMax      = 5 * time.Second
	briefMax     = 30 * time.Second
)

// gate decides when a login may be tried again. It is guarded by the lock of its
// session.
type gate struct {
	clock clock.PassiveClock

	// own is what refusals of these sessions alone count in, common that of
	// accounts, which other vCenters may know too.
	own, common *Lockout
	// refused is what was refused here last, by either API since they are
	// accounts of one directory, and refusedUntil the end of the pause after it.
	refused      Credentials
	refusedUntil time.Time
	// worked is what an API has taken last. Until it refuses that itself, what
	// the other one says does not keep it from being asked.
	worked [apiCount]Credentials
	// down counts failures that say nothing about credentials.
	down pause
	// brief counts sessions that ended right after their login. Unlike the
	// others it outlives a login that worked.
	brief pause
}

// pause is a wait that doubles with each failure in a row.
type pause struct {
	failures int
	until    time.Time
	cause    error
}

// closed returns the last cause while the pause lasts.
func (p *pause) closed(now time.Time) error {
	if now.Before(p.until) {
		return p.cause
	}

	return nil
}

func (p *pause) fail(now time.Time, first, most time.Duration, cause error) {
	wait := first
	for range p.failures {
		wait = min(2*wait, most)
	}
	p.failures++
	p.until, p.cause = now.Add(wait), cause
}

// unavailable returns the cause if no login at all may be tried now.
func (g *gate) unavailable() error {
	if err := g.brief.closed(g.clock.Now()); err != nil {
		return err
	}

	return g.down.closed(g.clock.Now())
}

// lockout is where refusals of these credentials count.
func (g *gate) lockout(credentials Credentials) *Lockout {
	if credentials.shared() {
		return g.own
	}

	return g.common
}

// refusal returns the cause if these credentials may not be tried now.
func (g *gate) refusal(api api, credentials Credentials) error {
	if credentials == g.worked[api] {
		return nil
	}

	return g.lockout(credentials).admit(credentials, g.clock.Now(), credentials == g.refused)
}

// record takes note of how a login went.
func (g *gate) record(api api, credentials Credentials, err error) {
	switch {
	case err == nil:
		g.lockout(credentials).forget(credentials)
		g.refused, g.refusedUntil, g.down = Credentials{}, time.Time{}, pause{}
		g.worked[api] = credentials
	case errors.Is(err, apierr.ErrDenied):
		g.worked[api] = Credentials{}
		g.down = pause{}
		g.refused = credentials
		g.refusedUntil = g.lockout(credentials).fail(credentials, g.clock.Now(), err)
	default:
		g.recordDown(err)
	}
}

// recordDown takes note of a failure that says nothing about credentials.
func (g *gate) recordDown(err error) {
	g.down.fail(g.clock.Now(), downFirst, downMax, err)
}

// recordBrief takes note of one session too many that ended at once.
func (g *gate) recordBrief() {
	g.brief.fail(g.clock.Now(), downFirst, briefMax, errBriefSession)
}

// forgetBrief takes note of a session that lasted.
func (g *gate) forgetBrief() { g.brief = pause{} }

// forgetDown lets the next login happen at once, because what failed may have
// changed.
func (g *gate) forgetDown() { g.down = pause{} }

// next is when something may be tried again.
func (g *gate) next() time.Time {
	if g.down.until.After(g.refusedUntil) {
		return g.down.until
	}

	return g.refusedUntil
}
