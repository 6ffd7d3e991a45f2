package instance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

func mustEqual[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// The dimensions of the decision. What is true of a value is written beside it,
// so that the expectation does not repeat the code.
type (
	resultCase struct {
		name    string
		result  instance.Result
		missing bool // absent, or terminated
		living  bool // found, in another state
	}
	nodeCase struct {
		name    string
		id      string
		ours    bool
		hasID   bool
		invalid bool // neither ours nor of another cloud
	}
	ageCase struct {
		name    string
		created time.Time
		old     bool
	}
	confirmCase struct {
		name string
		ago  time.Duration // since the last Confirm; zero: never
		live bool
	}
)

var (
	results = []resultCase{
		{name: "running", result: found(instance.Running), living: true},
		{name: "stopped", result: found(instance.Stopped), living: true},
		{name: "unknown", result: found(instance.Unknown), living: true},
		{name: "terminated", result: found(instance.Terminated), missing: true},
		{name: "absent", result: instance.Absent(), missing: true},
		{name: "failed", result: instance.Failed(errCloud)},
		{name: "failed as not found", result: instance.Failed(apierr.Mark(apierr.ErrNotFound, errCloud))},
		{name: "failed with the error of absent", result: instance.Failed(errOf(instance.Absent()))},
		{name: "failed without error", result: instance.Failed(nil)},
		{name: "found nothing", result: instance.Found(nil)},
		{name: "zero", result: instance.Result{}},
	}
	nodes = []nodeCase{
		{name: "no ID", id: "", ours: true},
		{name: "own ID", id: ownID, ours: true, hasID: true},
		{name: "own ID without scheme", id: bareID, ours: true, hasID: true},
		{name: "malformed own ID", id: "sim://a/b", invalid: true},
		{name: "own scheme in another case", id: "SIM://one", invalid: true},
		{name: "no cloud's ID", id: "one", invalid: true},
		{name: "empty scheme", id: "://one", invalid: true},
		{name: "foreign ID", id: "aws:///us-east-1a/i-0123456789"},
	}
	ages = []ageCase{
		{name: "old", created: epoch.Add(-time.Hour), old: true},
		{name: "just old enough", created: epoch.Add(-instance.DefaultMinAge), old: true},
		{name: "not quite", created: epoch.Add(-instance.DefaultMinAge + time.Nanosecond)},
		{name: "new", created: epoch},
		{name: "of the future", created: epoch.Add(time.Hour)},
		{name: "without age"},
	}
	confirms = []confirmCase{
		{name: "never confirmed"},
		{name: "confirmed just now", ago: time.Nanosecond, live: true},
		{name: "confirmed almost a TTL ago", ago: instance.DefaultNegativeTTL - time.Nanosecond, live: true},
		{name: "confirmed a TTL ago", ago: instance.DefaultNegativeTTL},
	}
)

func errOf(r instance.Result) error {
	_, err := r.Get()

	return err
}

// combination is one point of all dimensions.
type combination struct {
	lookup, confirm   resultCase
	node              nodeCase
	age               ageCase
	lastConfirm       confirmCase
	byName, keep, new bool // new: the node is tainted uninitialized
	unproven          bool // no instance of any node was found before
}

// someAges is for what age must not matter to.
var someAges = []ageCase{ages[0], ages[3]}

// each walks all combinations with these ages.
func each(ages []ageCase, visit func(combination)) {
	bools := []bool{false, true}
	for _, lookup := range results {
		for _, confirm := range results {
			for _, node := range nodes {
				for _, age := range ages {
					for _, last := range confirms {
						for _, byName := range bools {
							for _, keep := range bools {
								for _, fresh := range bools {
									if !node.ours && (last.ago != 0 || byName || keep) {
										continue // decided before any of them counts
									}
									c := combination{lookup, confirm, node, age, last, byName, keep, fresh, false}
									visit(c)
									if age.old && last.ago == 0 {
										c.unproven = true
										visit(c)
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

func (c combination) String() string {
	return fmt.Sprintf("lookup %s, confirm %s, %s, %s, %s, byName %t, keep %t, new %t, unproven %t",
		c.lookup.name, c.confirm.name, c.node.name, c.age.name, c.lastConfirm.name, c.byName, c.keep, c.new, c.unproven)
}

// build makes the V2 and the node of the combination, with the Confirm of the
// past already made.
func (c combination) build(t *testing.T) (*instance.V2, *source, *v1.Node) {
	t.Helper()
	clk := clocktesting.NewFakePassiveClock(epoch.Add(-c.lastConfirm.ago))
	s := newSource(found(instance.Running), instance.Absent())
	v2 := instance.New(s, instance.Options{Provider: provider, DeleteByName: c.byName, KeepMissing: c.keep, Clock: clk})
	if !c.unproven {
		if exists, err := v2.InstanceExists(discardLogs(t), newNode("sim://other")); !exists || err != nil {
			t.Fatalf("%s: another instance exists %t, %v", c, exists, err)
		}
	}
	s.setResults(instance.Absent(), instance.Absent())
	node := newNode(c.node.id)
	node.CreationTimestamp = metav1.NewTime(c.age.created)
	if c.new {
		taint(node)
	}
	if c.lastConfirm.ago > 0 && c.node.ours {
		if _, err := v2.InstanceMetadata(discardLogs(t), node); err == nil {
			t.Fatalf("%s: an absent instance was described", c)
		}
	}
	clk.SetTime(epoch)
	s.setResults(instance.Result{}, c.confirm.result)
	s.lookup = func(context.Context, instance.Ref) instance.Result { return c.lookup.result }
	for _, n := range []interface{ Store(int64) }{&s.lookups, &s.confirms, &s.describes} {
		n.Store(0)
	}

	return v2, s, node
}

// kept reports whether a missing instance never makes the node gone.
func (c combination) kept() bool { return c.keep || !c.node.hasID && !c.byName }

// confirmed is the result of a Confirm, or of one moments ago.
func (c combination) confirmed() resultCase {
	if c.lastConfirm.live {
		return resultCase{name: "absent", missing: true}
	}

	return c.confirm
}

// proven reports whether an instance of some node was found.
func (c combination) proven() bool {
	return !c.unproven || c.lookup.name == "terminated" || c.confirm.name == "terminated"
}

// missing reports whether the cloud itself confirms to InstanceExists that the
// instance is missing, and certain whether this is not because it is new.
func (c combination) missing() (missing, certain bool) {
	recorded := c.confirmed()
	terminated := c.lookup.name == "terminated" || recorded.name == "terminated"

	return recorded.missing, terminated || c.age.old
}

// TestGoneOnlyWhenCertain (FW-NODE-1, FW-NODE-2, FW-NODE-3, FW-NODE-4) walks
// every combination of what can be known, and finds "gone" only where all of it
// proves it.
func TestGoneOnlyWhenCertain(t *testing.T) {
	t.Parallel()

	cases, gone := 0, 0
	each(ages, func(c combination) {
		cases++
		v2, s, node := c.build(t)
		exists, err := v2.InstanceExists(discardLogs(t), node)

		isGone := !exists && err == nil
		mustConfirm := c.node.ours && c.lookup.missing && !c.kept()
		missing, certain := c.missing()
		wantGone := mustConfirm && missing && certain && c.proven()
		wantExists := !c.node.ours && !c.node.invalid ||
			c.node.ours && (c.lookup.living || c.lookup.missing && c.kept()) ||
			mustConfirm && (c.confirmed().living || missing && (!certain || !c.proven()))
		if isGone != wantGone || exists != wantExists {
			t.Errorf("%s: exists %t, %v", c, exists, err)
		}
		wantConfirms := int64(0)
		if mustConfirm && !c.lastConfirm.live {
			wantConfirms = 1
		}
		if got := s.confirms.Load(); got != wantConfirms {
			t.Errorf("%s: confirmed %d times", c, got)
		}
		if !c.node.ours && s.calls() != 0 {
			t.Errorf("%s: cost %d calls", c, s.calls())
		}
		if isGone {
			gone++
		}
	})
	t.Logf("%d combinations, %d of them gone", cases, gone)
	if gone == 0 {
		t.Error("nothing is ever gone")
	}
}

// TestShutdownOnlyIfStopped (FW-NODE-8) walks the same combinations: a node is
// shut down only where the look-up found its instance stopped, and nothing else
// is called.
func TestShutdownOnlyIfStopped(t *testing.T) {
	t.Parallel()

	cases := 0
	each(someAges, func(c combination) {
		cases++
		v2, s, node := c.build(t)
		shutdown, err := v2.InstanceShutdown(discardLogs(t), node)

		known := c.lookup.name == "running" || c.lookup.name == "stopped" || c.lookup.missing
		wantErr := c.node.invalid || c.node.ours && !known
		if (err != nil) != wantErr || shutdown != (c.node.ours && c.lookup.name == "stopped") {
			t.Errorf("%s: shutdown %t, %v", c, shutdown, err)
		}
		if s.confirms.Load() != 0 || !c.node.ours && s.calls() != 0 {
			t.Errorf("%s: cost %d calls", c, s.calls())
		}
	})
	t.Logf("%d combinations", cases)
}

// TestMetadataOfEveryResult walks the same combinations: nil without an error
// reaches only a foreign node that is not initialized.
func TestMetadataOfEveryResult(t *testing.T) {
	t.Parallel()

	cases := 0
	each(someAges, func(c combination) {
		cases++
		v2, s, node := c.build(t)
		got, err := v2.InstanceMetadata(discardLogs(t), node)

		foreign := !c.node.ours && !c.node.invalid
		confirm := c.node.ours && c.lookup.missing
		want := foreign || c.node.ours && c.lookup.living || confirm && c.confirmed().living
		if (err == nil) != want {
			t.Fatalf("%s: error %v", c, err)
		}
		if (got == nil) != (err != nil || foreign && c.new) {
			t.Errorf("%s: metadata %v, %v", c, got, err)
		}
		if isMissing := errors.Is(err, apierr.ErrNotFound); confirm && c.confirmed().missing && !isMissing {
			t.Errorf("%s: error is not ErrNotFound: %v", c, err)
		}
		wantConfirms := int64(0)
		if confirm && !c.lastConfirm.live {
			wantConfirms = 1
		}
		if s.confirms.Load() != wantConfirms || !c.node.ours && s.calls() != 0 {
			t.Errorf("%s: cost %d calls", c, s.calls())
		}
	})
	t.Logf("%d combinations", cases)
}
