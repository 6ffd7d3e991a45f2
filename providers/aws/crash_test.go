package aws

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// fault is a way in which a call fails, and all that follow. Some are the end of
// the process, which kill is called for.
type fault struct {
	name   string
	effect func(kill context.CancelFunc) front.Effect
	// applies says that the cloud does what the call is for.
	applies bool
}

var faults = []fault{
	{name: "throttled", effect: func(context.CancelFunc) front.Effect { return sim.Throttled() }},
	{name: "internal error", effect: func(context.CancelFunc) front.Effect {
		return sim.Error(http.StatusInternalServerError, "InternalError", "An internal error has occurred")
	}},
	{name: "dropped", effect: func(context.CancelFunc) front.Effect { return front.Drop() }},
	{name: "answer lost", effect: func(context.CancelFunc) front.Effect { return front.DropAnswer() }, applies: true},
	{name: "killed", effect: func(kill context.CancelFunc) front.Effect {
		return func(http.ResponseWriter, *http.Request, http.Handler) {
			kill()
			panic(http.ErrAbortHandler)
		}
	}},
	{name: "killed before the answer", effect: func(kill context.CancelFunc) front.Effect {
		return func(_ http.ResponseWriter, r *http.Request, apply http.Handler) {
			apply.ServeHTTP(httptest.NewRecorder(), r)
			kill()
			panic(http.ErrAbortHandler)
		}
	}, applies: true},
}

// TestCrash ends every operation on load balancers at every one of its calls, in
// every way. A process that starts then has to come to the same end as one that
// nothing disturbed, or has to find all that there is to delete.
func TestCrash(t *testing.T) {
	t.Parallel()
	var cases, doubles, ends atomic.Int64
	t.Run("all", func(t *testing.T) {
		var shared props
		for name, s := range scenarios() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := rehearse(t, &shared, s)
				for k := 1; k <= len(p.calls)+1; k++ {
					for _, f := range faults {
						p.disturb(k, f)
						cases.Add(1)
					}
				}
				doubles.Add(int64(p.twice(name)))
				p.unaltered()
				ends.Add(int64(len(p.seen)))
			})
		}
	})
	t.Logf("%d cases of operation × call × fault in %d scenarios, %d with two faults, %d different outcomes",
		cases.Load(), len(scenarios()), doubles.Load(), ends.Load())
	if cases.Load() < 6000 || doubles.Load() < 400 {
		t.Errorf("only %d cases, and %d with two faults", cases.Load(), doubles.Load())
	}
}

// play is a scenario with how it goes when nothing disturbs it.
type play struct {
	*stage
	scenario

	// empty is the state without the Service, and start with the Service as it
	// was, from where each run begins.
	empty state
	start *sim.Snapshot
	// want is the end, and the tape what leads to it.
	want  state
	tape  tape
	calls []string
	// seen are the states that runs ended in, and what comes of them is known. So
	// are the states after so many calls that are known.
	seen  map[outcome]bool
	known map[int]bool
}

// rehearse plays a scenario once, undisturbed.
func rehearse(t *testing.T, shared *props, s scenario) *play {
	t.Helper()
	stage, from := shared.stage(t, s.dials)
	p := &play{stage: stage, scenario: s, seen: map[outcome]bool{}, known: map[int]bool{}}
	p.empty = p.state()
	if s.last {
		p.Restore(from.alone)
	}
	if s.before != nil {
		status, err := p.fresh().EnsureLoadBalancer(t.Context(), flagged, s.before, p.pick(s.beforehand))
		p.must(err)
		p.service.Status.LoadBalancer = *status
	}
	if s.last {
		p.addPeers()
	}
	p.start = p.Snapshot()
	p.must(s.do(t.Context(), p.provider(&projector{record: &p.tape}), s.service, p.pick(s.behind)))
	p.calls = p.tape.calls()
	p.want = p.state()
	p.settled("undisturbed")
	p.remove("undisturbed")
	if t.Failed() {
		t.FailNow()
	}
	return p
}

// fresh is a process that starts. What never changes it need not ask the cloud.
func (p *play) fresh() *loadBalancer { return p.provider(&projector{constant: true}) }

// end runs the operation once from the start, with a fault from the kth call on,
// and says what that was.
func (p *play) end(k int, f fault) (what string, err error) {
	p.t.Helper()
	before := &projector{replay: p.tape.takes[:k-1]}
	begin := p.start
	if k > 1 {
		begin = p.tape.takes[k-2].outcome
	}
	p.Restore(begin)
	ctx, kill := context.WithCancel(p.t.Context())
	defer kill()
	rule := p.Gate().Break(front.Any, front.Always(), f.effect(kill))
	err = p.do(ctx, p.provider(before), p.service, p.pick(p.behind))
	rule.Remove()
	what = f.name + " at the end"
	if k <= len(p.calls) {
		what = fmt.Sprintf("%s at call %d, %s", f.name, k, p.calls[k-1])
	}
	if broken := rule.Hits() > 0; broken != (k <= len(p.calls)) || (err != nil) != broken {
		p.t.Fatalf("%s of %d: %d calls broke, the error is %v", what, len(p.calls), rule.Hits(), err)
	}
	return what, err
}

// disturb ends a run. What comes of the outcome is looked at once for each.
func (p *play) disturb(k int, f fault) {
	p.t.Helper()
	what, _ := p.end(k, f)
	// What breaks without being applied, or is a mere question, leaves the state
	// in which it found everything: that of the call before.
	if n := k - 1; !f.applies || k > len(p.calls) || !sim.Mutating(p.calls[n]) {
		if p.known[n] {
			return
		}
		p.known[n] = true
	}
	p.goOn(what, false)
}

// outcome is a state in which a run ended. After a deletion has begun nothing but
// a deletion follows.
type outcome struct {
	state
	deleting bool
}

// goOn does, after a run that ended early, what a new process does.
func (p *play) goOn(what string, deleting bool) {
	p.t.Helper()
	end := outcome{p.state(), deleting || p.want == p.empty}
	if p.seen[end] || p.seen[outcome{end.state, false}] {
		return
	}
	p.seen[end] = true
	if lost := p.empty.lost(end.state); len(lost) > 0 && !p.last {
		p.t.Errorf("%s: others have lost %q", what, lost)
	}
	left := p.Snapshot()
	if !end.deleting {
		p.done(what, p.do(p.t.Context(), p.fresh(), p.service, p.pick(p.behind)))
		p.settled(what)
		p.Restore(left)
	}
	p.remove(what)
	if p.t.Failed() {
		p.t.Fatalf("%s: it ended in\n%s", what, cmp.Diff(p.want.dump, end.dump))
	}
}

// done demands that a run went well.
func (p *play) done(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s, and then: %v", what, err)
	}
}

// settled demands the wanted end.
func (p *play) settled(what string) {
	p.t.Helper()
	if diff := cmp.Diff(p.want.dump, p.Dump()); diff != "" {
		p.t.Errorf("%s: -undisturbed +then:\n%s", what, diff)
	}
	if blocked := p.blocked(); len(blocked) > 0 && !p.stage.dials.leave {
		p.t.Errorf("%s: does not get through: %q", what, blocked)
	}
}

// remove deletes what is there as the service controller does, which asks first.
// Nothing may be left.
func (p *play) remove(what string) {
	p.t.Helper()
	lb := p.fresh()
	_, exists, err := lb.GetLoadBalancer(p.t.Context(), flagged, p.service)
	p.done(what, err)
	if p.state() != p.empty && !exists {
		p.t.Errorf("%s, W1: Get says that nothing is there", what)
	}
	p.done(what, deleteDeed(p.t.Context(), lb, p.service, nil))
	if diff := cmp.Diff(p.empty, p.state(), cmp.AllowUnexported(state{})); diff != "" {
		p.t.Errorf("%s: -before +deleted:\n%s", what, diff)
	}
	if _, exists, err := lb.GetLoadBalancer(p.t.Context(), flagged, p.service); err != nil || exists {
		p.t.Errorf("%s: Get says %t, %v of what was deleted", what, exists, err)
	}
}

// unaltered demands that nobody has written to answers of the SDK that are
// shared.
func (p *play) unaltered() {
	p.t.Helper()
	if names := append(p.tape.altered(), p.constants.altered()...); len(names) > 0 {
		p.t.Errorf("somebody writes to answers of %v", names)
	}
}
