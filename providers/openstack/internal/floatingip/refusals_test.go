package floatingip_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// OS-LB-12: what Neutron refuses has its own text, is sent once, and leaves the load
// balancer with its VIP.
func TestRefusals(t *testing.T) {
	t.Parallel()
	once := map[string]int{opList: 1, opCreate: 1}
	withAddress := map[string]int{opList: 2, opCreate: 1}
	for name, tc := range map[string]struct {
		reason      string
		options     openstack.Options
		annotations annotated
		wanted      string // spec.loadBalancerIP
		prepare     func(t *testing.T, f *fixture)
		want        error
		warning     service.Reason
		message     string
		calls       map[string]int
		kept        bool // that there is no warning, as the load balancer may have one
	}{
		"Quota":          {reason: "409 of a quota", options: openstack.Options{Quotas: openstack.Quotas{FloatingIPs: 1}}, prepare: func(_ *testing.T, f *fixture) { f.give(false, "", "mine") }, want: apierr.ErrQuota, warning: change.QuotaExceeded, message: "the quota of floating IPs of the project is used up", calls: once},
		"Exhausted":      {reason: "409 of a network without addresses", prepare: fill, want: apierr.ErrConflict, message: "has no free address", calls: once},
		"ExhaustedOld":   {reason: "400 of old releases", options: openstack.Options{Profile: openstack.Bare}, prepare: emptyNetwork, want: apierr.ErrConflict, message: "has no free address", calls: once},
		"SubnetsFull":    {reason: "all of them are tried", annotations: annotated{request.AnnotationFloatingSubnet: "*"}, prepare: twoFull, want: apierr.ErrConflict, message: "or the selected subnet, has no free address", calls: map[string]int{opList: 1, opCreate: 2}},
		"ExactAddress":   {reason: "403 for who may not choose", wanted: "198.51.100.15", want: apierr.ErrDenied, message: "the project may not choose the address of a floating IP. Have an administrator create a floating IP 198.51.100.15", calls: withAddress},
		"AddressUsed":    {reason: "a floating IP of another project", wanted: "198.51.100.15", prepare: ofOther, want: apierr.ErrConflict, message: "198.51.100.15 of spec.loadBalancerIP is in use, maybe in another project", calls: withAddress},
		"AddressOutside": {reason: "none of the network", wanted: "192.0.2.1", prepare: asAdmin, want: apierr.ErrInvalid, message: "192.0.2.1 of spec.loadBalancerIP is not one of external network", calls: withAddress},
		"NoRouter":       {reason: "404 without a router", prepare: unrouted, want: apierr.ErrInvalid, message: "no router connects the subnet of VIP 10.9.0.", calls: once},
		"NoRouterAgain":  {reason: "the same for one that exists", wanted: "198.51.100.15", prepare: unroutedFree, want: apierr.ErrInvalid, message: "no router connects the subnet of VIP 10.9.0.", calls: map[string]int{opList: 2, opUpdate: 1}},
		"VIPOutside":     {reason: "the VIP is public itself", prepare: outside, want: apierr.ErrInvalid, message: "Set annotation " + string(internal) + "=true", calls: once},
		"NoNetwork":      {reason: "a network that does not exist", annotations: annotated{request.AnnotationFloatingNetworkID: missing}, want: apierr.ErrInvalid, message: "external network " + missing + " does not exist, or the project cannot see it", calls: once},
		"NotExternal":    {reason: "a network that is not external", prepare: notExternal, want: apierr.ErrInvalid, message: "Neutron refuses it (Bad floatingip request: Network", calls: once},
		"NoSubnet":       {reason: "a subnet that does not exist", annotations: annotated{request.AnnotationFloatingSubnetID: missing}, want: apierr.ErrInvalid, message: "has no such subnet", calls: once},
		"ForeignSubnet":  {reason: "an invisible subnet of another network", prepare: foreignSubnet, want: apierr.ErrInvalid, message: "Neutron refuses it (Invalid input for operation", calls: once},
		"NoPort":         {reason: "a user has deleted the VIP port", prepare: func(_ *testing.T, f *fixture) { _, port := f.vip(); f.DeletePort(port) }, want: apierr.ErrInvalid, message: "was deleted, which Octavia does not repair", calls: once},
		"Denied":         {reason: "the role may not have any", prepare: denied, want: apierr.ErrDenied, message: "the project may not have floating IPs", calls: once},
		"Meanwhile":      {reason: "a user was faster", prepare: meanwhile, want: apierr.ErrConflict, calls: once, kept: true},
		"Unavailable": {reason: "nothing was refused", prepare: func(_ *testing.T, f *fixture) {
			f.Interceptor().Inject(opCreate, simserver.Always(), openstack.Proxy(503, ""))
		}, want: apierr.ErrUnavailable, calls: once, kept: true},
		"Throttled": {reason: "nothing was refused", prepare: func(_ *testing.T, f *fixture) {
			f.Interceptor().Inject(opCreate, simserver.Always(), openstack.Throttled(""))
		}, want: apierr.ErrThrottled, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tc.options, tc.annotations)
			f.service.Spec.LoadBalancerIP = tc.wanted
			if tc.prepare != nil {
				tc.prepare(t, f)
			}
			vip, _ := f.vip()
			f.Interceptor().Reset()
			got := f.sync(t)
			if !errors.Is(got.err, tc.want) || errors.Is(got.err, apierr.ErrNotFound) || !strings.Contains(got.err.Error(), strings.Split(tc.message, " (")[0]) {
				t.Errorf("%s: error %v, want %v", tc.reason, got.err, tc.want)
			}
			reason := tc.warning
			if reason == "" && !tc.kept {
				reason = floatingip.Refused
			}
			if !warned(got.warnings, reason, tc.message) {
				t.Errorf("%s: warnings %v", tc.reason, got.warnings)
			}
			if reason != "" && len(got.warnings) == 1 && (!strings.HasPrefix(got.warnings[0].Message, "The load balancer has no floating IP, its address is "+vip+": ") || strings.Contains(got.warnings[0].Message, "req-")) {
				t.Errorf("%s: the warning must say what is left, and be the same each time: %v", tc.reason, got.warnings)
			}
			if got.checked != nil || got.address.String() != vip {
				t.Errorf("%s: check %v, address %s", tc.reason, got.checked, got.address)
			}
			if tc.calls != nil {
				f.wantCalls(t, tc.reason, tc.calls)
			}
		})
	}
}

// fill takes all addresses of the external network.
func fill(_ *testing.T, f *fixture) {
	for range 10 {
		f.give(false, "", "mine")
	}
}

// emptyNetwork adds an external network without IPv4 addresses.
func emptyNetwork(_ *testing.T, f *fixture) {
	f.service.Annotations[string(request.AnnotationFloatingNetworkID)] = f.AddNetwork(openstack.NetworkSpec{Name: "empty", External: true})
}

// twoFull adds an external network with two subnets without a free address.
func twoFull(t *testing.T, f *fixture) {
	t.Helper()
	subnets("a", "198.18.0.0/30", "198.18.0.2-198.18.0.2", "b", "198.19.0.0/30", "198.19.0.2-198.19.0.2")(t, f)
}

func ofOther(t *testing.T, f *fixture) {
	t.Helper()
	asAdmin(t, f)
	f.AddFloatingIP(openstack.FloatingIPSpec{Network: f.external, Address: "198.51.100.15", Project: openstack.ProjectOther})
}

// unrouted puts the VIP into a network without a router.
func unrouted(_ *testing.T, f *fixture) {
	f.lb = f.addBalancer(f.AddSubnet(openstack.SubnetSpec{Network: f.AddNetwork(openstack.NetworkSpec{Name: "alone"}), CIDR: "10.9.0.0/24"}))
}

func unroutedFree(t *testing.T, f *fixture) {
	t.Helper()
	unrouted(t, f)
	f.give(false, "198.51.100.15", "mine")
}

// outside puts the VIP into the external network.
func outside(_ *testing.T, f *fixture) { f.lb = f.addBalancer(f.outside) }

func notExternal(_ *testing.T, f *fixture) {
	f.service.Annotations[string(request.AnnotationFloatingNetworkID)] = f.network
}

func foreignSubnet(_ *testing.T, f *fixture) {
	other := f.AddNetwork(openstack.NetworkSpec{Name: "other", External: true})
	f.service.Annotations[string(request.AnnotationFloatingNetworkID)] = f.external
	f.service.Annotations[string(request.AnnotationFloatingSubnetID)] = f.AddSubnet(openstack.SubnetSpec{Network: other, CIDR: "203.0.113.0/24"})
}

func denied(_ *testing.T, f *fixture) {
	f.Interceptor().Inject(opCreate, simserver.Always(), openstack.Denied())
}

// meanwhile gives the VIP a floating IP between the look and the creation.
func meanwhile(_ *testing.T, f *fixture) {
	f.Interceptor().Inject(opCreate, simserver.Nth(1), simserver.Before(func() { f.give(true, "", "mine") }))
}

// What leads to no place for a floating IP is an error of it alone.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason      string
		annotations annotated
		fault       simserver.Fault
		want        error
		message     string
	}{
		"Invisible": {reason: "no subnet can be seen", annotations: annotated{request.AnnotationFloatingSubnet: "a*"}, want: apierr.ErrInvalid, message: "the project cannot see any. Set floating-subnet-id"},
		"Denied":    {reason: "networks cannot be read", fault: openstack.Denied(), want: apierr.ErrDenied, message: "find external network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{}, tc.annotations)
			if tc.fault != nil {
				f.Interceptor().Inject(opNetworks, simserver.Always(), tc.fault)
			}
			got := f.sync(t)
			if got.checked != nil || !errors.Is(got.err, tc.want) || !strings.Contains(got.err.Error(), tc.message) {
				t.Errorf("%s: check %v, steps %v", tc.reason, got.checked, got.err)
			}
			if len(got.plan) != 1 || !got.plan[0].Isolated {
				t.Errorf("%s: other steps must go on: %s", tc.reason, got.plan)
			}
			f.wantCalls(t, tc.reason, map[string]int{opList: 1})
		})
	}
}
