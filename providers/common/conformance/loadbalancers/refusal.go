package loadbalancers

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// refusalCases are about Services that cannot be served.
func refusalCases() []testCase {
	cases := []testCase{
		refusal("a Service without ports", nil, func(s *v1.Service) { s.Spec.Ports = nil }),
		refusal("an unknown protocol", nil, func(s *v1.Service) { s.Spec.Ports[0].Protocol = "ICMP" }),
		refusal("a malformed source range", nil, func(s *v1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24", "10.0.0.0/33"}
		}),
		refusal("a malformed source range in the annotation", nil, func(s *v1.Service) {
			s.Annotations[v1.AnnotationLoadBalancerSourceRangesKey] = "10.0.0.0/8,everywhere"
		}),
		refusal("session affinity", func(a Adapter) bool { return !a.Without.Affinity }, func(s *v1.Service) {
			s.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		}),
		refusal("a requested address", func(a Adapter) bool { return !a.Without.RequestedIP }, func(s *v1.Service) {
			s.Spec.LoadBalancerIP = "203.0.113.99"
		}),
		{
			Name: "refused: ports of several protocols", Run: refusesMixed,
			LeftOut: func(a Adapter) bool { return !a.Without.MixedProtocols },
		},
		{
			Name: "refused: invalid annotations", Run: refusesAnnotations,
			LeftOut: func(a Adapter) bool { return len(a.Refused) == 0 },
		},
		{
			Name: "a Service left to another controller is left alone", Run: leavesUnmanaged,
			LeftOut: func(a Adapter) bool { return len(a.Unmanaged) == 0 },
		},
	}
	for _, protocol := range []v1.Protocol{v1.ProtocolUDP, v1.ProtocolSCTP} {
		supported := func(a Adapter) bool { return slices.Contains(a.Protocols, protocol) }
		cases = append(cases, refusal("ports of protocol "+string(protocol), supported, func(s *v1.Service) {
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].Protocol = protocol
			}
		}))
	}

	return cases
}

// refusal is the case about one thing that cannot be served.
func refusal(what string, leftOut func(Adapter) bool, invalidate func(*v1.Service)) testCase {
	return testCase{Name: "refused: " + what, LeftOut: leftOut, Run: func(f *fixture) {
		f.start()
		f.refuses(what, invalidate)
	}}
}

// refuses fails the case if an invalid Service is not an error, or changes
// anything: as a new Service, and in the place of a valid one.
func (f *fixture) refuses(what string, invalidate func(*v1.Service)) {
	f.T.Helper()
	m := f.CreateMany(2)
	invalid := f.service("web")
	invalidate(invalid)
	refused := func(service *v1.Service) {
		f.T.Helper()
		f.CheckWritesNothing(what, func() {
			f.store(service)
			if _, err := f.ensure(service, harness.NodesOf(m...)); err == nil {
				f.T.Errorf("%s is no error", what)
			} else if errors.Is(err, cloudprovider.ImplementedElsewhere) {
				f.T.Errorf("%s is implemented elsewhere", what)
			}
		})
	}
	refused(invalid)
	f.CheckNothingLeft()
	f.mustRemove(invalid)

	good := f.service("web")
	f.mustEnsure(good, m...)
	before := f.Cloud.Resources()
	edited := good.DeepCopy()
	invalidate(edited)
	refused(edited)
	f.CheckUnchanged("the load balancer of a Service with "+what, before, f.Cloud.Resources())
	f.resync(good, m...)
	f.mustRemove(edited)
	f.CheckNothingLeft()
}

func refusesMixed(f *fixture) {
	f.start()
	f.refuses("ports of several protocols", func(s *v1.Service) {
		kubetest.Port(v1.ProtocolUDP, 5353)(s)
	})
}

func refusesAnnotations(f *fixture) {
	f.start()
	for i, refused := range f.adapter.Refused {
		f.refuses(fmt.Sprintf("Refused[%d] %v", i, refused), func(s *v1.Service) { maps.Copy(s.Annotations, refused) })
	}
}

// leavesUnmanaged: the service controller compares the error with ==.
func leavesUnmanaged(f *fixture) {
	f.start()
	nodes := harness.NodesOf(f.CreateMany(2)...)
	f.CheckWritesNothing("a Service left to another controller", func() {
		for i, unmanaged := range f.adapter.Unmanaged {
			service := f.service("web")
			service.Annotations = maps.Clone(unmanaged)
			status, err := f.balancers.EnsureLoadBalancer(f.T.Context(), f.cluster, service, nodes)
			if err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // as the service controller does
				f.T.Errorf("EnsureLoadBalancer, Unmanaged[%d]: %v, %v", i, status, err)
			}
			if err := f.update(service, nodes); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // as the service controller does
				f.T.Errorf("UpdateLoadBalancer, Unmanaged[%d]: %v", i, err)
			}
			if _, exists, err := f.get(service); exists || err != nil {
				f.T.Errorf("GetLoadBalancer, Unmanaged[%d]: %t, %v", i, exists, err)
			}
			if err := f.remove(service); err != nil {
				f.T.Errorf("EnsureLoadBalancerDeleted, Unmanaged[%d]: %v", i, err)
			}
		}
	})
	f.CheckNothingLeft()
}
