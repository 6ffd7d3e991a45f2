package aws

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/recordings"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws/faulttest"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// leastCases and leastPairs are how many cases there are at least with one fault
// and with two.
const (
	leastCases = 12000
	leastPairs = 1000
)

// TestCrash injects every fault at every call of every operation on load
// balancers. A process that starts then has to reach the same end as without
// faults, or has to find all that there is to delete. With the race detector and
// with -short a sample of the cases runs.
func TestCrash(t *testing.T) {
	t.Parallel()
	all, faults, golden := scenarios(), explore.Faults(), recordings.Read(t, "testdata/recordings")
	var ran, cases, doubles, ends atomic.Int64
	t.Run("all", func(t *testing.T) {
		shared := newTemplates(t)
		for name, s := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				sample, random := crashSample(t)
				if random == nil {
					return
				}
				c, explorer := newCrash(t, shared, s)
				if golden.Store(name, c.recorded); *update {
					return
				}
				golden.Compare(t, name, c.recorded)
				for _, n := range sample.of(random, (explorer.Baseline(t).Calls+1)*len(faults)) {
					explorer.Inject(t, explore.Injection{First: 1 + n/len(faults), Fault: faults[n%len(faults)]})
					cases.Add(1)
				}
				explorer.InjectPairs(t, random, sample.pairs)
				doubles.Add(int64(sample.pairs))
				c.unaltered()
				ends.Add(int64(explorer.Outcomes()))
				ran.Add(1)
			})
		}
	})
	if *update {
		golden.Write(t, slices.Collect(maps.Keys(all)), recordingFile)

		return
	}
	t.Logf("%d cases of operation, call and fault in %d scenarios, %d with two faults, %d different outcomes, with %s=%d",
		cases.Load(), ran.Load(), doubles.Load(), ends.Load(), profile.Variable, profile.Seed(t))
	if profile.Of(true, true, false) || int(ran.Load()) < len(all) {
		return // a sample, or scenarios selected with -run
	}
	if cases.Load() < leastCases || doubles.Load() < leastPairs {
		t.Errorf("only %d cases, and %d with two faults", cases.Load(), doubles.Load())
	}
}

// crash is a scenario whose operation is interrupted. Each run begins with the
// exchanges of the baseline before the fault, which are replayed.
type crash struct {
	*environment
	scenario

	// empty is the state without the Service, and start with the Service as it
	// was, from where the baseline begins.
	empty regionState
	start moment
	// recording has the exchanges of the baseline. The first ones bring the load
	// balancer of before up to date, in scenarios with same.
	recording recording
	primed    int
	// want is the end of the baseline, and unreached what does not get through then.
	want      regionState
	unreached []string
	// events are those of the baseline, and recorded is the text about it.
	events   []string
	recorded string
	// faults injects them, and replayed is how many calls of the operation the
	// next run does not make.
	faults   *faulttest.Region
	replayed int
}

// newCrash makes the baseline of a scenario.
func newCrash(t *testing.T, shared *templates, s scenario) (*crash, *explore.Explorer) {
	t.Helper()
	s.service = s.service.DeepCopy() // other tests run the same scenario, and this one writes its status
	env, from := shared.environment(t, s.settings)
	c := &crash{environment: env, scenario: s, faults: faulttest.New(env.Cloud)}
	if s.alone {
		c.load(from.alone)
	}
	c.empty = c.state()
	if s.last {
		c.load(from.alone)
	}
	if s.before != nil {
		status, err := c.fresh().EnsureLoadBalancer(t.Context(), flagged, s.before, c.pick(s.beforehand))
		c.must(err)
		c.service.Status.LoadBalancer = *status
	}
	if s.last {
		c.addPeers()
	}
	if s.arrange != nil {
		s.arrange(c.environment)
	}
	c.start = c.save()
	explorer := &explore.Explorer{Begin: c.begin, Err: s.wantErr, Strict: true, Writes: c.writes}
	explorer.Baseline(t)
	c.t = t
	if _, exists, err := c.fresh().GetLoadBalancer(t.Context(), flagged, s.service); err != nil || exists {
		t.Fatalf("without faults: Get returns %t, %v for what was deleted", exists, err)
	}

	return c, explorer
}

// begin begins a run in the state before a call, or that of the baseline.
func (c *crash) begin(t testing.TB, call int) explore.Run {
	t.Helper()
	c.t = t
	if call == 0 {
		c.load(c.start)
		lb := c.provider(&replayer{record: &c.recording})
		c.prime(lb)
		c.primed = len(c.recording.exchanges)
		before, events := c.state(), record.NewFakeRecorder(100)
		lb.services.SetRecorder(events)

		return c.run(func(ctx context.Context) error {
			err := c.operate(ctx, lb)
			c.noteBaseline()
			c.events = kubetest.Events(events)
			c.recorded = c.golden(before)

			return err
		})
	}
	before := c.recording.exchanges[:c.primed+call-1]
	if len(before) > 0 {
		c.load(before[len(before)-1].outcome)
	} else {
		c.load(c.start)
	}
	lb := c.provider(&replayer{replay: before})
	c.prime(lb)
	c.replayed = call - 1
	run := c.run(func(ctx context.Context) error { return c.operate(ctx, lb) })
	if c.same {
		run.Continue = func() {
			left := c.save()
			c.clock.Step(retryTime)
			c.done(c.operate(t.Context(), lb))
			c.matchesBaseline("the same process")
			c.load(left)
		}
	}

	return run
}

// run returns a run of an operation. The next process runs the operation again,
// or a deletion.
func (c *crash) run(operate func(ctx context.Context) error) explore.Run {
	return explore.Run{Cloud: c, Operate: operate, Next: []explore.Process{
		{
			Operate: func(ctx context.Context) error {
				return c.operate(ctx, c.fresh()) //nolint:contextcheck // making a process needs no context
			},
			Recover: func() {
				left := c.save()
				if c.want != c.empty {
					c.done(c.operate(c.t.Context(), c.fresh()))
					c.matchesBaseline("the next process")
					c.load(left)
				}
				c.remove()
			},
		},
		{
			Operate: func(ctx context.Context) error {
				c.setRejected(true)
				lb := c.fresh() //nolint:contextcheck // making a process needs no context

				return c.retry(func() error { return deleteOperation(ctx, lb, c.service, nil) })
			},
			Recover: c.remove,
		},
	}}
}

// noteBaseline keeps the end of the baseline.
func (c *crash) noteBaseline() {
	c.t.Helper()
	c.want = c.state()
	if c.unreached = c.blocked(); c.wantErr == nil && !c.scenario.settings.leave && len(c.unreached) > 0 {
		c.t.Errorf("does not get through: %q", c.unreached)
	}
}

// InjectFault implements explore.Cloud.
func (c *crash) InjectFault(t testing.TB, i explore.Injection) (hits func() int) {
	t.Helper()
	i.First -= c.replayed
	c.replayed = 0

	return c.faults.InjectFault(t, i)
}

// ClearFaults implements explore.Cloud.
func (c *crash) ClearFaults(t testing.TB) {
	t.Helper()
	c.quiesce()
	c.faults.ClearFaults(t)
}

// Calls implements explore.Cloud.
func (c *crash) Calls() int { return c.faults.Calls() }

// Resources implements explore.Cloud.
func (c *crash) Resources() []string {
	now := c.state()

	return []string{now.dump, now.leaks}
}

// writes reports whether a call of the baseline changes the region.
func (c *crash) writes(call int) bool {
	return sim.Mutating(c.recording.exchanges[c.primed+call-1].op)
}

// fresh is a process that starts. What never changes is not queried again.
func (c *crash) fresh() *loadBalancer { return c.provider(&replayer{constant: true}) }

// prime has a process bring the load balancer up to date, if the operation is one
// of a process that did.
func (c *crash) prime(lb *loadBalancer) {
	c.t.Helper()
	if c.same {
		_, err := lb.EnsureLoadBalancer(c.t.Context(), flagged, c.before, c.pick(c.beforehand))
		c.must(err)
	}
}

// operate has a process run the operation.
func (c *crash) operate(ctx context.Context, lb *loadBalancer) error {
	c.setRejected(true)

	return c.retry(func() error { return c.do(ctx, lb, c.service, c.pick(c.behind)) })
}

// setRejected has the region reject the operation, or no longer.
func (c *crash) setRejected(rejected bool) {
	if c.reject != nil {
		c.described = nil
		c.reject(c.environment, rejected)
	}
}

// done checks that an operation ended as without faults.
func (c *crash) done(err error) {
	c.t.Helper()
	if !errors.Is(err, c.wantErr) {
		c.t.Fatalf("the next process: %v, want %v", err, c.wantErr)
	}
}

// matchesBaseline checks that the state is that at the end of the baseline.
func (c *crash) matchesBaseline(process string) {
	c.t.Helper()
	if diff := cmp.Diff(c.want.dump, c.state().dump); diff != "" {
		c.t.Errorf("%s: -without faults +with faults:\n%s", process, diff)
	}
	if diff := cmp.Diff(c.unreached, c.blocked()); diff != "" {
		c.t.Errorf("%s: blocked traffic, -without faults +with faults:\n%s", process, diff)
	}
}

// remove deletes what exists as the service controller does, which queries it
// first. Nothing may be left, and others may not have lost anything.
func (c *crash) remove() {
	c.t.Helper()
	c.setRejected(false)
	left := c.state()
	if lost := c.empty.lost(left); len(lost) > 0 && !c.last {
		c.t.Errorf("others have lost %q", lost)
	}
	lb := c.fresh()
	_, exists, err := lb.GetLoadBalancer(c.t.Context(), flagged, c.service)
	if err != nil {
		c.t.Fatalf("the next process: get: %v", err)
	}
	if left != c.empty && !exists {
		c.t.Error("AWS-DELETE-1: Get finds nothing although something is left")
	}
	if err := c.retry(func() error { return deleteOperation(c.t.Context(), lb, c.service, nil) }); err != nil {
		c.t.Fatalf("the next process: delete: %v", err)
	}
	if diff := cmp.Diff(c.empty, c.state(), cmp.AllowUnexported(regionState{})); diff != "" {
		c.t.Errorf("-before +deleted:\n%s", diff)
	}
}

// unaltered checks that the product has not written to shared results of the SDK.
func (c *crash) unaltered() {
	c.t.Helper()
	if names := slices.Concat(c.recording.altered(), c.constants.altered()); len(names) > 0 {
		c.t.Errorf("results of %v were written to", names)
	}
}
