package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// balancerRefusalCases are about Services that cannot be served.
func balancerRefusalCases() []balancerCase {
	cases := []balancerCase{
		refusal("a Service without ports", nil, func(s *v1.Service) { s.Spec.Ports = nil }),
		refusal("an unknown protocol", nil, func(s *v1.Service) { s.Spec.Ports[0].Protocol = "ICMP" }),
		refusal("a malformed source range", nil, func(s *v1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24", "10.0.0.0/33"}
		}),
		refusal("a malformed source range in the annotation", nil, func(s *v1.Service) {
			s.Annotations[v1.AnnotationLoadBalancerSourceRangesKey] = "10.0.0.0/8,everywhere"
		}),
		refusal("session affinity", func(s LoadBalancerSuite) bool { return !s.Without.Affinity }, func(s *v1.Service) {
			s.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		}),
		refusal("a requested address", func(s LoadBalancerSuite) bool { return !s.Without.RequestedIP }, func(s *v1.Service) {
			s.Spec.LoadBalancerIP = "203.0.113.99"
		}),
		{
			name: "refused: ports of several protocols", run: refusesMixed,
			leftOut: func(s LoadBalancerSuite) bool { return !s.Without.MixedProtocols },
		},
		{
			name: "refused: annotations that cannot be", run: refusesAnnotations,
			leftOut: func(s LoadBalancerSuite) bool { return len(s.Refused) == 0 },
		},
		{
			name: "a Service left to another controller is left alone", run: leavesElsewhere,
			leftOut: func(s LoadBalancerSuite) bool { return len(s.Elsewhere) == 0 },
		},
	}
	for _, protocol := range []v1.Protocol{v1.ProtocolUDP, v1.ProtocolSCTP} {
		supported := func(s LoadBalancerSuite) bool { return slices.Contains(s.Protocols, protocol) }
		cases = append(cases, refusal("ports of protocol "+string(protocol), supported, func(s *v1.Service) {
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].Protocol = protocol
			}
		}))
	}

	return cases
}

// refusal is the case about one thing that cannot be served.
func refusal(what string, leftOut func(LoadBalancerSuite) bool, spoil func(*v1.Service)) balancerCase {
	return balancerCase{name: "refused: " + what, leftOut: leftOut, run: func(b *balancerFixture) {
		b.start()
		b.refuses(what, spoil)
	}}
}

// refuses fails the case if a Service that was spoiled is not an error, or
// changes anything: as a new Service, and in the place of a good one.
func (b *balancerFixture) refuses(what string, spoil func(*v1.Service)) {
	b.t.Helper()
	m := b.createMany(2)
	spoiled := b.service("web")
	spoil(spoiled)
	refused := func(service *v1.Service) {
		b.t.Helper()
		b.writesNothing(what, func() {
			b.store(service)
			if _, err := b.ensure(service, nodesOf(m...)); err == nil {
				b.t.Errorf("%s is no error", what)
			} else if errors.Is(err, cloudprovider.ImplementedElsewhere) {
				b.t.Errorf("%s is implemented elsewhere", what)
			}
		})
	}
	refused(spoiled)
	b.nothingLeft()
	b.mustRemove(spoiled)

	good := b.service("web")
	b.mustEnsure(good, m...)
	before := b.cloud.Leftovers()
	edited := good.DeepCopy()
	spoil(edited)
	refused(edited)
	b.unchanged("the load balancer of a Service with "+what, before, b.cloud.Leftovers())
	b.resync(good, m...)
	b.mustRemove(edited)
	b.nothingLeft()
}

func refusesMixed(b *balancerFixture) {
	b.start()
	b.refuses("ports of several protocols", func(s *v1.Service) {
		kubetest.Port(v1.ProtocolUDP, 5353)(s)
	})
}

func refusesAnnotations(b *balancerFixture) {
	b.start()
	for i, refused := range b.suite.Refused {
		b.refuses(fmt.Sprintf("Refused[%d] %v", i, refused), func(s *v1.Service) { maps.Copy(s.Annotations, refused) })
	}
}

// leavesElsewhere: the framework compares the error with ==.
func leavesElsewhere(b *balancerFixture) {
	b.start()
	nodes := nodesOf(b.createMany(2)...)
	b.writesNothing("a Service left to another controller", func() {
		for i, elsewhere := range b.suite.Elsewhere {
			service := b.service("web")
			service.Annotations = maps.Clone(elsewhere)
			status, err := b.balancers.EnsureLoadBalancer(b.t.Context(), b.cluster, service, nodes)
			if err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // as the framework does
				b.t.Errorf("EnsureLoadBalancer, Elsewhere[%d]: %v, %v", i, status, err)
			}
			if err := b.update(service, nodes); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // as the framework does
				b.t.Errorf("UpdateLoadBalancer, Elsewhere[%d]: %v", i, err)
			}
			if _, exists, err := b.get(service); exists || err != nil {
				b.t.Errorf("GetLoadBalancer, Elsewhere[%d]: %t, %v", i, exists, err)
			}
			if err := b.remove(service); err != nil {
				b.t.Errorf("EnsureLoadBalancerDeleted, Elsewhere[%d]: %v", i, err)
			}
		}
	})
	b.nothingLeft()
}
