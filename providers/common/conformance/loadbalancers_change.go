package conformance

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// edit is a change of a Service. The Service has the TCP ports 80 and 443.
type edit struct {
	name  string
	apply func(b *balancerFixture, service *v1.Service)
}

// edits are what users do to Services.
func edits() []edit {
	return []edit{
		{"a port more", func(b *balancerFixture, s *v1.Service) { s.Spec.Ports = append(s.Spec.Ports, b.port(8080, 2)) }},
		{"a port less", func(_ *balancerFixture, s *v1.Service) { s.Spec.Ports = s.Spec.Ports[1:] }},
		{"another port", func(_ *balancerFixture, s *v1.Service) { s.Spec.Ports[1].Port = 8443 }},
		{"only other ports", func(b *balancerFixture, s *v1.Service) {
			s.Spec.Ports = []v1.ServicePort{b.port(8080, 2), b.port(8443, 3), b.port(9443, 4)}
		}},
		{"another node port", func(b *balancerFixture, s *v1.Service) { s.Spec.Ports[0].NodePort = nodePort(b.services, 5) }},
		{"node ports swapped", func(_ *balancerFixture, s *v1.Service) {
			p := s.Spec.Ports
			p[0].NodePort, p[1].NodePort = p[1].NodePort, p[0].NodePort
		}},
		{"ports in another order", func(_ *balancerFixture, s *v1.Service) { slices.Reverse(s.Spec.Ports) }},
		{"ports of other names", func(_ *balancerFixture, s *v1.Service) {
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].Name = "renamed-" + s.Spec.Ports[i].Name
			}
		}},
	}
}

// port is one more TCP port of the last Service.
func (b *balancerFixture) port(number int32, i int) v1.ServicePort {
	return v1.ServicePort{
		Name: "more-" + string(rune('a'+i)), Protocol: v1.ProtocolTCP, Port: number,
		TargetPort: intstr.FromInt32(number), NodePort: nodePort(b.services, i),
	}
}

// balancerChangeCases are about a Service that is edited.
func balancerChangeCases() []balancerCase {
	cases := []balancerCase{
		{
			name: "a port that changes its protocol is followed, and back", run: followsProtocol,
			leftOut: func(s LoadBalancerSuite) bool { return !slices.Contains(s.Protocols, v1.ProtocolUDP) },
		},
	}
	for _, e := range edits() {
		cases = append(cases, balancerCase{
			name: e.name + " is followed, and back",
			run:  func(b *balancerFixture) { b.follows(e.apply) },
		})
	}

	return cases
}

// follows edits a Service with a load balancer, and takes the edit back. The
// address must stay, and what is as wanted must need no write.
func (b *balancerFixture) follows(apply func(b *balancerFixture, service *v1.Service)) {
	b.t.Helper()
	b.start()
	m := b.createMany(2)
	service := b.service("web")
	b.mustEnsure(service, m...)
	original, before := service.DeepCopy(), b.cloud.Leftovers()
	apply(b, service)
	for _, next := range []*v1.Service{service, original} {
		next.Status = original.Status
		b.mustEnsure(next, m...)
		if diff := addresses(original, next); diff != "" {
			b.t.Error(diff)
		}
		b.resync(next, m...)
	}
	b.unchanged("the cloud", before, b.cloud.Leftovers())
	b.mustRemove(original)
	b.nothingLeft()
}

// addresses says how the address of a Service changed.
func addresses(before, after *v1.Service) string {
	was, is := before.Status.LoadBalancer.Ingress, after.Status.LoadBalancer.Ingress
	if len(was) > 0 && len(is) > 0 && was[0].Hostname == is[0].Hostname && was[0].IP == is[0].IP {
		return ""
	}

	return "the address changed from " + ingressText(was) + " to " + ingressText(is)
}

// ingressText is the first address of a status.
func ingressText(ingress []v1.LoadBalancerIngress) string {
	if len(ingress) == 0 {
		return "none"
	}

	return ingress[0].Hostname + ingress[0].IP
}

func followsProtocol(b *balancerFixture) {
	b.follows(func(_ *balancerFixture, s *v1.Service) {
		for i := range s.Spec.Ports {
			s.Spec.Ports[i].Protocol = v1.ProtocolUDP
		}
	})
}
