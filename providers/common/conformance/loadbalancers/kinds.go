package loadbalancers

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// kindCases are about what not every cloud can do.
func kindCases() []testCase {
	noRanges := func(a Adapter) bool { return a.Without.SourceRanges }
	cases := []testCase{
		{
			Name: "an internal Service gets an internal load balancer", Run: getsInternal,
			LeftOut: func(a Adapter) bool { return len(a.Internal) == 0 },
		},
		{
			Name: "ports of several protocols are balanced", Run: balancesMixed,
			LeftOut: func(a Adapter) bool { return a.Without.MixedProtocols || len(a.Protocols) < 2 },
		},
		{
			Name: "clients are kept at their node", Run: keepsClients,
			LeftOut: func(a Adapter) bool { return a.Without.Affinity },
		},
		{
			Name: "the healthCheckNodePort is checked when traffic is local", Run: checksLocalHealth,
			LeftOut: func(a Adapter) bool { return a.Without.LocalTraffic },
		},
		{Name: "source ranges are respected", LeftOut: noRanges, Run: respectsRanges},
		{Name: "source ranges in the annotation are respected", LeftOut: noRanges, Run: respectsAnnotatedRanges},
		{Name: "source ranges of one Service open nothing for another", LeftOut: noRanges, Run: rangesAreIndependent},
	}
	for _, protocol := range []v1.Protocol{v1.ProtocolUDP, v1.ProtocolSCTP} {
		cases = append(cases, testCase{
			Name: string(protocol) + " is balanced",
			Run: func(f *fixture) {
				f.lifecycle(f.service("web", kubetest.Port(protocol, 5353), kubetest.Port(protocol, 5354)))
			},
			LeftOut: func(a Adapter) bool { return !slices.Contains(a.Protocols, protocol) },
		})
	}

	return cases
}

// lifecycle runs the whole life cycle of a Service.
func (f *fixture) lifecycle(service *v1.Service) {
	f.T.Helper()
	if f.balancers == nil {
		f.start()
	}
	m := f.CreateMany(3)
	f.mustEnsure(service, m[:2]...)
	f.resync(service, m[:2]...)
	f.mustUpdate(service, m[1:]...)
	f.mustRemove(service)
	f.CheckNothingLeft()
}

func getsInternal(f *fixture) {
	service := f.service("web")
	maps.Copy(service.Annotations, f.adapter.Internal)
	f.lifecycle(service)
}

func balancesMixed(f *fixture) {
	var ports []kubetest.ServiceOption
	for _, protocol := range f.adapter.Protocols {
		ports = append(ports, kubetest.Port(protocol, 53), kubetest.Port(protocol, 5353))
	}
	f.lifecycle(f.service("dns", ports...))
}

func keepsClients(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service := f.service("web")
	f.mustEnsure(service, m...)
	for _, affinity := range []v1.ServiceAffinity{v1.ServiceAffinityClientIP, v1.ServiceAffinityNone} {
		service.Spec.SessionAffinity = affinity
		f.mustEnsure(service, m...)
		f.resync(service, m...)
	}
	service = f.service("web-2")
	service.Spec.SessionAffinity = v1.ServiceAffinityClientIP
	f.mustEnsure(service, m...)
}

func checksLocalHealth(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service := f.service("web")
	kubetest.LocalTraffic(nodePort(*f.services, 9))(service)
	f.mustEnsure(service, m...)
	f.resync(service, m...)
	for _, change := range []kubetest.ServiceOption{
		func(s *v1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
		},
		kubetest.LocalTraffic(nodePort(*f.services, 8)),
		kubetest.LocalTraffic(nodePort(*f.services, 7)),
	} {
		change(service)
		f.mustEnsure(service, m...)
		f.resync(service, m...)
	}
	f.mustRemove(service)
	f.CheckNothingLeft()
}

// rangesOverTime are source ranges, each in the place of those before.
func rangesOverTime() [][]string {
	return [][]string{
		{"203.0.113.0/24"},
		{"203.0.113.0/24", "192.0.2.0/25"},
		{"198.51.100.7/32", "192.0.2.0/25"},
		nil,
		{"10.0.0.0/8"},
	}
}

func respectsRanges(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service := f.service("web")
	for _, ranges := range rangesOverTime() {
		service.Spec.LoadBalancerSourceRanges = ranges
		f.mustEnsure(service, m...)
		f.resync(service, m...)
	}
	f.mustUpdate(service, append(m, f.Create())...)
	f.mustRemove(service)
	f.CheckNothingLeft()
}

func respectsAnnotatedRanges(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service := f.service("web")
	service.Annotations[v1.AnnotationLoadBalancerSourceRangesKey] = "203.0.113.0/24,192.0.2.0/25"
	f.mustEnsure(service, m...)
	f.resync(service, m...)
	service.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"} // the field comes before the annotation
	f.mustEnsure(service, m...)
	f.mustRemove(service)
	f.CheckNothingLeft()
}

// rangesAreIndependent: all Services share the firewalls of the nodes.
func rangesAreIndependent(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	narrow, wide, open := f.service("narrow"), f.service("wide"), f.service("open")
	narrow.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
	wide.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24", "198.51.100.0/24"}
	all := []*v1.Service{narrow, wide, open}
	for _, service := range all {
		f.mustEnsure(service, m...)
	}
	for len(all) > 0 {
		for _, service := range all {
			f.check(service, m)
		}
		f.mustRemove(all[len(all)-1])
		all = all[:len(all)-1]
	}
	f.CheckNothingLeft()
}
