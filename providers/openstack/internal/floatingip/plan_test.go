package floatingip_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// The floating IPs of the plans, by name: on the VIP, on another address or port, or free.
func named(name string) *client.FloatingIP {
	all := map[string]client.FloatingIP{
		"ours":      {Address: "198.51.100.5", PortID: "port", FixedAddress: "10.0.0.9", Description: description},
		"former":    {Address: "198.51.100.6", PortID: "port", FixedAddress: "10.0.0.9", Description: formerly},
		"user":      {Address: "198.51.100.7", PortID: "port", FixedAddress: "10.0.0.9"},
		"second":    {Address: "198.51.100.8", PortID: "port", FixedAddress: "10.0.0.10"},
		"elsewhere": {Address: "198.51.100.9", PortID: "other", FixedAddress: "10.0.0.9", Description: description},
		"free":      {Address: "198.51.100.20", NetworkID: "net"},
		"left":      {Address: "198.51.100.20", NetworkID: "net", Description: description},
		"used":      {Address: "198.51.100.20", NetworkID: "net", PortID: "other"},
		"abroad":    {Address: "198.51.100.20", NetworkID: "a-net"},
	}
	f := all[name]
	f.ID = name

	return &f
}

// inputs are what a plan is made from.
type inputs struct {
	associated, existing string // names of floating IPs, separated by blanks
	vip                  string // 10.0.0.9 if it is empty
	annotations          annotated
	wanted               string // spec.loadBalancerIP
	family               v1.IPFamily
	shared               bool
	kept                 string // the published VIP
	place                networks.Place
	placeErr             error
}

// make returns the desired and the observed state.
func (in inputs) make(t *testing.T) (*floatingip.Desired, *floatingip.Observed) {
	t.Helper()
	svc := kubetest.Service("shop", "web")
	for name, value := range in.annotations {
		svc.Annotations[string(name)] = value
	}
	svc.Spec.LoadBalancerIP = in.wanted
	if in.family != "" {
		svc.Spec.IPFamilies = []v1.IPFamily{in.family}
	}
	r, _, err := request.ForUpdate(svc, nil, request.Settings{ClusterName: "kube"})
	must(t, err)
	d := floatingip.Build(r, !in.shared)
	d.Place, d.PlaceErr = in.place, in.placeErr
	if in.kept != "" {
		d.Kept = netip.MustParseAddr(in.kept)
	}
	vip := in.vip
	if vip == "" {
		vip = "10.0.0.9"
	}
	o, err := floatingip.From(&client.LoadBalancerInfo{LBObject: client.LBObject{ID: "lb"}, VIPAddress: vip, VIPPortID: "port"}, all(in.associated), d)
	must(t, err)
	o.Existing = all(in.existing)

	return d, o
}

func all(names string) []*client.FloatingIP {
	var found []*client.FloatingIP
	for _, name := range plan.Sorted(strings.Fields(names)) {
		found = append(found, named(name))
	}

	return found
}

// The plan of each case, as it is printed.
func TestPlans(t *testing.T) {
	t.Parallel()
	net := networks.Place{NetworkID: "net"}
	published := annotated{request.AnnotationLoadBalancerAddress: "198.51.100.20"}
	noPlace := apierr.Mark(apierr.ErrInvalid, errors.New("no subnet"))
	for name, tc := range map[string]struct {
		reason string
		inputs
		want    string
		warning service.Reason
		// place is whether the plan needs to know where a floating IP comes from.
		place bool
	}{
		"Create":           {reason: "there is none", inputs: inputs{place: net}, place: true, want: "create floating IP for VIP 10.0.0.9 on port port from network net, description \"" + description + "\"\n"},
		"CreateInSubnets":  {reason: "one of them", inputs: inputs{place: networks.Place{NetworkID: "net", SubnetIDs: []string{"b", "a"}}}, place: true, want: "create floating IP for VIP 10.0.0.9 on port port from network net, subnet b or a, description \"" + description + "\"\n"},
		"CreateAddress":    {reason: "there is none with the address", inputs: inputs{place: net, wanted: "198.51.100.20"}, place: true, want: "create floating IP for VIP 10.0.0.9 on port port from network net, address 198.51.100.20, description \"" + description + "\"\n"},
		"NoNetwork":        {reason: "nothing to create it from", place: true, warning: request.ForcedInternal},
		"NoPlace":          {reason: "an error where it is needed", inputs: inputs{placeErr: noPlace}, place: true, want: "refuse: no subnet\n"},
		"PlaceNotNeeded":   {reason: "no error where it is not", inputs: inputs{placeErr: noPlace, associated: "user"}},
		"Kept":             {reason: "it is published", inputs: inputs{kept: "10.0.0.9", place: net}, warning: floatingip.AddressKept},
		"KeptOther":        {reason: "the load balancer has another VIP", inputs: inputs{kept: "10.0.0.8", place: net}, place: true, want: "create floating IP for VIP 10.0.0.9 on port port from network net, description \"" + description + "\"\n"},
		"KeptNetwork":      {reason: "the user names a network", inputs: inputs{kept: "10.0.0.9", place: net, annotations: annotated{request.AnnotationFloatingNetworkID: missing}}, place: true, want: "create floating IP for VIP 10.0.0.9 on port port from network net, description \"" + description + "\"\n"},
		"KeptAddress":      {reason: "the user names an address", inputs: inputs{kept: "10.0.0.9", wanted: "198.51.100.20", existing: "free"}, want: "associate floating IP 198.51.100.20 (free) with VIP 10.0.0.9 on port port\n"},
		"KeptUser":         {reason: "a user has associated one", inputs: inputs{kept: "10.0.0.9", associated: "user"}},
		"KeptShared":       {reason: "only the owner keeps it", inputs: inputs{kept: "10.0.0.9", shared: true, place: net}, want: "refuse: load balancer lb: " + floatingip.ErrShared.Error() + "\n"},
		"KeptInternal":     {reason: "nothing is public", inputs: inputs{kept: "10.0.0.9", annotations: annotated{internal: "true"}}},
		"Ours":             {reason: "it is used", inputs: inputs{associated: "ours", place: net}},
		"User":             {reason: "it is used", inputs: inputs{associated: "user", place: net}},
		"Both":             {reason: "both stay", inputs: inputs{associated: "ours user", place: net}},
		"SecondAddress":    {reason: "it is for another address of the port", inputs: inputs{associated: "second elsewhere", place: net}, place: true, want: "create floating IP for VIP 10.0.0.9 on port port from network net, description \"" + description + "\"\n"},
		"Address":          {reason: "it is associated", inputs: inputs{existing: "free", wanted: "198.51.100.20"}, want: "associate floating IP 198.51.100.20 (free) with VIP 10.0.0.9 on port port\n"},
		"AddressUsed":      {reason: "it is not taken away", inputs: inputs{existing: "used", wanted: "198.51.100.20"}, want: "refuse: floating IP 198.51.100.20 of spec.loadBalancerIP is in use: it is associated with port other\n"},
		"AddressOfNetwork": {reason: "the one from the network", inputs: inputs{existing: "abroad free", wanted: "198.51.100.20", annotations: annotated{request.AnnotationFloatingNetworkID: missing}}, want: "associate floating IP 198.51.100.20 (abroad) with VIP 10.0.0.9 on port port\n"},
		"AddressFree":      {reason: "the one that is free", inputs: inputs{existing: "abroad used", wanted: "198.51.100.20"}, want: "associate floating IP 198.51.100.20 (abroad) with VIP 10.0.0.9 on port port\n"},
		"AddressIgnored":   {reason: "there is another one", inputs: inputs{associated: "user", wanted: "198.51.100.20"}, warning: floatingip.AddressIgnored},
		"AddressThere":     {reason: "it is there", inputs: inputs{associated: "ours user", wanted: "198.51.100.7"}},
		"Left":             {reason: "it was that of the Service", inputs: inputs{existing: "left", annotations: published}, want: "associate floating IP 198.51.100.20 (left) with VIP 10.0.0.9 on port port\n"},
		"NotLeft":          {reason: "a user made it", inputs: inputs{existing: "free", annotations: published, place: net}, place: true, want: "create floating IP for VIP 10.0.0.9 on port port from network net, description \"" + description + "\"\n"},
		"Internal":         {reason: "nothing is public", inputs: inputs{annotations: annotated{internal: "true"}}},
		"InternalAll":      {reason: "ours are deleted, others stay", inputs: inputs{associated: "former ours second user", annotations: annotated{internal: "true"}}, want: "delete floating IP 198.51.100.6 (former)\ndelete floating IP 198.51.100.5 (ours)\ndisassociate floating IP 198.51.100.7 (user)\n"},
		"InternalKept":     {reason: "all stay", inputs: inputs{associated: "ours user", annotations: annotated{internal: "true", keep: "true"}}, want: "disassociate floating IP 198.51.100.5 (ours)\ndisassociate floating IP 198.51.100.7 (user)\n"},
		"InternalShared":   {reason: "they are of others", inputs: inputs{associated: "ours user", shared: true, annotations: annotated{internal: "true"}}},
		"Shared":           {reason: "it is used", inputs: inputs{associated: "user", shared: true}},
		"SharedWithout":    {reason: "only the owner makes one", inputs: inputs{shared: true, place: net, existing: "left", annotations: published}, want: "refuse: load balancer lb: " + floatingip.ErrShared.Error() + "\n"},
		"IPv6":             {reason: "it cannot have one", inputs: inputs{vip: "fd00::9", family: v1.IPv6Protocol, place: net}, warning: request.FloatingIPSkipped},
		"IPv6Shared":       {reason: "it cannot have one", inputs: inputs{vip: "fd00::9", family: v1.IPv6Protocol, shared: true}, warning: request.FloatingIPSkipped},
		"IPv6Internal":     {reason: "it needs none", inputs: inputs{vip: "fd00::9", family: v1.IPv6Protocol, annotations: annotated{internal: "true"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, o := tc.make(t)
			if got := d.NeedsPlace(o); got != tc.place {
				t.Errorf("%s: needs a place: %v, want %v", tc.reason, got, tc.place)
			}
			steps, warnings := floatingip.Diff(o, d)
			if diff := cmp.Diff(tc.want, steps.String()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if !warned(warnings, tc.warning, "") {
				t.Errorf("%s: warnings %v", tc.reason, warnings)
			}
			if (floatingip.Check(o, d) != nil) != (name == "SharedWithout" || name == "KeptShared") {
				t.Errorf("%s: check: %v", tc.reason, floatingip.Check(o, d))
			}
			for _, step := range steps {
				if !step.Isolated || step.Removes != (step.Kind == "DeleteFloatingIP" || step.Kind == "DisassociateFloatingIP") {
					t.Errorf("%s: %s: isolated %v, removes %v", tc.reason, step, step.Isolated, step.Removes)
				}
			}
		})
	}
}

// What is used of several floating IPs, and what is deleted with the load balancer.
func TestSeveral(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		inputs
		current, deleted string
	}{
		"None":      {reason: "the VIP", inputs: inputs{associated: "second elsewhere"}, current: "10.0.0.9"},
		"ByID":      {reason: "always the same", inputs: inputs{associated: "ours user former"}, current: "198.51.100.6", deleted: "delete floating IP 198.51.100.6 (former)\ndelete floating IP 198.51.100.5 (ours)\n"},
		"Published": {reason: "the one that users know", inputs: inputs{associated: "ours former", annotations: annotated{request.AnnotationLoadBalancerAddress: "198.51.100.5"}}, current: "198.51.100.5", deleted: "delete floating IP 198.51.100.5 (ours)\ndelete floating IP 198.51.100.6 (former)\n"},
		"Wanted":    {reason: "the one that is wanted", inputs: inputs{associated: "ours user", wanted: "198.51.100.7", annotations: annotated{request.AnnotationLoadBalancerAddress: "198.51.100.5"}}, current: "198.51.100.7", deleted: "delete floating IP 198.51.100.5 (ours)\n"},
		"Kept":      {reason: "all stay", inputs: inputs{associated: "ours user", annotations: annotated{keep: "true"}}, current: "198.51.100.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, o := tc.make(t)
			if got := o.Address().String(); got != tc.current {
				t.Errorf("%s: address is %s, want %s", tc.reason, got, tc.current)
			}
			existing := request.Existing{Names: d.Request.Names, KeepFloatingIP: d.Request.FloatingIP.Keep}
			if diff := cmp.Diff(tc.deleted, floatingip.DiffDelete(o, existing).String()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A new load balancer needs a place unless it is internal or IPv6.
func TestPlaceOfNew(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		inputs
		want bool
	}{
		"External": {want: true},
		"Internal": {inputs: inputs{annotations: annotated{internal: "true"}}},
		"IPv6":     {inputs: inputs{family: v1.IPv6Protocol}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := tc.make(t)
			if got := d.NeedsPlace(nil); got != tc.want {
				t.Errorf("needs a place: %v", got)
			}
		})
	}
}

// A VIP that cannot be read is an error.
func TestNoVIP(t *testing.T) {
	t.Parallel()
	o, err := floatingip.From(&client.LoadBalancerInfo{VIPPortID: "port", VIPAddress: "x"}, nil, nil)
	if o != nil || !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("got %v, %v", o, err)
	}
}
