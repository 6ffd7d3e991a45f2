package networks_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/subnetpattern"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// The external network is the first one by ID that has, or may have, IPv4 addresses.
func TestExternal(t *testing.T) {
	t.Parallel()
	const v4, v6 = "198.51.100.0/24", "2001:db8::/64"
	for name, tc := range map[string]struct {
		reason  string
		add     func(f *fixture)
		want    string
		warning service.Reason
		message string
	}{
		"One":       {reason: "hidden to the user that it is external", add: func(f *fixture) { f.addExternal(2, false, v4) }, want: id(2)},
		"Own":       {reason: "all is visible", add: func(f *fixture) { f.addExternal(2, true, v4) }, want: id(2)},
		"Two":       {reason: "the smallest ID, and a way out", add: func(f *fixture) { f.addExternal(3, false, v4); f.addExternal(2, false, v4) }, want: id(2), warning: networks.ExternalNetworkAmbiguous, message: "Network " + id(2) + " is used for floating IPs, the first by ID of 2 external networks. To choose another one, set floating-network-id"},
		"OnlyIPv6":  {reason: "floating IPs are IPv4", add: func(f *fixture) { f.addExternal(2, true, v6); f.addExternal(3, true, v4) }, want: id(3)},
		"Invisible": {reason: "an invisible subnet may be IPv4", add: func(f *fixture) { f.addExternal(2, false, v6); f.addExternal(3, true, v6) }, want: id(2)},
		"NoSubnet":  {reason: "no address at all", add: func(f *fixture) { f.addExternal(2, false); f.addExternal(3, true, v6, v4) }, want: id(3)},
		"None": {
			reason: "a warning, no error", warning: request.ExternalNetworkSearchFailed, message: "no external network with an IPv4 subnet",
			add: func(f *fixture) {
				f.addExternal(2, true, v6)
				f.AddSubnet(openstack.SubnetSpec{Network: f.AddNetwork(openstack.NetworkSpec{Name: "private"}), CIDR: "10.0.0.0/24"})
				f.AddSubnet(openstack.SubnetSpec{Network: f.AddNetwork(openstack.NetworkSpec{Name: "shared", Shared: true}), CIDR: "10.1.0.0/24"})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			tc.add(f)
			for range 2 {
				got, warnings, err := f.External(bounded(t), in(id(1)))
				if got != tc.want || err != nil {
					t.Errorf("%s: got %q, %v, want %q", tc.reason, got, err, tc.want)
				}
				if tc.warning == "" != (len(warnings) == 0) || len(warnings) == 1 && (warnings[0].Reason != tc.warning || !strings.Contains(warnings[0].Message, tc.message)) {
					t.Errorf("%s: warnings %v", tc.reason, warnings)
				}
			}
			if query := f.Requests(opNetworks)[0].Query; query.Get("router:external") != "true" || !slices.Contains(query["fields"], "subnets") {
				t.Errorf("%s: networks are not filtered by Neutron: %v", tc.reason, query)
			}
			reads := 1
			if tc.want == "" {
				reads = 2
			}
			f.wantCalls(t, "only a success is kept", map[string]int{opNetworks: reads, opSubnets: reads})
		})
	}
}

// A choice is kept for ten minutes, an error is not.
func TestExternalAge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.addExternal(3, false, "198.51.100.0/24")
	f.Interceptor().Inject(opNetworks, simserver.Nth(1), openstack.Denied())
	f.Interceptor().Inject(opSubnets, simserver.Nth(1), openstack.Denied())
	for range 2 {
		got, warnings, err := f.External(bounded(t), in(id(1)))
		if got != "" || warnings != nil || !errors.Is(err, apierr.ErrDenied) {
			t.Errorf("a failed read proves nothing: %q, %v, %v", got, warnings, err)
		}
	}
	check := func(reason, want string) {
		t.Helper()
		if got, _, err := f.External(bounded(t), in(id(1))); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", reason, got, err, want)
		}
	}
	check("the first choice", id(3))
	f.addExternal(2, false, "203.0.113.0/24")
	f.tick(networks.DefaultMaxAge - time.Second)
	check("it is kept", id(3))
	f.tick(2 * time.Second)
	check("it is read again", id(2))
	f.wantCalls(t, "two failures, two results", map[string]int{opNetworks: 4, opSubnets: 3})
}

// A subnet is refused only if it is seen in another network.
func TestCheckSubnet(t *testing.T) {
	t.Parallel()
	const visible, hidden = 4, 5
	for name, tc := range map[string]struct {
		reason string
		subnet int
		fault  simserver.Fault
		want   error
		calls  int
	}{
		"Same":        {reason: "it is of the network", subnet: visible, calls: 1},
		"Other":       {reason: "it is of another network", subnet: visible, want: apierr.ErrInvalid, calls: 1},
		"Invisible":   {reason: "Neutron decides", subnet: hidden, calls: 1},
		"Missing":     {reason: "that looks the same", subnet: 9, calls: 1},
		"Forbidden":   {reason: "Neutron decides", subnet: visible, fault: openstack.Denied(), calls: 1},
		"Unavailable": {reason: "nothing is known", subnet: visible, fault: openstack.Proxy(503, ""), want: apierr.ErrUnavailable, calls: 2},
		"Proxy404":    {reason: "nothing is known", subnet: visible, fault: openstack.Proxy(404, ""), want: apierr.ErrUnavailable, calls: 2},
		"NoID":        {reason: "no path of a URL", want: apierr.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			network, foreign := f.addExternal(2, true), f.addExternal(3, false)
			f.AddSubnet(openstack.SubnetSpec{ID: id(visible), Network: network, CIDR: "198.51.100.0/24"})
			f.AddSubnet(openstack.SubnetSpec{ID: id(hidden), Network: foreign, CIDR: "203.0.113.0/24"})
			if name == "Other" {
				network = foreign
			}
			if tc.fault != nil {
				f.Interceptor().Inject(opSubnet, simserver.Always(), tc.fault)
			}
			subnet := id(tc.subnet)
			if tc.subnet == 0 {
				subnet = "x/y"
			}
			for range 2 {
				if err := f.CheckSubnet(bounded(t), subnet, network); !errors.Is(err, tc.want) {
					t.Errorf("%s: error %v, want %v", tc.reason, err, tc.want)
				}
			}
			if tc.subnet == 0 {
				return
			}
			f.wantCalls(t, tc.reason+", for ten minutes", map[string]int{opSubnet: tc.calls})
			f.Interceptor().Clear()
			f.tick(networks.DefaultMaxAge)
			_ = f.CheckSubnet(bounded(t), subnet, network)
			f.wantCalls(t, "it is read again", map[string]int{opSubnet: tc.calls + 1})
		})
	}
}

// The place of a floating IP is read only as far as the settings leave it open.
func TestPlace(t *testing.T) {
	t.Parallel()
	a, err := subnetpattern.ParseName("a")
	must(t, err)
	b, err := subnetpattern.ParseName("b")
	must(t, err)
	subnet := map[bool]string{true: id(4), false: id(5)}
	for name, tc := range map[string]struct {
		reason   string
		wanted   request.FloatingIP
		none     bool
		want     networks.Place
		err      error
		warnings int
		calls    map[string]int
	}{
		"Network":       {reason: "all is set", wanted: request.FloatingIP{NetworkID: id(9)}, want: networks.Place{NetworkID: id(9)}, calls: map[string]int{opNetworks: 0, opSubnets: 0, opSubnet: 0}},
		"Found":         {reason: "the only one", want: networks.Place{NetworkID: id(2)}, calls: map[string]int{opNetworks: 1, opSubnets: 1, opSubnet: 0}},
		"Subnet":        {reason: "it is checked", wanted: request.FloatingIP{SubnetID: subnet[true]}, want: networks.Place{NetworkID: id(2), SubnetIDs: []string{subnet[true]}}, calls: map[string]int{opSubnet: 1}},
		"WrongSubnet":   {reason: "it is of another network", wanted: request.FloatingIP{NetworkID: id(3), SubnetID: subnet[true]}, err: apierr.ErrInvalid, calls: map[string]int{opSubnet: 1, opNetworks: 0}},
		"HiddenSubnet":  {reason: "Neutron decides", wanted: request.FloatingIP{NetworkID: id(3), SubnetID: subnet[false]}, want: networks.Place{NetworkID: id(3), SubnetIDs: []string{subnet[false]}}},
		"Selected":      {reason: "by name", wanted: request.FloatingIP{NetworkID: id(2), Subnets: a}, want: networks.Place{NetworkID: id(2), SubnetIDs: []string{subnet[true]}}, calls: map[string]int{opSubnets: 1}},
		"NotSelected":   {reason: "no such name", wanted: request.FloatingIP{NetworkID: id(2), Subnets: b}, err: apierr.ErrInvalid},
		"WantedAddress": {reason: "an address needs no subnet", wanted: request.FloatingIP{NetworkID: id(2), Subnets: b, Address: target("x", "198.51.100.9").Address}, want: networks.Place{NetworkID: id(2)}, calls: map[string]int{opSubnets: 0}},
		"None":          {reason: "no network: subnets do not count", none: true, wanted: request.FloatingIP{SubnetID: subnet[true]}, warnings: 1, calls: map[string]int{opSubnet: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			if !tc.none {
				f.AddSubnet(openstack.SubnetSpec{ID: subnet[true], Network: f.addExternal(2, true), CIDR: "198.51.100.0/24", Name: "a"})
				f.AddNetwork(openstack.NetworkSpec{ID: id(3), Name: "closed", Project: openstack.ProjectOther})
				f.AddSubnet(openstack.SubnetSpec{ID: subnet[false], Network: id(3), CIDR: "203.0.113.0/24"})
			}
			got, warnings, err := f.Place(bounded(t), tc.wanted, in(id(1)))
			if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) || len(warnings) != tc.warnings {
				t.Errorf("%s: %v, warnings %v, -want +got:\n%s", tc.reason, err, warnings, diff)
			}
			f.wantCalls(t, tc.reason, tc.calls)
		})
	}
}
