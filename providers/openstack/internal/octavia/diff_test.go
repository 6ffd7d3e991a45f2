package octavia_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// monitored are the settings of health monitors of most tests.
var monitored = request.MonitorSettings{Create: true, Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}

// Removals are marked, and additions are recognized.
func TestMarks(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web()
		f.ensure(svc)
		if steps := f.plan(svc); octavia.PlainAdditions(steps) {
			t.Error("an empty plan adds nothing")
		}
		f.addNodes(1, 2, 3, 4)
		steps := f.plan(svc)
		if !octavia.PlainAdditions(steps) || len(steps.Additions()) != len(steps) || len(steps.Removals()) > 0 {
			t.Errorf("only members are added:\n%s", steps)
		}
		other := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationXForwardedFor, "true"))
		steps = f.plan(other)
		if octavia.PlainAdditions(steps) {
			t.Errorf("the listener is replaced:\n%s", steps)
		}
		var kinds []string
		for _, step := range steps.Removals() {
			kinds = append(kinds, step.Kind)
		}
		want := []string{"ReplaceListener", "DeletePool", "DeleteListener", "DeletePool"}
		if !slices.Equal(want, kinds) {
			t.Errorf("steps that remove are %v, want %v", kinds, want)
		}

		// Where nothing may be removed, the members that are not wanted stay.
		f.addNodes(2, 5)
		if _, err := f.apply(f.plan(svc).Additions()); err != nil {
			t.Error(err)
		}
		f.serves("members are only added", "TCP", 80, "10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080", "10.0.0.105:30080")
	})
}

// Without what there is, nothing is planned.
func TestDiffOfNothing(t *testing.T) {
	t.Parallel()
	d := &octavia.Desired{Names: request.NewNames("kubernetes", web()), Features: features.For(features.Version{Major: 2}, "")}
	steps, _ := octavia.Diff(nil, d)
	if err := steps.Apply(t.Context(), nil, nil); len(steps) != 1 || err == nil {
		t.Errorf("plan %v, error %v", steps, err)
	}
}
