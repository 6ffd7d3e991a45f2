package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

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

// leastCases and leastPairs are how many cases there are at least with one fault
// and with two.
const (
	leastCases = 12000
	leastPairs = 1000
)

// TestCrash ends every operation on load balancers at every one of its calls, in
// every way. A process that starts then has to come to the same end as one that
// had no faults, or has to find all that there is to delete. With the race
// detector a sample of the cases runs.
func TestCrash(t *testing.T) {
	t.Parallel()
	began := time.Now()
	all := scenarios()
	var ran, cases, doubles, ends atomic.Int64
	t.Run("all", func(t *testing.T) {
		var shared props
		for name, s := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				sampler := newSampler(t)
				if sampler == nil {
					return
				}
				p := rehearse(t, &shared, s)
				for _, n := range sampler.of((len(p.calls) - p.primed + 1) * len(faults)) {
					p.disturb(p.primed+1+n/len(faults), faults[n%len(faults)])
					cases.Add(1)
				}
				doubles.Add(int64(p.twice(name, sampler)))
				p.unaltered()
				ends.Add(int64(len(p.seen)))
				ran.Add(1)
			})
		}
	})
	report(t, "%d cases of operation, call and fault in %d scenarios, %d with two faults, %d different outcomes, in %s",
		cases.Load(), ran.Load(), doubles.Load(), ends.Load(), time.Since(began).Round(time.Second))
	if raceDetector || int(ran.Load()) < len(all) {
		return // a sample, or scenarios selected with -run
	}
	if cases.Load() < leastCases || doubles.Load() < leastPairs {
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
	start moment
	// want is the end, and the recording what leads to it. Its first calls bring the
	// load balancer of before up to date, in scenarios with same.
	want      state
	recording recording
	calls     []string
	primed    int
	// shut is what does not get through in the end.
	shut []string
	// seen are the states that runs ended in, and what comes of them is known. So
	// are the states after so many calls that are known.
	seen  map[outcome]bool
	known map[int]bool
}

// rehearse plays a scenario once, without faults.
func rehearse(t *testing.T, shared *props, s scenario) *play {
	t.Helper()
	stage, from := shared.stage(t, s.dials)
	p := &play{stage: stage, scenario: s, seen: map[outcome]bool{}, known: map[int]bool{}}
	if s.alone {
		p.load(from.alone)
	}
	p.empty = p.state()
	if s.last {
		p.load(from.alone)
	}
	if s.before != nil {
		status, err := p.fresh().EnsureLoadBalancer(t.Context(), flagged, s.before, p.pick(s.beforehand))
		p.must(err)
		p.service.Status.LoadBalancer = *status
	}
	if s.last {
		p.addPeers()
	}
	if s.arrange != nil {
		s.arrange(p.stage)
	}
	p.start = p.save()
	lb := p.provider(&projector{record: &p.recording})
	p.prime(lb)
	p.primed = len(p.recording.takes)
	err := p.operate(t.Context(), lb)
	if !errors.Is(err, s.refusal) {
		t.Fatalf("got error %v, want %v", err, s.refusal)
	}
	p.calls = p.recording.calls()
	p.want = p.state()
	if p.shut = p.blocked(); s.refusal == nil && !s.dials.leave && len(p.shut) > 0 {
		t.Errorf("without faults: does not get through: %q", p.shut)
	}
	lb = p.remove("without faults")
	if _, exists, err := lb.GetLoadBalancer(t.Context(), flagged, p.service); err != nil || exists {
		t.Errorf("without faults: Get says %t, %v of what was deleted", exists, err)
	}
	if t.Failed() {
		t.FailNow()
	}
	return p
}

// fresh is a process that starts. What never changes it need not ask the cloud.
func (p *play) fresh() *loadBalancer { return p.provider(&projector{constant: true}) }

// prime has a process bring the load balancer up to date, if the operation is one
// of a process that did.
func (p *play) prime(lb *loadBalancer) {
	p.t.Helper()
	if p.same {
		_, err := lb.EnsureLoadBalancer(p.t.Context(), flagged, p.before, p.pick(p.beforehand))
		p.must(err)
	}
}

// operate has a process run the operation.
func (p *play) operate(ctx context.Context, lb *loadBalancer) error {
	p.hinder(true)
	return p.again(func() error { return p.do(ctx, lb, p.service, p.pick(p.behind)) })
}

// hinder has the region refuse the operation, or no longer.
func (p *play) hinder(on bool) {
	if p.refuse != nil {
		p.refuse(p.stage, on)
	}
}

// end runs the operation once from the start, with a fault from the kth call on,
// and says what that was. A process that can go on after that has to.
func (p *play) end(k int, f fault) (what string, err error) {
	p.t.Helper()
	before := &projector{replay: p.recording.takes[:k-1]}
	begin := p.start
	if k > 1 {
		begin = p.recording.takes[k-2].outcome
	}
	p.load(begin)
	ctx, kill := context.WithCancel(p.t.Context())
	defer kill()
	lb := p.provider(before)
	p.prime(lb)
	rule := p.Gate().Break(front.Any, front.Always(), f.effect(kill))
	err = p.operate(ctx, lb)
	rule.Remove()
	what = f.name + " at the end"
	if k <= len(p.calls) {
		what = fmt.Sprintf("%s at call %d, %s", f.name, k, p.calls[k-1])
	}
	broken := rule.Hits() > 0
	if broken != (k <= len(p.calls)) || (err != nil) != (broken || p.refusal != nil) {
		p.t.Fatalf("%s of %d: %d calls broke, the error is %v", what, len(p.calls), rule.Hits(), err)
	}
	if p.same && ctx.Err() == nil {
		left := p.save()
		p.clock.Step(retryTime)
		p.done(what, p.operate(ctx, lb))
		p.settled(what + ", the same process")
		p.load(left)
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
	left := p.save()
	if !end.deleting {
		p.done(what, p.operate(p.t.Context(), p.fresh()))
		p.settled(what)
		p.load(left)
	}
	p.remove(what)
	if p.t.Failed() {
		p.t.Fatalf("%s: it ended in\n%s", what, cmp.Diff(p.want.dump, end.dump))
	}
}

// done demands that a run went as well as it can.
func (p *play) done(what string, err error) {
	p.t.Helper()
	if !errors.Is(err, p.refusal) {
		p.t.Fatalf("%s, and then: %v, want %v", what, err, p.refusal)
	}
}

// settled demands the wanted end.
func (p *play) settled(what string) {
	p.t.Helper()
	if diff := cmp.Diff(p.want.dump, p.Dump()); diff != "" {
		p.t.Errorf("%s: -without faults +then:\n%s", what, diff)
	}
	if diff := cmp.Diff(p.shut, p.blocked()); diff != "" {
		p.t.Errorf("%s: what does not get through, -without faults +then:\n%s", what, diff)
	}
}

// remove deletes what is there as the service controller does, which asks first.
// Nothing may be left.
func (p *play) remove(what string) *loadBalancer {
	p.t.Helper()
	p.hinder(false)
	lb := p.fresh()
	_, exists, err := lb.GetLoadBalancer(p.t.Context(), flagged, p.service)
	if err != nil {
		p.t.Fatalf("%s, and then Get: %v", what, err)
	}
	if p.state() != p.empty && !exists {
		p.t.Errorf("%s, AWS-DELETE-1: Get returns that nothing exists", what)
	}
	if err := p.again(func() error { return deleteDeed(p.t.Context(), lb, p.service, nil) }); err != nil {
		p.t.Fatalf("%s, and then delete: %v", what, err)
	}
	if diff := cmp.Diff(p.empty, p.state(), cmp.AllowUnexported(state{})); diff != "" {
		p.t.Errorf("%s: -before +deleted:\n%s", what, diff)
	}
	return lb
}

// unaltered demands that nobody has written to answers of the SDK that are
// shared.
func (p *play) unaltered() {
	p.t.Helper()
	if names := slices.Concat(p.recording.altered(), p.constants.altered(), p.decoded.altered()); len(names) > 0 {
		p.t.Errorf("somebody writes to answers of %v", names)
	}
}
