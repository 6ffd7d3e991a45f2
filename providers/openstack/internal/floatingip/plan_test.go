package floatingip_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// desired is the floating IP of a Service.
func desired(t *testing.T, annotations annotated, wanted string, families ...v1.IPFamily) *floatingip.Desired {
	t.Helper()
	svc := kubetest.Service("shop", "web")
	for name, value := range annotations {
		svc.Annotations[string(name)] = value
	}
	svc.Spec.LoadBalancerIP, svc.Spec.IPFamilies = wanted, families
	r, _, err := request.ForUpdate(svc, nil, request.Settings{ClusterName: "kube"})
	must(t, err)

	return floatingip.Build(r, true)
}

// What is used of several floating IPs.
func TestSeveral(t *testing.T) {
	t.Parallel()
	on := func(id, address, vip, text string) *client.FloatingIP {
		return &client.FloatingIP{ID: id, Address: address, PortID: "port", FixedAddress: vip, Description: text}
	}
	ours, former := on("ours", "198.51.100.5", "10.0.0.9", description), on("former", "198.51.100.6", "10.0.0.9", formerly)
	user, second := on("user", "198.51.100.7", "10.0.0.9", ""), on("second", "198.51.100.8", "10.0.0.10", "")
	published := annotated{request.AnnotationLoadBalancerAddress: "198.51.100.5"}
	for name, tc := range map[string]struct {
		reason      string
		all         []*client.FloatingIP
		annotations annotated
		wanted      string
		want        string
	}{
		"None":      {"the VIP", []*client.FloatingIP{second}, nil, "", "10.0.0.9"},
		"ByID":      {"always the same", []*client.FloatingIP{former, ours, user}, nil, "", "198.51.100.6"},
		"Published": {"the one that users know", []*client.FloatingIP{former, ours}, published, "", "198.51.100.5"},
		"Wanted":    {"the one that is wanted", []*client.FloatingIP{ours, user}, published, "198.51.100.7", "198.51.100.7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := &client.LoadBalancerInfo{LBObject: client.LBObject{ID: "lb"}, VIPAddress: "10.0.0.9", VIPPortID: "port"}
			o, err := floatingip.From(lb, tc.all, desired(t, tc.annotations, tc.wanted))
			must(t, err)
			if got := o.Address().String(); got != tc.want {
				t.Errorf("%s: address is %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// A new load balancer needs a place unless it is internal or IPv6.
func TestPlaceOfNew(t *testing.T) {
	t.Parallel()
	for what, needs := range map[*floatingip.Desired]bool{
		desired(t, nil, ""):                         true,
		desired(t, annotated{internal: "true"}, ""): false,
		desired(t, nil, "", v1.IPv6Protocol):        false,
	} {
		if got := what.NeedsPlace(nil); got != needs {
			t.Errorf("%+v needs a place: %t", what.Request, got)
		}
	}
}
