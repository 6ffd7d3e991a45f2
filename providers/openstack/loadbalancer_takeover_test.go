package openstack

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
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

// TestClustersOfOneName (OS-LB-2): two clusters with the same name in one project, with
// Services of the same name, never touch each other's load balancers. The second one gets
// an error and an Event.
func TestClustersOfOneName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, openstack.Options{}, "manage-security-groups = true\n")
		service := kubetest.Service("default", "web", kubetest.ServiceUID("11111111-0000-4000-8000-000000000001"))
		first := s.run(t, service)
		first.until("first", func(ctx context.Context) error { return first.ensure(ctx, "web", s.nodes[:2]...) })
		before := s.Resources()
		twin := service.DeepCopy()
		twin.UID = "11111111-0000-4000-8000-000000000002"
		second := s.run(t, twin)
		events := record.NewFakeRecorder(100)
		second.balancers.(*loadBalancer).services.SetRecorder(events)
		if err := second.ensure(t.Context(), "web", s.nodes[2]); err == nil {
			t.Error("the second cluster uses the load balancer of the first one")
		}
		if all := kubetest.Events(events); !wrote(all, string(reasonNotOwned)) || !strings.Contains(all[0], string(service.UID)) {
			t.Errorf("the Events of the second cluster are %v", all)
		}
		if err := second.update(t.Context(), "web", s.nodes[2]); err == nil {
			t.Error("the second cluster updates the load balancer of the first one")
		}
		if err := second.remove(t.Context(), "web"); err != nil {
			t.Errorf("the second Service cannot be deleted: %v", err)
		}
		if diff := cmp.Diff(before, s.Resources()); diff != "" {
			t.Errorf("the load balancer of the first cluster has changed: %s", diff)
		}
		first.until("first again", func(ctx context.Context) error { return first.remove(ctx, "web") })
		if leaks := s.Leaks(); len(leaks) > 0 {
			t.Errorf("left: %v", leaks)
		}
	})
}
