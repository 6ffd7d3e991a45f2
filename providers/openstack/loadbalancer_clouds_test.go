package openstack

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestLoadBalancerProviderMissing (OS-LB-4): a provider that the cloud does not have, or
// cannot load, is an error, and no request is repeated because of it. Without a provider in
// the cloud-config the cloud selects one.
func TestLoadBalancerProviderMissing(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*balanced){
		"NotEnabled": func(b *balanced) { b.SetProviders("octavia") },
		"NotLoaded":  func(b *balanced) { b.SetBrokenProviders("amphora") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := balanceIn(t, openstack.Options{InMemory: true}, "")
				set(b)
				svc := b.create(web())
				before := b.Interceptor().Count("octavia.CreateLoadBalancer")
				is(t, b.sync(svc), apierr.ErrInvalid)
				if n := b.Interceptor().Count("octavia.CreateLoadBalancer") - before; n > 2 || len(b.LoadBalancers()) > 0 {
					t.Errorf("%d requests, load balancers %v", n, b.LoadBalancers())
				}
				b.SetProviders("octavia")
				b.SetBrokenProviders()
				b.start("[LoadBalancer]\nlb-provider =\n")
				// The new process waits for the load balancer that the old one has requested.
				b.eventually("ensure with another provider", func() error { return b.sync(svc) })
				b.serves(b.address(b.now(svc)), 80, b.nodes...)
			})
		})
	}
}

// TestLoadBalancerKeptAsDeleted (OS-LB-17): a load balancer that Octavia keeps with the
// status DELETED is gone, and a new one is made for a Service with the same name.
func TestLoadBalancerKeptAsDeleted(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.SetKeepDeleted(true)
	svc := b.ensure(b.create(web()))
	first := b.balancerOf(svc).ID
	must(t, b.remove(svc))
	if b.exists(svc) {
		t.Error("it is deleted")
	}
	svc = b.change(svc, func(svc *v1.Service) { svc.Annotations = nil })
	svc = b.ensure(svc)
	if b.balancerOf(svc).ID == first {
		t.Error("the deleted one is used")
	}
	b.serves(b.address(svc), 80, b.nodes...)
}

// TestLoadBalancerVIPGroups (OS-LB-24): listeners of a load balancer whose VIP has security
// groups of a user take no ranges of clients, which is an Event and no error.
func TestLoadBalancerVIPGroups(t *testing.T) {
	t.Parallel()
	// Each sync is made once.
	b := balanceIn(t, openstack.Options{OctaviaMinor: 29, StaleReads: new(openstack.StaleReads)}, "")
	group := b.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "mine"})
	id := b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "mine", Subnet: b.subnet, VIPGroups: []string{group}})
	b.AddFloatingIP(openstack.FloatingIPSpec{Network: b.external, Port: b.LoadBalancer(id).VIPPort, Description: "mine"})
	svc := b.ensure(b.create(web(isOn(id), func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} })))
	b.warned(request.SourceRangesIgnored)
	b.serves(b.address(svc), 80, b.nodes...)
	b.untouched("nothing has changed", func() { b.ensure(svc) })
}

// isOn has a Service use a load balancer.
func isOn(id string) kubetest.ServiceOption { return annotate(request.AnnotationLoadBalancerID, id) }

// TestVersionsUnordered (OS-LB-13): the version of the API is the current one, whatever the
// order of the list is: here the last one is 2.9, without tags of 2.5 it would be 2.0.
func TestVersionsUnordered(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.SetVersionsUnordered(true)
	version, err := b.cloud.client.LoadBalancer().Version(t.Context())
	if want := (features.Version{Major: 2, Minor: 26}); err != nil || version != want {
		t.Errorf("version %v, %v, want %v", version, err, want)
	}
}

// TestLoadBalancerPlace (OS-LB-4, OS-LB-13): a new load balancer is requested with its flavor,
// availability zone, port and address. Later changes of these write nothing.
func TestLoadBalancerPlace(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	flavor := b.AddLBFlavor(openstack.LBFlavor{Name: "large"})
	b.AddLBZone(openstack.LBZone{Name: "zone-1"})
	port := b.AddPort(openstack.PortSpec{Network: b.network, IPs: []string{"10.0.7.7"}})
	b.start("[LoadBalancer]\nflavor-id = " + flavor + "\navailability-zone = zone-1\n")
	svc := b.ensure(b.create(web(isInternal(), func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "10.0.7.8" })))
	other := b.ensure(b.create(apiService(isInternal(), annotate(request.AnnotationPortID, port),
		annotate(request.AnnotationFlavorID, ""), annotate(request.AnnotationAvailabilityZone, ""))))
	if b.address(svc) != "10.0.7.8" || b.address(other) != "10.0.7.7" {
		t.Errorf("addresses %s and %s", b.address(svc), b.address(other))
	}
	for i, want := range []map[string]any{
		{"flavor_id": flavor, "availability_zone": "zone-1", "vip_address": "10.0.7.8", "vip_subnet_id": b.subnet, "vip_port_id": nil},
		{"flavor_id": nil, "availability_zone": nil, "vip_address": nil, "vip_subnet_id": nil, "vip_port_id": port},
	} {
		var body struct {
			LoadBalancer map[string]any `json:"loadbalancer"`
		}
		must(t, json.Unmarshal(b.Requests("octavia.CreateLoadBalancer")[i].Body, &body))
		for name, value := range want {
			if got := body.LoadBalancer[name]; got != value {
				t.Errorf("request %d: %s is %v, want %v", i, name, got, value)
			}
		}
	}
	svc = b.change(svc, func(svc *v1.Service) {
		annotate(request.AnnotationFlavorID, "")(svc)
		annotate(request.AnnotationAvailabilityZone, "")(svc)
	})
	b.untouched("only a new load balancer has them", func() { b.ensure(svc) })
	must(t, errors.Join(b.remove(svc), b.remove(other)))
	if _, there := b.Port(port); !there || len(b.LoadBalancers()) > 0 {
		t.Errorf("the port of a user stays: %t, load balancers %v", there, b.LoadBalancers())
	}
}
