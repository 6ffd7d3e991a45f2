package floatingip_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	internal = request.AnnotationInternal
	keep     = request.AnnotationKeepFloatingIP
	// formerly is the description of what another cluster, or this one with another name,
	// has made for a Service.
	formerly = "Floating IP for Kubernetes external service shop/web from cluster before"
	// alike is that of another Service, whose name begins alike.
	alike = "Floating IP for Kubernetes external service shop/web2 from cluster before"
)

// OS-LB-14, with each of its cases: what a sync does, what it costs, and that the next one does nothing.
func TestSync(t *testing.T) {
	t.Parallel()
	list := map[string]int{opList: 1}
	for name, tc := range map[string]struct {
		reason      string
		annotations annotated
		wanted      string // spec.loadBalancerIP
		shared      bool
		prepare     func(t *testing.T, f *fixture)
		want        []string
		address     string // the VIP if it is empty
		calls       map[string]int
		warning     service.Reason
		message     string
	}{
		"New":               {reason: "one is created", want: []string{"198.51.100.11 on VIP, ours"}, address: "198.51.100.11", calls: map[string]int{opList: 1, opCreate: 1}},
		"OfUser":            {reason: "it is used", prepare: func(_ *testing.T, f *fixture) { f.give(true, "", "mine") }, want: []string{"198.51.100.11 on VIP"}, address: "198.51.100.11", calls: list},
		"OtherAddress":      {reason: "it is used, and that is said", wanted: "198.51.100.15", prepare: func(_ *testing.T, f *fixture) { f.give(true, "", "mine") }, want: []string{"198.51.100.11 on VIP"}, address: "198.51.100.11", calls: list, warning: floatingip.AddressIgnored, message: "198.51.100.15 of spec.loadBalancerIP is not used"},
		"OtherPorts":        {reason: "they are not touched", annotations: annotated{internal: "true"}, prepare: func(_ *testing.T, f *fixture) { f.give(false, "", formerly); f.give(false, "", description) }, want: []string{"198.51.100.11 free", "198.51.100.12 free, ours"}, calls: list},
		"Internal":          {reason: "there is none", annotations: annotated{internal: "true"}, want: nil, calls: list},
		"InternalOwn":       {reason: "it is deleted", annotations: annotated{internal: "true"}, prepare: func(_ *testing.T, f *fixture) { f.give(true, "", description) }, want: nil, calls: map[string]int{opList: 1, opDelete: 1}},
		"InternalRenamed":   {reason: "a Service made it, on our port", annotations: annotated{internal: "true"}, prepare: func(_ *testing.T, f *fixture) { f.give(true, "", formerly) }, want: nil, calls: map[string]int{opList: 1, opDelete: 1}},
		"InternalKept":      {reason: "it is kept", annotations: annotated{internal: "true", keep: "true"}, prepare: func(_ *testing.T, f *fixture) { f.give(true, "", description) }, want: []string{"198.51.100.11 free, ours"}, calls: map[string]int{opList: 1, opUpdate: 1}},
		"InternalOfUser":    {reason: "a user made it", annotations: annotated{internal: "true"}, prepare: func(_ *testing.T, f *fixture) { f.give(true, "", "mine") }, want: []string{"198.51.100.11 free"}, calls: map[string]int{opList: 1, opUpdate: 1}},
		"InternalShared":    {reason: "it is that of another Service", annotations: annotated{internal: "true"}, shared: true, prepare: func(_ *testing.T, f *fixture) { f.give(true, "", formerly) }, want: []string{"198.51.100.11 on VIP"}, address: "198.51.100.11", calls: list},
		"Shared":            {reason: "it is used", shared: true, prepare: func(_ *testing.T, f *fixture) { f.give(true, "", formerly) }, want: []string{"198.51.100.11 on VIP"}, address: "198.51.100.11", calls: list},
		"Address":           {reason: "a free one is associated", wanted: "198.51.100.15", prepare: func(_ *testing.T, f *fixture) { f.give(false, "198.51.100.15", "mine") }, want: []string{"198.51.100.15 on VIP"}, address: "198.51.100.15", calls: map[string]int{opList: 2, opUpdate: 1}},
		"AddressOfNetworks": {reason: "the address takes precedence over the network", wanted: "203.0.113.5", annotations: annotated{request.AnnotationFloatingNetworkID: missing}, prepare: secondNetwork, want: []string{"203.0.113.5 on VIP"}, address: "203.0.113.5", calls: map[string]int{opList: 2, opUpdate: 1}},
		"NewAddress":        {reason: "an administrator may choose it", wanted: "198.51.100.15", prepare: asAdmin, want: []string{"198.51.100.15 on VIP, ours"}, address: "198.51.100.15", calls: map[string]int{opList: 2, opCreate: 1}},
		"Again":             {reason: "the one of a load balancer that was deleted is used again", annotations: annotated{request.AnnotationLoadBalancerAddress: "198.51.100.15"}, prepare: func(_ *testing.T, f *fixture) { f.give(false, "198.51.100.15", description) }, want: []string{"198.51.100.15 on VIP, ours"}, address: "198.51.100.15", calls: map[string]int{opList: 2, opUpdate: 1}},
		"NotAgain":          {reason: "one that a user has made meanwhile is not", annotations: annotated{request.AnnotationLoadBalancerAddress: "198.51.100.15"}, prepare: func(_ *testing.T, f *fixture) { f.give(false, "198.51.100.15", "mine") }, want: []string{"198.51.100.11 on VIP, ours", "198.51.100.15 free"}, address: "198.51.100.11", calls: map[string]int{opList: 2, opCreate: 1}},
		"WasInternal":       {reason: "the VIP that was published is no floating IP", prepare: publishVIP, want: []string{"198.51.100.11 on VIP, ours"}, address: "198.51.100.11", calls: map[string]int{opList: 1, opCreate: 1}},
		"NoNetwork":         {reason: "the load balancer is internal", prepare: noExternal, want: nil, calls: list, warning: request.ForcedInternal, message: "there is no external network"},
		"IPv6":              {reason: "there is none for IPv6", prepare: ipv6VIP, want: nil, calls: list, warning: request.FloatingIPSkipped, message: "is IPv6"},
		"SubnetID":          {reason: "Neutron takes the ID of an invisible subnet", prepare: useSubnet, want: []string{"203.0.113.2 on VIP, ours"}, address: "203.0.113.2", calls: map[string]int{opList: 1, opCreate: 1}},
		"SecondSubnet":      {reason: "the first one is full", annotations: annotated{request.AnnotationFloatingSubnet: "*"}, prepare: subnets("full", "198.18.0.0/30", "198.18.0.2-198.18.0.2", "wide", "198.19.0.0/24", "198.19.0.9-198.19.0.10"), want: []string{"198.18.0.2 free", "198.19.0.10 on VIP, ours"}, address: "198.19.0.10", calls: map[string]int{opList: 1, opCreate: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{}, tc.annotations)
			f.shared, f.service.Spec.LoadBalancerIP = tc.shared, tc.wanted
			if tc.prepare != nil {
				tc.prepare(t, f)
			}
			vip, _ := f.vip()
			f.Interceptor().Reset()
			got := f.sync(t)
			f.wantCalls(t, tc.reason, tc.calls)
			if got.checked != nil || got.err != nil {
				t.Errorf("%s: %v, %v", tc.reason, got.checked, got.err)
			}
			for _, step := range got.plan {
				if !step.Isolated || step.Removes != (step.Kind == "DeleteFloatingIP" || step.Kind == "DisassociateFloatingIP") {
					t.Errorf("%s: %s: isolated %t, removes %t", tc.reason, step, step.Isolated, step.Removes)
				}
			}
			warnings := got.warnings
			if tc.warning == request.ForcedInternal && len(warnings) == 2 && warnings[0].Reason == request.ExternalNetworkSearchFailed {
				warnings = warnings[1:]
			}
			if !warned(warnings, tc.warning, tc.message) {
				t.Errorf("%s: warnings %v", tc.reason, got.warnings)
			}
			want := tc.address
			if want == "" {
				want = vip
			}
			if got.address.String() != want {
				t.Errorf("%s: address is %s, want %s", tc.reason, got.address, want)
			}
			var lines []string
			for _, line := range tc.want {
				lines = append(lines, strings.Replace(line, "VIP", vip, 1))
			}
			f.wantFloatingIPs(t, tc.reason, lines...)

			f.Interceptor().Reset()
			if want := 2 * len(got.plan); len(f.wrote) != want || want > 0 && f.wrote[0] != f.lb {
				t.Errorf("%s: %d steps have marked reads of %v as old, want each twice", tc.reason, len(got.plan), f.wrote)
			}
			again := f.sync(t)
			if len(again.plan) > 0 || again.address.String() != want {
				t.Errorf("%s: the next sync has address %s and does\n%s", tc.reason, again.address, again.plan)
			}
			f.wantCalls(t, "an unchanged sync", list)
		})
	}
}

// secondNetwork adds another external network, with a floating IP.
func secondNetwork(_ *testing.T, f *fixture) {
	network := f.AddNetwork(openstack.NetworkSpec{Name: "other", External: true})
	f.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "203.0.113.0/24"})
	inside := f.AddNetwork(openstack.NetworkSpec{Name: "inside"})
	subnet := f.AddSubnet(openstack.SubnetSpec{Network: inside, CIDR: "10.1.0.0/24"})
	f.AddRouter(openstack.RouterSpec{Name: "second", External: network, Subnets: []string{subnet}})
	f.lb = f.addBalancer(subnet)
	f.AddFloatingIP(openstack.FloatingIPSpec{Network: network, Address: "203.0.113.5"})
}

func asAdmin(_ *testing.T, f *fixture) {
	f.SetRoles(openstack.UserCCM, openstack.ProjectCCM, openstack.RoleAdmin, openstack.RoleMember)
}

func publishVIP(_ *testing.T, f *fixture) {
	vip, _ := f.vip()
	f.service.Annotations[string(request.AnnotationLoadBalancerAddress)] = vip
}

func noExternal(_ *testing.T, f *fixture) {
	f.Interceptor().Inject(opNetworks, simserver.Always(), raw(`{"networks": []}`))
}

func ipv6VIP(_ *testing.T, f *fixture) {
	f.lb = f.addBalancer(f.AddSubnet(openstack.SubnetSpec{Network: f.network, CIDR: "fd00::/64"}))
	f.service.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}
}

// useSubnet selects a second subnet of the external network.
func useSubnet(_ *testing.T, f *fixture) {
	f.service.Annotations[string(request.AnnotationFloatingSubnetID)] = f.AddSubnet(openstack.SubnetSpec{Network: f.external, CIDR: "203.0.113.0/24"})
}

// subnets replaces the external network by one that the project sees, with named subnets
// and their pools. The first one is full.
func subnets(specs ...string) func(*testing.T, *fixture) {
	return func(_ *testing.T, f *fixture) {
		network := f.AddNetwork(openstack.NetworkSpec{Name: "own", External: true, Project: openstack.ProjectCCM})
		f.service.Annotations[string(request.AnnotationFloatingNetworkID)] = network
		for i := 0; i < len(specs); i += 3 {
			f.AddSubnet(openstack.SubnetSpec{Network: network, Name: specs[i], CIDR: specs[i+1], Pools: []string{specs[i+2]}})
		}
		first, _, _ := strings.Cut(specs[2], "-")
		f.AddFloatingIP(openstack.FloatingIPSpec{Network: network, Address: first, Description: "mine"})
		inside := f.AddNetwork(openstack.NetworkSpec{Name: "inside"})
		subnet := f.AddSubnet(openstack.SubnetSpec{Network: inside, CIDR: "10.1.0.0/24"})
		f.AddRouter(openstack.RouterSpec{Name: "second", External: network, Subnets: []string{subnet}})
		f.lb = f.addBalancer(subnet)
	}
}

// raw is a response with a body.
func raw(body string) simserver.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}

// A response that is lost is no reason to create a second floating IP: the next sync finds
// it by its port.
func TestLostResponse(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simserver.Fault{
		"Proxy": openstack.ProxyAfter(http.StatusGatewayTimeout), "Cut": simserver.DropResponse(), "Unreadable": applied(`{"floatingip": {`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{}, nil)
			vip, _ := f.vip()
			f.Interceptor().Inject(opCreate, simserver.Nth(1), fault)
			f.Interceptor().Reset()
			got := f.sync(t)
			if !errors.Is(got.err, apierr.ErrUnavailable) || len(got.warnings) > 0 || got.address.String() != vip {
				t.Errorf("error %v, warnings %v, address %s", got.err, got.warnings, got.address)
			}
			f.wantCalls(t, "it is not sent again", map[string]int{opList: 1, opCreate: 1})
			f.Interceptor().Reset()
			got = f.sync(t)
			if got.err != nil || got.address.String() != "198.51.100.11" {
				t.Errorf("the next sync: %v, address %s", got.err, got.address)
			}
			f.wantCalls(t, "it is found", map[string]int{opList: 1})
			f.wantFloatingIPs(t, "one only", "198.51.100.11 on "+vip+", ours")
		})
	}
}

// applied is a call that is carried out, with another response.
func applied(body string) simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		openstack.ProxyAfter(http.StatusGatewayTimeout)(discard{http.Header{}}, r, apply)
		raw(body)(w, r, apply)
	}
}

// discard drops a response.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// TestShortList (OS-LB-14): a list lacks the floating IP of the load balancer, which the look
// at the published address finds. Nothing is requested, and the address stays.
func TestShortList(t *testing.T) {
	t.Parallel()
	const addr = "198.51.100.15"
	f := newFixture(t, openstack.Options{}, annotated{request.AnnotationLoadBalancerAddress: addr})
	f.give(true, addr, "mine")
	vip, _ := f.vip()
	f.Interceptor().Inject(opList, simserver.Nth(1), raw(`{"floatingips": []}`))
	f.Interceptor().Reset()
	got := f.sync(t)
	if got.err != nil || got.checked != nil || got.address.String() != addr {
		t.Errorf("%v, %v, address %s", got.checked, got.err, got.address)
	}
	f.wantCalls(t, "it is found by its address", map[string]int{opList: 2})
	f.wantFloatingIPs(t, "nothing is changed", addr+" on "+vip)
}
