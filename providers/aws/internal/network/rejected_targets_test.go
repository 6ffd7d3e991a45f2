package network

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestOldTargetGroupStaysUntilTheNewOneHasTargets (AWS-TG-2) is about a listener
// that is to forward to another target group.
func TestOldTargetGroupStaysUntilTheNewOneHasTargets(t *testing.T) {
	t.Parallel()
	refused := sim.Error(http.StatusBadRequest, "InvalidTarget", "The following targets are not supported")
	for name, c := range map[string]struct {
		reason string
		op     string
		fault  simserver.Fault
		option kubetest.ServiceOption
	}{
		"registering is denied": {reason: "no target is registered", op: "elbv2.RegisterTargets", fault: sim.Denied()},
		"all are rejected":      {reason: "no target is accepted", op: "elbv2.RegisterTargets", fault: refused},
		"attributes are denied": {
			reason: "targets expect other packets", op: "elbv2.ModifyTargetGroupAttributes", fault: sim.Denied(),
			option: annotated(request.AnnotationTargetGroupAttributes, "proxy_protocol_v2.enabled=true"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			before := web(kubetest.Port(v1.ProtocolTCP, 443))
			b.ensure(before)
			want := b.listener(443).TargetGroup
			options := []kubetest.ServiceOption{kubetest.Port(v1.ProtocolTCP, 443)}
			if c.option != nil {
				options = append(options, c.option)
			}
			after := web(options...)
			after.Spec.Ports[0].NodePort = 31443
			b.Interceptor().Inject(c.op, simserver.Always(), c.fault)
			_, err := b.tryEnsure(after)
			if err == nil || strings.Contains(err.Error(), "not known yet") {
				t.Errorf("error is %v", err)
			}
			if got := b.listener(443).TargetGroup; got != want || len(b.behind(443)) != len(b.nodes) {
				t.Errorf("%s, and the listener forwards to %s with %v", c.reason, got, b.behind(443))
			}
			b.Interceptor().Clear()
			b.ensure(after)
			b.upToDate(after)
			if got := b.listener(443).TargetGroup; got == want || len(b.behind(443)) != len(b.nodes) {
				t.Errorf("after that the listener forwards to %s with %v", got, b.behind(443))
			}
		})
	}
}

// TestDeregisteringUnknownTargets has AWS report an unknown target of a
// deregistration.
func TestDeregisteringUnknownTargets(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.ensure(svc)
	gone := b.nodes[0]
	b.Interceptor().Inject("elbv2.DeregisterTargets", simserver.First(1),
		sim.Error(http.StatusBadRequest, "InvalidTarget", "The following targets are not valid instances: '"+gone+"'"))
	b.nodes = b.nodes[2:]
	b.ensure(svc)
	want := slices.Sorted(slices.Values([]string{gone, b.nodes[0]}))
	if diff := cmp.Diff(want, b.behind(443)); diff != "" {
		t.Errorf("the other target goes, and the unknown one counts as gone: -want +got:\n%s", diff)
	}
	if got := b.Interceptor().Count("elbv2.DeregisterTargets"); got != 2 {
		t.Errorf("%d calls, want 2", got)
	}
}

// TestRefusedTargetCostsItselfAlone shows AWS-LB-13, FW-LB-7.
func TestRefusedTargetCostsItselfAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	b.nodes = append(b.nodes, b.Cluster.AddNodes(7)...)
	asleep := slices.Sorted(slices.Values(b.nodes[1:8]))
	for _, id := range asleep {
		b.SetState(id, sim.Stopped) // after its state was read
	}
	env := b.ensure(web())
	want := slices.Sorted(slices.Values(append(slices.Clone(b.nodes[:1]), b.nodes[8:]...)))
	for _, port := range []int32{80, 443} {
		if diff := cmp.Diff(want, b.behind(port)); diff != "" {
			t.Errorf("port %d: -want +got:\n%s", port, diff)
		}
	}
	if got := b.Interceptor().Count("elbv2.RegisterTargets"); got != 4 {
		t.Errorf("%d calls for two target groups, want one more for each", got)
	}
	warnings := env.Warnings()
	if len(warnings) != 1 || warnings[0].Reason != change.TargetRefused || !strings.Contains(warnings[0].Message, asleep[0]) ||
		!strings.Contains(warnings[0].Message, " and 2 more") || !strings.Contains(warnings[0].Message, "not in a running state") {
		t.Errorf("one warning names five of the rejected targets and the reason: %v", warnings)
	}
	again, err := b.tryEnsure(web())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(warnings, again.Warnings()); diff != "" {
		t.Errorf("the warning is the same in the next run: %s", diff)
	}
	for _, id := range asleep {
		b.SetState(id, sim.Running)
	}
	b.ensure(web())
	b.upToDate(web())
}
