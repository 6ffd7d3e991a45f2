package aws

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// FW-TARGET-6: a Service that wants all of more Nodes than a network load balancer can have gets as many for each port
// once AWS has refused some, with an Event. Those that are gone are replaced, and a quota that was raised is used.
func TestAllNodesOverTheQuota(t *testing.T) {
	t.Parallel()
	const perPort = 250 // 500 targets, two ports
	b := balance(t)
	b.nodes = nodesOf(b.seed.AddNodes(300)...)
	svc := web(nlb(), annotate(request.AnnotationCrossZone, "true"))
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	if err := b.sync(svc); err == nil {
		t.Error("a load balancer whose second port has no targets is complete")
	}
	b.drainEvents()
	synced := func(what string, count int, sync func(*v1.Service) error) {
		t.Helper()
		if err := sync(svc); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		network, _ := b.Network(webName)
		for _, group := range network.TargetGroups {
			if len(group.Targets) != count {
				t.Errorf("%s: port %d has %d targets, want %d", what, group.Port, len(group.Targets), count)
			}
		}
		if n := len(b.registered(webName)); n != count {
			t.Errorf("%s: the ports have %d different targets, want %d", what, n, count)
		}
	}
	unchanged := func(what string, sync func(*v1.Service) error) {
		t.Helper()
		before := b.Writes()
		synced(what, perPort, sync)
		if diff := cmp.Diff(before, b.Writes()); diff != "" {
			t.Errorf("%s writes: %s", what, diff)
		}
	}
	synced("an update before the retry", perPort, b.update)
	if events := b.about(string(change.TargetQuotaExceeded)); len(events) != 1 {
		t.Errorf("Events are %q", events)
	}
	unchanged("a resync", b.sync)
	b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(10)...)...)
	unchanged("Nodes that join", b.update)
	gone := nodesOf(b.registered(webName)[0])[0].Spec.ProviderID
	b.nodes = slices.DeleteFunc(b.nodes, func(n *v1.Node) bool { return n.Spec.ProviderID == gone })
	synced("a target that leaves", perPort, b.update)
	before := b.registered(webName)
	b.lb = b.controller()
	synced("another process", perPort, func(svc *v1.Service) error {
		_ = b.sync(svc) // it tries all once

		return b.sync(svc)
	})
	if diff := cmp.Diff(before, b.registered(webName)); diff != "" {
		t.Errorf("another process chooses others: %s", diff)
	}

	b.SetQuotas(sim.Quotas{ZoneTargets: 1000})
	unchanged("a quota that was raised lately", b.sync)
	if err := b.lb.services.Read(t.Context(), svc, func(_ context.Context, known *state) error {
		known.reached = time.Now().Add(-reachedAge)

		return nil
	}); err != nil {
		t.Fatal(err)
	}
	synced("an hour later", len(b.nodes), b.sync)
}
