package loadbalancers

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// edit is a change of a Service. The Service has the TCP ports 80 and 443.
type edit struct {
	name  string
	apply func(f *fixture, service *v1.Service)
}

// edits are what users do to Services.
func edits() []edit {
	return []edit{
		{"a port more", func(f *fixture, s *v1.Service) { s.Spec.Ports = append(s.Spec.Ports, f.port(8080, 2)) }},
		{"a port less", func(_ *fixture, s *v1.Service) { s.Spec.Ports = s.Spec.Ports[1:] }},
		{"another port", func(_ *fixture, s *v1.Service) { s.Spec.Ports[1].Port = 8443 }},
		{"only other ports", func(f *fixture, s *v1.Service) {
			s.Spec.Ports = []v1.ServicePort{f.port(8080, 2), f.port(8443, 3), f.port(9443, 4)}
		}},
		{"another node port", func(f *fixture, s *v1.Service) { s.Spec.Ports[0].NodePort = nodePort(*f.services, 5) }},
		{"node ports swapped", func(_ *fixture, s *v1.Service) {
			p := s.Spec.Ports
			p[0].NodePort, p[1].NodePort = p[1].NodePort, p[0].NodePort
		}},
		{"ports in another order", func(_ *fixture, s *v1.Service) { slices.Reverse(s.Spec.Ports) }},
		{"ports of other names", func(_ *fixture, s *v1.Service) {
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].Name = "renamed-" + s.Spec.Ports[i].Name
			}
		}},
	}
}

// port is one more TCP port of the last Service.
func (f *fixture) port(number int32, i int) v1.ServicePort {
	return v1.ServicePort{
		Name: "more-" + string(rune('a'+i)), Protocol: v1.ProtocolTCP, Port: number,
		TargetPort: intstr.FromInt32(number), NodePort: nodePort(*f.services, i),
	}
}

// changeCases are about a Service that is edited.
func changeCases() []testCase {
	cases := []testCase{
		{
			Name: "a port that changes its protocol is followed, and back", Run: followsProtocol,
			LeftOut: func(a Adapter) bool { return !slices.Contains(a.Protocols, v1.ProtocolUDP) },
		},
	}
	for _, e := range edits() {
		cases = append(cases, testCase{
			Name: e.name + " is followed, and back",
			Run:  func(f *fixture) { f.follows(e.apply) },
		})
	}

	return cases
}

// follows edits a Service with a load balancer, and reverts the edit. The address
// must stay, and another resync must cost no write.
func (f *fixture) follows(apply func(f *fixture, service *v1.Service)) {
	f.T.Helper()
	f.start()
	m := f.CreateMany(2)
	service := f.service("web")
	f.mustEnsure(service, m...)
	original, before := service.DeepCopy(), f.Cloud.Resources()
	apply(f, service)
	for _, next := range []*v1.Service{service, original} {
		next.Status = original.Status
		f.mustEnsure(next, m...)
		if diff := addressDiff(original, next); diff != "" {
			f.T.Error(diff)
		}
		f.resync(next, m...)
	}
	f.CheckUnchanged("the cloud", before, f.Cloud.Resources())
	f.mustRemove(original)
	f.CheckNothingLeft()
}

// addressDiff returns how the address of a Service changed.
func addressDiff(before, after *v1.Service) string {
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

func followsProtocol(f *fixture) {
	f.follows(func(_ *fixture, s *v1.Service) {
		for i := range s.Spec.Ports {
			s.Spec.Ports[i].Protocol = v1.ProtocolUDP
		}
	})
}
