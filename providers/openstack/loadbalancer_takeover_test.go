package openstack

import (
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// addReferenceLoadBalancer adds the load balancer of a Service as the upstream controller
// leaves it, with its annotations, and returns its ID.
func (s *lbSite) addReferenceLoadBalancer(spec openstack.ServiceSpec, service *v1.Service, legacy, internal bool) string {
	spec.Name, spec.Subnet = service.Name, s.subnet
	if spec.Ports == nil {
		spec.Ports = []openstack.ServicePort{{Protocol: "TCP", Port: 80, NodePort: 30080}, {Protocol: "TCP", Port: 443, NodePort: 30443}}
	}
	spec.Nodes = map[string]string{}
	for _, node := range s.nodes {
		spec.Nodes[node.Name] = node.Status.Addresses[0].Address
	}
	if legacy {
		spec.LegacyName = cloudprovider.DefaultLoadBalancerName(service)
	}
	if !internal {
		spec.FloatingNetwork = s.external
	}
	id := s.AddServiceLoadBalancer(spec)
	made := s.LoadBalancer(id)
	address := made.VIPAddress
	for _, e := range s.Serving() {
		if e.LoadBalancer == made.Name && e.Address != made.VIPAddress {
			address = e.Address
		}
	}
	annotated(request.AnnotationLoadBalancerID, id)(service)
	annotated(request.AnnotationLoadBalancerAddress, address)(service)

	return id
}
