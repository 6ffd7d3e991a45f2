package conformance

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// balancerKindCases are about what not every cloud can do.
func balancerKindCases() []balancerCase {
	noRanges := func(s LoadBalancerSuite) bool { return s.Without.SourceRanges }
	cases := []balancerCase{
		{
			name: "an internal Service gets an internal load balancer", run: getsInternal,
			leftOut: func(s LoadBalancerSuite) bool { return len(s.Internal) == 0 },
		},
		{
			name: "ports of several protocols are balanced", run: balancesMixed,
			leftOut: func(s LoadBalancerSuite) bool { return s.Without.MixedProtocols || len(s.Protocols) < 2 },
		},
		{
			name: "clients are kept at their node", run: keepsClients,
			leftOut: func(s LoadBalancerSuite) bool { return s.Without.Affinity },
		},
		{
			name: "the healthCheckNodePort is asked when traffic is local", run: asksLocalHealth,
			leftOut: func(s LoadBalancerSuite) bool { return s.Without.LocalTraffic },
		},
		{name: "source ranges are respected", leftOut: noRanges, run: respectsRanges},
		{name: "source ranges in the annotation are respected", leftOut: noRanges, run: respectsAnnotatedRanges},
		{name: "source ranges of one Service open nothing for another", leftOut: noRanges, run: rangesAreApart},
	}
	for _, protocol := range []v1.Protocol{v1.ProtocolUDP, v1.ProtocolSCTP} {
		cases = append(cases, balancerCase{
			name: string(protocol) + " is balanced",
			run: func(b *balancerFixture) {
				b.lives(b.service("web", kubetest.Port(protocol, 5353), kubetest.Port(protocol, 5354)))
			},
			leftOut: func(s LoadBalancerSuite) bool { return !slices.Contains(s.Protocols, protocol) },
		})
	}

	return cases
}

// lives takes a Service through its whole life.
func (b *balancerFixture) lives(service *v1.Service) {
	b.t.Helper()
	if b.balancers == nil {
		b.start()
	}
	m := b.createMany(3)
	b.mustEnsure(service, m[:2]...)
	b.resync(service, m[:2]...)
	b.mustUpdate(service, m[1:]...)
	b.mustRemove(service)
	b.nothingLeft()
}

func getsInternal(b *balancerFixture) {
	service := b.service("web")
	maps.Copy(service.Annotations, b.suite.Internal)
	b.lives(service)
}

func balancesMixed(b *balancerFixture) {
	var ports []kubetest.ServiceOption
	for _, protocol := range b.suite.Protocols {
		ports = append(ports, kubetest.Port(protocol, 53), kubetest.Port(protocol, 5353))
	}
	b.lives(b.service("dns", ports...))
}

func keepsClients(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service := b.service("web")
	b.mustEnsure(service, m...)
	for _, affinity := range []v1.ServiceAffinity{v1.ServiceAffinityClientIP, v1.ServiceAffinityNone} {
		service.Spec.SessionAffinity = affinity
		b.mustEnsure(service, m...)
		b.resync(service, m...)
	}
	service = b.service("web-2")
	service.Spec.SessionAffinity = v1.ServiceAffinityClientIP
	b.mustEnsure(service, m...)
}

func asksLocalHealth(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service := b.service("web")
	kubetest.LocalTraffic(nodePort(b.services, 9))(service)
	b.mustEnsure(service, m...)
	b.resync(service, m...)
	for _, change := range []kubetest.ServiceOption{
		func(s *v1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
		},
		kubetest.LocalTraffic(nodePort(b.services, 8)),
		kubetest.LocalTraffic(nodePort(b.services, 7)),
	} {
		change(service)
		b.mustEnsure(service, m...)
		b.resync(service, m...)
	}
	b.mustRemove(service)
	b.nothingLeft()
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

func respectsRanges(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service := b.service("web")
	for _, ranges := range rangesOverTime() {
		service.Spec.LoadBalancerSourceRanges = ranges
		b.mustEnsure(service, m...)
		b.resync(service, m...)
	}
	b.mustUpdate(service, append(m, b.create())...)
	b.mustRemove(service)
	b.nothingLeft()
}

func respectsAnnotatedRanges(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service := b.service("web")
	service.Annotations[v1.AnnotationLoadBalancerSourceRangesKey] = "203.0.113.0/24,192.0.2.0/25"
	b.mustEnsure(service, m...)
	b.resync(service, m...)
	service.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"} // the field comes before the annotation
	b.mustEnsure(service, m...)
	b.mustRemove(service)
	b.nothingLeft()
}

// rangesAreApart: the firewalls of the nodes are one for all Services.
func rangesAreApart(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	narrow, wide, open := b.service("narrow"), b.service("wide"), b.service("open")
	narrow.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
	wide.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24", "198.51.100.0/24"}
	all := []*v1.Service{narrow, wide, open}
	for _, service := range all {
		b.mustEnsure(service, m...)
	}
	for len(all) > 0 {
		for _, service := range all {
			b.check(service, m)
		}
		b.mustRemove(all[len(all)-1])
		all = all[:len(all)-1]
	}
	b.nothingLeft()
}
