package session

import (
	"errors"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// How long logins pause. What was refused is tried with growing pauses, within
// the limits of [Lockout]. What is down is tried often, so that Nodes which wait
// for it are initialized soon after its end.
const (
	refusedFirst = 15 * time.Second
	refusedMax   = 5 * time.Minute
	// refusedAgain is the longest pause of credentials that worked before: they
	// may be right, and the directory behind the vCenter not reachable.
	refusedAgain = time.Minute

	downFirst = time.Second
	downMax   = 5 * time.Second
	briefMax  = 30 * time.Second
)

// gate decides when a login to one vCenter may be tried again. It is guarded by
// the lock of its session.
type gate struct {
	clock   clock.PassiveClock
	lockout *Lockout

	// refused are the credentials whose password was refused here last, by either
	// API since they have one directory.
	refused Credentials
	// accepted are the credentials that worked here last.
	accepted Credentials
	apis     [apiCount]apiGate
}

// apiGate is what a gate knows of one API. Each has pauses of its own, because
// they are separate services in a vCenter.
type apiGate struct {
	// worked is what the API accepted last. Until it refuses that itself, the
	// pause after a refusal by the other one does not apply to it.
	worked Credentials
	// denied is the pause after a login with these credentials that failed for
	// another reason than a wrong password, such as a missing permission.
	denied            pause
	deniedCredentials Credentials
	// down counts failures that say nothing about credentials.
	down pause
	// lost reports whether the last login may have been refused, but its answer
	// was lost.
	lost bool
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

// unavailable returns the cause if no login to an API may be tried now.
func (g *gate) unavailable(api api) error {
	now := g.clock.Now()
	if err := g.apis[api].brief.closed(now); err != nil {
		return err
	}

	return g.apis[api].down.closed(now)
}

// refusal returns the cause if these credentials may not be tried now.
func (g *gate) refusal(api api, credentials Credentials) error {
	a, now := &g.apis[api], g.clock.Now()
	if err := a.denied.closed(now); err != nil && a.deniedCredentials == credentials {
		return &heldError{until: a.denied.until, cause: err}
	}
	if !credentials.password() {
		return nil
	}

	return g.lockout.held(credentials, now, g.sawRefusal(api, credentials))
}

// sawRefusal reports whether the pause of refused credentials applies to a login.
func (g *gate) sawRefusal(api api, credentials Credentials) bool {
	return credentials == g.refused && credentials != g.apis[api].worked
}

// record takes note of how a login went.
func (g *gate) record(api api, credentials Credentials, err error) {
	a := &g.apis[api]
	a.lost = false
	switch {
	case err == nil:
		g.refused, g.accepted = Credentials{}, credentials
		*a = apiGate{worked: credentials, brief: a.brief}
	case credentials.password() && isWrongPassword(err):
		g.refused = credentials
		*a = apiGate{brief: a.brief}
	case errors.Is(err, apierr.ErrDenied):
		a.down = pause{}
		if a.deniedCredentials != credentials {
			a.deniedCredentials, a.denied = credentials, pause{}
		}
		a.denied.fail(g.clock.Now(), refusedFirst, refusedMax, err)
	default:
		g.recordDown(api, err)
		a.lost = mayBeApplied(err)
	}
}

// recordDown takes note of a failure that says nothing about credentials.
func (g *gate) recordDown(api api, err error) {
	g.apis[api].down.fail(g.clock.Now(), downFirst, downMax, err)
}

// recordBrief takes note of one session too many that ended at once.
func (g *gate) recordBrief(api api) {
	g.apis[api].brief.fail(g.clock.Now(), downFirst, briefMax, errBriefSession)
}

// forgetBrief takes note of a session that lasted.
func (g *gate) forgetBrief(api api) { g.apis[api].brief = pause{} }

// forgetDown lets the next login happen at once, because what failed may have
// changed.
func (g *gate) forgetDown() {
	for api := range g.apis {
		g.apis[api].down = pause{}
	}
}
