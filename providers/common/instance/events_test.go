package instance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// TestEvents (FW-NODE-12) proves which faults are Events.
func TestEvents(t *testing.T) {
	t.Parallel()

	noAddress := describing(ownID, nil, fmt.Errorf("request 4711: %w", instance.WithReason(instance.ReasonNoAddress, errCloud)))
	cases := map[string]struct {
		reason string
		source *source
		opts   instance.Options
		id     string
		young  bool
		want   []string
	}{
		"Missing": {
			reason: "the reason is recorded on a node that cannot be initialized",
			source: newSource(instance.Absent(), instance.Absent()), id: ownID, young: true,
			want: []string{"Warning InstanceNotFound instance not found"},
		},
		"Malformed": {
			reason: "a typing error is the user's to correct", id: "sim://",
			source: newSource(instance.Absent(), instance.Absent()),
			want:   []string{`Warning InvalidProviderID read providerID "sim://": not an ID of sim`},
		},
		"NoProviderID": {
			reason: "only the user can delete this node",
			source: newSource(instance.Absent(), instance.Failed(errCloud)),
			want: []string{"Warning InstanceNotFound no instance fits the name or system UUID of this Node. " +
				"Without spec.providerID it is kept: delete it if its machine is gone"},
		},
		"KeepMissing": {
			reason: "who switched deletion off deletes",
			source: newSource(instance.Absent(), instance.Failed(errCloud)), id: ownID,
			opts: instance.Options{KeepMissing: true},
			want: []string{"Warning InstanceNotFound the instance is missing. The Node is kept because deleting nodes is switched off"},
		},
		"Marked": {
			reason: "the text is the marked error's alone, so that it stays the same",
			source: noAddress, id: ownID,
			want: []string{"Warning NoAddress the cloud is down"},
		},
		"CloudDown": {
			reason: "an outage is not an error of the Node",
			source: newSource(instance.Failed(errCloud), instance.Absent()), id: ownID,
		},
		"Young": {
			reason: "a node may be faster than its instance's listing",
			source: newSource(instance.Absent(), instance.Failed(errCloud)), id: ownID, young: true,
		},
		"Unknown": {
			reason: "a state will be known again",
			source: newSource(found(instance.Unknown), instance.Absent()), id: ownID,
		},
		"Foreign": {
			reason: "another cloud's node is none of our business",
			source: newSource(instance.Absent(), instance.Absent()), id: "kind://x",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.opts.Provider = provider
			clk := clocktesting.NewFakePassiveClock(epoch)
			tc.opts.Clock = clk
			recorder := record.NewFakeRecorder(100)
			v2 := instance.New(tc.source, tc.opts)
			node := newNode(tc.id)
			if tc.young {
				node.CreationTimestamp.Time = epoch.Add(time.Hour)
			}

			_, _, _, _ = all(t, v2, node) // no recorder yet
			v2.SetRecorder(recorder)
			for range 3 {
				clk.SetTime(clk.Now().Add(time.Minute))
				_, _, _, _ = all(t, v2, node)
			}
			mustEqual(t, tc.reason, tc.want, kubetest.Events(recorder))

			clk.SetTime(clk.Now().Add(5 * time.Minute))
			_, _, _, _ = all(t, v2, node)
			mustEqual(t, "at the next address refresh", tc.want, kubetest.Events(recorder))

			v2.SetRecorder(nil)
			clk.SetTime(clk.Now().Add(time.Hour))
			_, _, _, _ = all(t, v2, node)
			mustEqual(t, "without a recorder", nil, kubetest.Events(recorder))
		})
	}
}

// TestEventsAreDistinguished proves what makes two Events the same.
func TestEventsAreDistinguished(t *testing.T) {
	t.Parallel()

	recorder := record.NewFakeRecorder(100)
	var fault error
	s := describing(ownID, nil, nil)
	s.metadata = func(context.Context, *v1.Node, instance.Instance) (*cloudprovider.InstanceMetadata, error) {
		return nil, fault
	}
	v2 := newV2(s)
	v2.SetRecorder(recorder)
	other := newNode(ownID)
	other.UID = types.UID("uid-2")
	for _, step := range []struct {
		node   *v1.Node
		reason instance.Reason
		text   string
	}{
		{newNode(ownID), "NoZone", "a"},
		{newNode(ownID), "NoZone", "b"},
		{newNode(ownID), "NoAddress", "a"},
		{newNode(ownID), "NoZone", "a"},
		{other, "NoZone", "a"},
		{other, "NoZone", strings.Repeat("ü", 700)},
	} {
		fault = instance.WithReason(step.reason, fmt.Errorf("%s", step.text))
		if _, err := v2.InstanceMetadata(t.Context(), step.node); err == nil {
			t.Error("no error")
		}
	}
	got := kubetest.Events(recorder)
	mustEqual(t, "events", []string{
		"Warning NoZone a", "Warning NoZone b", "Warning NoAddress a", "Warning NoZone a",
		"Warning NoZone " + strings.Repeat("ü", 512),
	}, got)
	if !utf8.ValidString(got[len(got)-1]) {
		t.Error("a character was cut in two")
	}
}
