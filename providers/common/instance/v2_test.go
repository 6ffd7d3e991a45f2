package instance_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// newV2 makes a V2 at epoch.
func newV2(s instance.Source) *instance.V2 {
	return instance.New(s, instance.Options{Provider: provider, Clock: clocktesting.NewFakePassiveClock(epoch)})
}

// TestRef proves what a Source is called with.
func TestRef(t *testing.T) {
	t.Parallel()

	var asked []instance.Ref
	s := newSource(instance.Absent(), found(instance.Running))
	s.lookup = func(_ context.Context, ref instance.Ref) instance.Result {
		asked = append(asked, ref)

		return instance.Absent()
	}
	s.confirm = func(_ context.Context, ref instance.Ref) instance.Result {
		asked = append(asked, ref)

		return found(instance.Running)
	}
	if exists, err := newV2(s).InstanceExists(t.Context(), newNode(ownID)); !exists || err != nil {
		t.Errorf("exists %t, %v", exists, err)
	}
	ref := instance.Ref{ProviderID: ownID, SystemUUID: "4237", NodeName: "node-1"}
	mustEqual(t, "refs", []instance.Ref{ref, ref}, asked)
}

// hang waits for the end of a call that never gets a response.
func hang(ctx context.Context) error {
	<-ctx.Done()

	return ctx.Err()
}

// blockingSource is a source that responds up to a stage, and never there.
func blockingSource(stage string) *source {
	s := newSource(instance.Absent(), instance.Absent())
	switch stage {
	case "lookup":
		s.lookup = func(ctx context.Context, _ instance.Ref) instance.Result {
			return instance.Failed(hang(ctx))
		}
	case "confirm":
		s.confirm = func(ctx context.Context, _ instance.Ref) instance.Result {
			return instance.Failed(hang(ctx))
		}
	case "metadata":
		s.setResults(found(instance.Running), instance.Absent())
		s.metadata = func(ctx context.Context, _ *v1.Node, _ instance.Instance) (*cloudprovider.InstanceMetadata, error) {
			return nil, hang(ctx)
		}
	}

	return s
}

// TestDeadline proves that one deadline covers all that a Source does for one
// call, and that the caller's own one counts when it is shorter.
func TestDeadline(t *testing.T) {
	t.Parallel()

	exists := func(ctx context.Context, v2 *instance.V2, node *v1.Node) error {
		_, err := v2.InstanceExists(ctx, node)

		return err
	}
	shutdown := func(ctx context.Context, v2 *instance.V2, node *v1.Node) error {
		_, err := v2.InstanceShutdown(ctx, node)

		return err
	}
	metadata := func(ctx context.Context, v2 *instance.V2, node *v1.Node) error {
		_, err := v2.InstanceMetadata(ctx, node)

		return err
	}
	cases := map[string]struct {
		reason string
		call   func(context.Context, *instance.V2, *v1.Node) error
		stage  string
		caller time.Duration
		want   time.Duration
	}{
		"ExistsLookup":    {"a caller without a deadline gets ours", exists, "lookup", time.Hour, 20 * time.Second},
		"ExistsConfirm":   {"confirming is part of the call", exists, "confirm", time.Hour, 20 * time.Second},
		"ShutdownLookup":  {"as for exists", shutdown, "lookup", time.Hour, 20 * time.Second},
		"MetadataLookup":  {"as for exists", metadata, "lookup", time.Hour, 20 * time.Second},
		"MetadataConfirm": {"as for exists", metadata, "confirm", time.Hour, 20 * time.Second},
		"Metadata":        {"describing is part of the call", metadata, "metadata", time.Hour, 20 * time.Second},
		"CallersExists":   {"a caller may have a shorter deadline", exists, "confirm", 3 * time.Second, 3 * time.Second},
		"CallersShutdown": {"a caller may have a shorter deadline", shutdown, "lookup", 3 * time.Second, 3 * time.Second},
		"CallersMetadata": {"a caller may have a shorter deadline", metadata, "metadata", 3 * time.Second, 3 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v2 := instance.New(blockingSource(tc.stage), instance.Options{Provider: provider, Timeout: 20 * time.Second})
				node := newNode(ownID)
				node.CreationTimestamp.Time = time.Now().Add(-time.Hour)
				ctx, cancel := context.WithTimeout(t.Context(), tc.caller)
				defer cancel()
				start := time.Now()
				err := tc.call(ctx, v2, node)
				if took := time.Since(start); took != tc.want || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: took %s, %v", tc.reason, took, err)
				}
			})
		})
	}
}

// TestFoundByConfirmIsNotSlowed proves that only misses are.
func TestFoundByConfirmIsNotSlowed(t *testing.T) {
	t.Parallel()

	s := newSource(instance.Absent(), found(instance.Stopped))
	v2 := newV2(s)
	for range 3 {
		if exists, err := v2.InstanceExists(t.Context(), newNode(ownID)); !exists || err != nil {
			t.Errorf("exists %t, %v", exists, err)
		}
	}
	if s.confirms.Load() != 3 {
		t.Errorf("confirmed %d times", s.confirms.Load())
	}
}

// TestSlowedOneByOne proves that one missing instance does not slow down the
// query for another.
func TestSlowedOneByOne(t *testing.T) {
	t.Parallel()

	s := newSource(instance.Absent(), instance.Absent())
	v2 := newV2(s)
	prove(t, v2, s)
	for i := range 5 {
		if exists, err := v2.InstanceExists(t.Context(), newNode(fmt.Sprintf("sim://%d", i))); exists || err != nil {
			t.Errorf("node %d: exists %t, %v", i, exists, err)
		}
	}
}

// TestErrors proves what the errors are and that they name the instance.
func TestErrors(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		source *source
		id     string
		want   error
		text   string
	}{
		"CloudDown": {
			"the cause is kept", newSource(instance.Failed(errCloud), instance.Absent()), ownID,
			errCloud, "find instance sim://one: the cloud is down",
		},
		"Malformed": {
			"the provider reports what is wrong", newSource(instance.Absent(), instance.Absent()), "sim://",
			errID, `read providerID "sim://": not an ID of sim`,
		},
		"Missing": {
			"upstream recognizes a missing instance by this error", newSource(instance.Absent(), instance.Absent()), ownID,
			cloudprovider.InstanceNotFound, "find instance sim://one: instance not found",
		},
		"MissingByName": {
			"without an ID the names are shown", newSource(instance.Absent(), instance.Absent()), "",
			apierr.ErrNotFound, `find instance of node "node-1" with system UUID "4237": instance not found`,
		},
		"MissingWithoutUUID": {
			"what is not known is not shown", newSource(instance.Absent(), instance.Absent()), "no UUID",
			apierr.ErrNotFound, `find instance of node "node-1": instance not found`,
		},
		"Terminated": {
			"a terminated instance is not there", newSource(found(instance.Terminated), found(instance.Terminated)), ownID,
			cloudprovider.InstanceNotFound, "find instance sim://one: instance not found",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := newNode(tc.id)
			if tc.id == "no UUID" {
				node.Spec.ProviderID, node.Status.NodeInfo.SystemUUID = "", ""
			}
			got, err := newV2(tc.source).InstanceMetadata(t.Context(), node)
			if got != nil || !errors.Is(err, tc.want) || err.Error() != tc.text {
				t.Errorf("%s: got %v, %v", tc.reason, got, err)
			}
		})
	}
}

// TestConcurrentUse runs everything at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()

	v2 := newV2(newSource(found(instance.Running), found(instance.Running)))
	shared := []*v1.Node{newNode(ownID), newNode(bareID), newNode(""), newNode("kind://x"), taint(newNode("aws:///a/i-1"))}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 200 {
				node := shared[(worker+i)%len(shared)]
				exists, err := v2.InstanceExists(discardLogs(t), node)
				if !exists || err != nil {
					t.Errorf("exists %t, %v", exists, err)
				}
				if _, err := v2.InstanceMetadata(discardLogs(t), node); err != nil {
					t.Error(err)
				}
				if shutdown, err := v2.InstanceShutdown(discardLogs(t), node); shutdown || err != nil {
					t.Errorf("shutdown %t, %v", shutdown, err)
				}
				v2.SetRecorder(nil)
			}
		})
	}
	wg.Wait()
}
