package aws

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestManyServices creates a hundred Services at once and deletes them at once,
// as when another replica takes over and when a namespace ends. With the race
// detector there are fewer. Half of them have a network load balancer. Staying
// costs no write at all, and at the end nothing is left.
func TestManyServices(t *testing.T) {
	t.Parallel()
	const workers = 10
	each := profile.Of(10, 50, 50) // decoding the rules of their nodes takes most of the time
	r := newRegion(t, sim.Options{
		Zones:  small.Zones,
		Limits: sim.Limits{RulesPerSecurityGroup: 1000},
		// Calls are counted here, and made by a client that does not wait; AWS would
		// let them take minutes, 50 load balancers of a kind alone three.
		DisableThrottling: true,
	})
	r.SetQuotas(sim.Quotas{ClassicLoadBalancers: each})
	b := balanceIn(r)
	before := b.Leaks()
	var services []*v1.Service
	for i := range 2 * each {
		options := []kubetest.ServiceOption{
			kubetest.ServiceUID(fmt.Sprintf("%08d-1111-2222-3333-444455556666", i)),
			kubetest.Port(v1.ProtocolTCP, 1000+int32(i)),
		}
		if i%2 == 0 {
			options = append(options, nlb(), annotate(request.AnnotationHealthCheckPort, "10256"))
		}
		services = append(services, kubetest.Service("default", fmt.Sprintf("web-%d", i), options...))
	}

	parallel(workers, services, func(svc *v1.Service) {
		if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); err != nil {
			t.Errorf("ensure %s: %v", svc.Name, err)
		}
	})
	classic, network := b.LoadBalancers()
	if len(classic) != each || len(network) != each {
		t.Fatalf("%d classic and %d network load balancers", len(classic), len(network))
	}
	for _, name := range slices.Concat(classic, network) {
		b.reachable(name)
	}

	b.lb = b.controller()
	b.Interceptor().Reset()
	parallel(workers, services, func(svc *v1.Service) {
		if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); err != nil {
			t.Errorf("ensure %s again: %v", svc.Name, err)
		}
	})
	if writes := b.Writes(); len(writes) > 0 {
		t.Errorf("AWS-LB-14: a resync without a change writes: %v", writes)
	}
	// What all of them depend on is read once, not once for each.
	calls := b.Interceptor().Calls()
	for _, op := range []string{"DescribeSubnets", "DescribeRouteTables", "DescribeAvailabilityZones", "DescribeInstances"} {
		if calls[op] > 2 {
			t.Errorf("AWS-API-6: %d × %s for %d Services", calls[op], op, len(services))
		}
	}
	for _, op := range []string{"elb.DescribeLoadBalancers", "elbv2.DescribeLoadBalancers"} {
		if calls[op] > 2*each {
			t.Errorf("AWS-LB-14: %d × %s for %d Services", calls[op], op, len(services))
		}
	}
	t.Logf("a resync of %d Services: %d calls, %v", len(services), total(calls), slices.Sorted(maps.Keys(calls)))

	parallel(workers, services, func(svc *v1.Service) {
		if err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc); err != nil {
			t.Errorf("delete %s: %v", svc.Name, err)
		}
	})
	b.same(before)
}
