package openstack

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestTakeover (OS-LB-1, OS-LB-7): load balancers that the upstream controller made are
// carried on without a write, with the same address, annotations and labels.
func TestTakeover(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		options openstack.Options
		config  string
		spec    openstack.ServiceSpec
		legacy  bool
		// found means that the annotation with the ID is missing, as from old versions.
		found bool
		// internal leaves out the floating IP.
		internal bool
		change   []edit
	}{
		"bulk":        {reason: "as it is made by default", config: "create-monitor = true\n"},
		"no monitors": {reason: "create-monitor is false by default", spec: openstack.ServiceSpec{NoMonitors: true}},
		"by name":     {reason: "annotations are as old as version 1.21", found: true, spec: openstack.ServiceSpec{NoMonitors: true}},
		"no tags":     {reason: "tags are as old as version 1.19", found: true, options: openstack.Options{OctaviaMinor: 4}, spec: openstack.ServiceSpec{NoTags: true, NoMonitors: true}},
		"legacy name": {reason: "the name was made of the UID until version 1.16", found: true, options: openstack.Options{OctaviaMinor: 4}, legacy: true, spec: openstack.ServiceSpec{NoTags: true, NoMonitors: true}},
		"ovn": {
			reason: "it has other algorithms", options: openstack.Options{Profile: openstack.OVN}, config: "lb-provider = ovn\n",
			spec: openstack.ServiceSpec{NoMonitors: true},
		},
		"internal": {
			reason: "there is no floating IP", internal: true, spec: openstack.ServiceSpec{NoMonitors: true},
			change: edits(annotated(request.AnnotationInternal, "true")),
		},
		"kept floating IP": {
			reason: "it stays", spec: openstack.ServiceSpec{NoMonitors: true},
			change: edits(annotated(request.AnnotationKeepFloatingIP, "true")),
		},
		"UDP and SCTP": {
			reason: "one port with two protocols", config: "create-monitor = true\n",
			spec: openstack.ServiceSpec{Ports: []openstack.ServicePort{{Protocol: "UDP", Port: 53, NodePort: 30053}, {Protocol: "SCTP", Port: 53, NodePort: 30053}}},
			change: edits(func(s *v1.Service) {
				s.Spec.Ports = nil
				kubetest.Port(v1.ProtocolUDP, 53)(s)
				kubetest.Port(v1.ProtocolSCTP, 53)(s)
			}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, tc.options, tc.config)
				service := kubetest.Service("default", "web", kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443))
				for _, change := range tc.change {
					change(s, service)
				}
				id := s.addReferenceLoadBalancer(tc.spec, service, tc.legacy, tc.internal)
				if tc.found {
					delete(service.Annotations, string(request.AnnotationLoadBalancerID))
				}
				before, writes := s.Resources(), s.Writes()
				p := s.run(t, service)
				for range 2 {
					p.until("takeover", func(ctx context.Context) error { return p.ensure(ctx, "web", s.nodes...) })
					p.until("takeover", func(ctx context.Context) error { return p.update(ctx, "web", s.nodes...) })
				}
				if diff := cmp.Diff(writes, s.Writes()); diff != "" {
					t.Errorf("%s: writes: %s", tc.reason, diff)
				}
				if diff := cmp.Diff(before, s.Resources()); diff != "" {
					t.Errorf("%s: changes: %s", tc.reason, diff)
				}
				want := maps.Clone(service.Annotations)
				want[string(request.AnnotationLoadBalancerID)] = id
				if diff := cmp.Diff(want, p.stored("web").Annotations); diff != "" {
					t.Errorf("%s: annotations: %s", tc.reason, diff)
				}
				status, exists, err := p.balancers.GetLoadBalancer(t.Context(), clusterName, service)
				if err != nil || !exists || status.Ingress[0].IP != service.Annotations[string(request.AnnotationLoadBalancerAddress)] {
					t.Errorf("%s: got %v, %v, %v", tc.reason, status, exists, err)
				}
			})
		})
	}
}

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
		spec.LegacyName = lbname.ByUID(service)
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
		if all := drain(events); !wrote(all, string(reasonNotOwned)) || !strings.Contains(all[0], string(service.UID)) {
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
