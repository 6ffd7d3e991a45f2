//go:build openstackservices

package openstack

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	guid "github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	suite "github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/routes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// TestServicesRoutes (OS-ROUTE-2 to OS-ROUTE-9) runs the suite of all providers over routes in
// the Neutron of the real services, with and without the extensions that change how they are
// made. The kinds without one are shorter: only the list of extensions is not that of the
// services.
func TestServicesRoutes(t *testing.T) {
	cases := map[string]struct {
		without []string
		create  int
	}{
		"all extensions": {nil, 3},
		"no atomic":      {[]string{"extraroute-atomic"}, 5},
		"no pairs":       {[]string{"allowed-address-pairs"}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			suite.Run(t, suite.Adapter{
				Provider:    ProviderName,
				NewCloud:    func(t testing.TB) suite.Cloud { return newServicesRoutes(t, tc.without) },
				Without:     suite.Capabilities{ColdStart: tc.without != nil, FaultInjection: tc.without != nil},
				Budget:      suite.Budget{Routes: 20, List: 2, Create: tc.create},
				Timeout:     5 * servicesRequest,
				NoticeTime:  time.Minute,
				FaultPoints: 3,
				How:         suite.How{Serial: true},
			})
		})
	}
}

// servicesRequest bounds a request of the provider in cases in which there is no response.
const servicesRequest = 10 * time.Second

// servicesRoutes is the test cloud of the suite for routes: a network with a router in the
// project. Its machines are ports: Nova has no part in routes.
type servicesRoutes struct {
	*realServices
	routedNodes

	without           []string // extensions
	networkID, router string
	subnets           []string
	ports             map[string]string // IDs by the provider IDs of their machines
}

var _ suite.Cloud = (*servicesRoutes)(nil)

func newServicesRoutes(t testing.TB, without []string) *servicesRoutes {
	t.Helper()
	a := &servicesRoutes{realServices: startServices(t), without: without, ports: map[string]string{}}
	a.gateway.withoutExtensions = without
	ctx := t.Context()
	n, err := networks.Create(ctx, a.Network, networks.CreateOpts{Name: "conformance"}).Extract()
	must(t, err)
	a.networkID = n.ID
	t.Cleanup(a.clear)
	r, err := routers.Create(ctx, a.Network, routers.CreateOpts{Name: "conformance"}).Extract()
	must(t, err)
	a.router = r.ID
	for _, opts := range []subnets.CreateOpts{
		{CIDR: "10.9.0.0/16", GatewayIP: new("10.9.0.1"), IPVersion: gophercloud.IPv4},
		{CIDR: "fd00:9::/64", GatewayIP: new("fd00:9::ffff"), IPVersion: gophercloud.IPv6},
	} {
		opts.NetworkID, opts.EnableDHCP = a.networkID, new(false)
		subnet, err := subnets.Create(ctx, a.Network, opts).Extract()
		must(t, err)
		if _, err := routers.AddInterface(ctx, a.Network, a.router, routers.AddInterfaceOpts{SubnetID: subnet.ID}).Extract(); err != nil {
			t.Fatal(err)
		}
		a.subnets = append(a.subnets, subnet.ID)
	}

	return a
}

// clear deletes the network with all that is in it.
func (a *servicesRoutes) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
	defer cancel()
	var errs []error
	if a.router != "" {
		_, err := routers.Update(ctx, a.Network, a.router, routers.UpdateOpts{Routes: new([]routers.Route{})}).Extract()
		errs = append(errs, err)
		for _, id := range a.subnets {
			_, err := routers.RemoveInterface(ctx, a.Network, a.router, routers.RemoveInterfaceOpts{SubnetID: id}).Extract()
			errs = append(errs, err)
		}
		errs = append(errs, routers.Delete(ctx, a.Network, a.router).ExtractErr())
	}
	for _, port := range a.allPorts(ctx) {
		errs = append(errs, ports.Delete(ctx, a.Network, port.ID).ExtractErr())
	}
	errs = append(errs, networks.Delete(ctx, a.Network, a.networkID).ExtractErr())
	if err := errors.Join(errs...); err != nil {
		a.t.Errorf("clear: %v", err)
	}
}

// allPorts lists the ports of the network.
func (a *servicesRoutes) allPorts(ctx context.Context) []ports.Port {
	pages, err := ports.List(a.Network, ports.ListOpts{NetworkID: a.networkID}).AllPages(ctx)
	if err == nil {
		var all []ports.Port
		if all, err = ports.ExtractPorts(pages); err == nil {
			return all
		}
	}
	a.t.Error(err)

	return nil
}

// routes lists the routes of the router.
func (a *servicesRoutes) routes() []routers.Route {
	r, err := routers.Get(context.Background(), a.Network, a.router).Extract()
	if err != nil {
		a.t.Error(err)

		return nil
	}

	return r.Routes
}

// Connect makes the provider of the cluster.
func (a *servicesRoutes) Connect(t testing.TB) cloudprovider.Interface { return a.ConnectAs(t, "") }

// ConnectAs makes the provider. Routes do not depend on the name of the cluster.
func (a *servicesRoutes) ConnectAs(t testing.TB, _ string) cloudprovider.Interface {
	t.Helper()
	times := hasty()
	times.client.Dial = a.gateway.server.Dial
	times.client.LoginTimeout = servicesRequest

	return a.connect(t, a.global+"[Metadata]\nrequest-timeout = "+servicesRequest.String()+"\n"+routerSection(a.router), times)
}

// Create makes a port as Nova does for a server.
func (a *servicesRoutes) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	var ips []ports.IP
	for _, ip := range slices.Concat(m.IPs, m.IPv6) {
		ips = append(ips, ports.IP{IPAddress: ip})
	}
	id := guid.NewString()
	port, err := ports.Create(t.Context(), a.Network, ports.CreateOpts{
		NetworkID: a.networkID, FixedIPs: ips, DeviceID: id, DeviceOwner: "compute:nova",
	}).Extract()
	must(t, err)
	ref := instance.Ref{ProviderID: "openstack:///" + id, SystemUUID: id, NodeName: m.Name}
	a.ports[ref.ProviderID] = port.ID

	return ref
}

// Delete deletes the port.
func (a *servicesRoutes) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	must(t, ports.Delete(t.Context(), a.Network, a.ports[ref.ProviderID]).ExtractErr())
}

// SetPower does nothing: Neutron has no power states.
func (*servicesRoutes) SetPower(testing.TB, instance.Ref, conformance.Power) {}

// Routes returns routes with the machine that receives their traffic: one whose port may
// have it.
func (a *servicesRoutes) Routes() []suite.Route {
	receivers := map[string]ports.Port{}
	for _, port := range a.allPorts(context.Background()) {
		for _, ip := range port.FixedIPs {
			receivers[ip.IPAddress] = port
		}
	}
	var all []suite.Route
	for _, found := range a.routes() {
		if !inCluster(found.DestinationCIDR) {
			continue
		}
		route := suite.Route{CIDR: found.DestinationCIDR}
		port, ok := receivers[found.NextHop]
		paired := slices.ContainsFunc(port.AllowedAddressPairs, func(p ports.AddressPair) bool { return p.IPAddress == found.DestinationCIDR })
		if ok && (paired || slices.Contains(a.without, "allowed-address-pairs")) {
			route.ProviderID = "openstack:///" + port.DeviceID
		}
		all = append(all, route)
	}

	return all
}

// Resources lists the routes and address pairs in the ranges of Pods.
func (a *servicesRoutes) Resources() []string {
	return a.describe(inCluster)
}

// describe lists routes and address pairs by their destinations.
func (a *servicesRoutes) describe(of func(cidr string) bool) []string {
	var lines []string
	for _, route := range a.routes() {
		if of(route.DestinationCIDR) {
			lines = append(lines, "route to "+route.DestinationCIDR+" via "+route.NextHop)
		}
	}
	for _, port := range a.allPorts(context.Background()) {
		for _, pair := range port.AllowedAddressPairs {
			if of(pair.IPAddress) {
				lines = append(lines, "pair "+pair.IPAddress+" of "+port.FixedIPs[0].IPAddress)
			}
		}
	}
	slices.Sort(lines)

	return lines
}

// SeedDecoys creates routes to a port that is no Node, and to addresses that no port has.
func (a *servicesRoutes) SeedDecoys(t testing.TB) (describe func() []string) {
	t.Helper()
	_, err := ports.Create(t.Context(), a.Network, ports.CreateOpts{
		NetworkID: a.networkID, FixedIPs: []ports.IP{{IPAddress: "10.9.200.1"}}, AllowedAddressPairs: []ports.AddressPair{{IPAddress: "192.168.7.0/24"}},
	}).Extract()
	must(t, err)
	decoys := append(a.routes(), []routers.Route{
		{DestinationCIDR: "0.0.0.0/0", NextHop: "10.9.200.1"},
		{DestinationCIDR: "192.168.7.0/24", NextHop: "10.9.200.1"},
		{DestinationCIDR: "10.245.1.0/24", NextHop: "10.9.200.2"},
		{DestinationCIDR: "fd00:245::/64", NextHop: "fd00:9::eeee"},
	}...)
	if _, err := routers.Update(t.Context(), a.Network, a.router, routers.UpdateOpts{Routes: &decoys}).Extract(); err != nil {
		t.Fatal(err)
	}

	return func() []string { return a.describe(func(cidr string) bool { return !inCluster(cidr) }) }
}
