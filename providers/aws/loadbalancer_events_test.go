package aws

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// A setting of a Service that is not supported is one Event, changes nothing, and
// keeps nothing else from being as it should be.
func TestUnsupportedSettingsAreWarnings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		item    string
		options []kubetest.ServiceOption
		later   kubetest.ServiceOption
		reason  service.Reason
	}{
		"classic scheme":  {item: "AWS-LB-15", later: annotate(request.AnnotationInternal, "true"), reason: classic.SchemeFixed},
		"network scheme":  {item: "AWS-LB-15", options: []kubetest.ServiceOption{nlb()}, later: annotate(request.AnnotationInternal, "true"), reason: network.SchemeFixed},
		"network address": {item: "AWS-NLB-5", options: []kubetest.ServiceOption{nlb()}, later: annotate(request.AnnotationEIPAllocations, "eipalloc-1"), reason: network.AddressesFixed},
		"classic port":    {item: "AWS-LB-8", later: unserved, reason: request.PortSkipped},
		"network port":    {item: "AWS-LB-8", options: []kubetest.ServiceOption{nlb()}, later: unserved, reason: request.PortSkipped},
		"udp probe": {
			item: "AWS-HC-7", options: []kubetest.ServiceOption{nlb(), overUDP, kubetest.LocalTraffic(32000)},
			later:  annotate(request.AnnotationHealthCheckPort, request.TrafficPort),
			reason: network.UnfitHealthCheck,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			before := b.Leaks()
			svc := web(test.options...)
			b.ensure(svc)
			if events := b.drainEvents(); len(events) > 0 {
				t.Fatalf("%s: Events about a valid setting: %v", test.item, events)
			}
			test.later(svc)
			for range 2 {
				b.ensure(svc)
			}
			if events := b.drainEvents(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning "+string(test.reason)+" ") {
				t.Errorf("%s: want one Event %s, got %v", test.item, test.reason, events)
			}
			b.unchanged(svc)
			b.reachable(webName)
			b.remove(svc)
			b.same(before)
		})
	}
}

// unserved adds a port that has no node port.
func unserved(svc *v1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "none", Port: 81, Protocol: svc.Spec.Ports[0].Protocol})
}

func overUDP(svc *v1.Service) {
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].Protocol = v1.ProtocolUDP
	}
}

// AWS-LB-12: a node that has stopped keeps no other from being registered, and
// comes back when it runs.
func TestStoppedNodeDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	b := balance(t)
	b.SetState(b.ids[0], sim.Stopped)
	svc := web(nlb())
	b.ensure(svc)
	registered := func() (n int) { return len(b.TargetGroups()[0].Targets) }
	if registered() != 2 {
		t.Errorf("AWS-LB-12: %d of the two nodes that run are registered", registered())
	}
	if events := b.drainEvents(); len(events) != 1 || !strings.Contains(events[0], "node-"+b.ids[0]) {
		t.Errorf("AWS-LB-17: want one Event about the node, got %v", events)
	}
	b.SetState(b.ids[0], sim.Running)
	b.lb = b.controller()
	b.ensure(svc)
	if registered() != 3 {
		t.Errorf("AWS-LB-12: %d nodes are registered, all three run", registered())
	}
	b.reachable(webName)
}

// AWS-LB-12: a node that was starting when its instance was last read is
// registered as soon as it runs, since no other call comes for it.
func TestStartingNodeIsRetried(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(options...)
			b.ensure(svc)
			starting := b.seed.AddNode(sim.InstanceSpec{State: sim.Pending})
			if _, err := b.lb.Instances.Get(t.Context(), []string{starting}); err != nil {
				t.Fatal(err)
			}
			b.SetState(starting, sim.Running)
			b.nodes = append(b.nodes, nodesOf(starting)...)
			if err := b.lb.UpdateLoadBalancer(t.Context(), flagged, svc, b.nodes); err != nil {
				t.Fatal(err)
			}
			b.reachable(webName)
			if events := b.drainEvents(); len(events) > 0 {
				t.Errorf("AWS-LB-12: it is not behind the load balancer: %v", events)
			}
			calls := b.calls(func() { b.ensure(svc) })
			if calls["DescribeInstances"] > 0 {
				t.Errorf("AWS-API-6: what runs is not read again: %v", calls)
			}
		})
	}
}
