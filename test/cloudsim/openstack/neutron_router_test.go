package openstack_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func routesOf(t *testing.T, s *site) []routers.Route {
	t.Helper()
	r, err := routers.Get(t.Context(), s.ccm(t), s.vars["router"]).Extract()
	if err != nil {
		t.Fatal(err)
	}

	return r.Routes
}

func TestExtraRoutes(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	client, id := s.ccm(t), s.vars["router"]
	first := routers.Route{DestinationCIDR: "10.200.0.0/24", NextHop: "10.0.0.5"}
	second := routers.Route{DestinationCIDR: "10.200.0.0/24", NextHop: "10.0.0.6"}
	add := func(routes ...routers.Route) error {
		_, err := extraroutes.Add(t.Context(), client, id, extraroutes.Opts{Routes: &routes}).Extract()

		return err
	}
	remove := func(routes ...routers.Route) error {
		_, err := extraroutes.Remove(t.Context(), client, id, extraroutes.Opts{Routes: &routes}).Extract()

		return err
	}
	for _, err := range []error{
		add(first), add(second), add(first), // twice the same
		remove(routers.Route{DestinationCIDR: "10.99.0.0/24", NextHop: "10.0.0.6"}), // not there
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]routers.Route{first, second}, routesOf(t, s)); diff != "" {
		t.Errorf("both next hops stay (-want +got):\n%s", diff)
	}
	wantNeutronError(t, add(routers.Route{DestinationCIDR: "10.201.0.0/24", NextHop: "192.0.2.1"}), 400, "InvalidRoutes")
	if err := remove(first); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]routers.Route{second}, routesOf(t, s)); diff != "" {
		t.Errorf("one of the next hops is removed (-want +got):\n%s", diff)
	}
	all := []routers.Route{first}
	if _, err := routers.Update(t.Context(), client, id, routers.UpdateOpts{Routes: &all}).Extract(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, routesOf(t, s)); diff != "" {
		t.Errorf("an update replaces all routes (-want +got):\n%s", diff)
	}
	_, err := routers.RemoveInterface(t.Context(), client, id, routers.RemoveInterfaceOpts{SubnetID: s.vars["private4"]}).Extract()
	wantNeutronError(t, err, 409, "RouterInterfaceInUseByRoute")
	var many []routers.Route
	for i := range 30 {
		many = append(many, routers.Route{DestinationCIDR: fmt.Sprintf("10.100.%d.0/24", i), NextHop: "10.0.0.5"})
	}
	wantNeutronError(t, add(many...), 400, "RoutesExhausted")
	if err := add(many[:29]...); err != nil {
		t.Errorf("30 routes: %v", err)
	}
}

// TestRouterErrors has responses of a Neutron of Zed.
func TestRouterErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	routes := func(routes string, kind, message string) step {
		return step{method: "PUT", path: "routers/$router$", body: `{"router":{"routes":` + routes + `}}`, status: 400, kind: kind, message: message}
	}
	const hop = `[{"destination":"10.200.0.0/24","nexthop":"%s"}]`
	bad := "Invalid input for routes. Reason: "
	s.run(t,
		routes(fmt.Sprintf(hop, "192.0.2.1"), "InvalidRoutes", "Invalid format for routes: [{'destination': '10.200.0.0/24', 'nexthop': '192.0.2.1'}], the nexthop is not connected with router"),
		routes(fmt.Sprintf(hop, "10.0.0.1"), "InvalidRoutes", "Invalid format for routes: [{'destination': '10.200.0.0/24', 'nexthop': '10.0.0.1'}], the nexthop is used by router"),
		routes(fmt.Sprintf(hop, "foo"), "HTTPBadRequest", bad+"'foo' is not a valid IP address."),
		routes(`[{"destination":"foo","nexthop":"10.0.0.5"}]`, "HTTPBadRequest", bad+"'foo' is not a valid CIDR."),
		routes(`[{"destination":"10.200.0.1/24","nexthop":"10.0.0.5"}]`, "HTTPBadRequest", bad+"'10.200.0.1/24' is not a recognized CIDR, '10.200.0.0/24' is recommended."),
		routes(`[{"destination":"10.200.0.0/24","nexthop":"10.0.0.5"},{"destination":"10.200.0.0/24","nexthop":"10.0.0.5"}]`, "HTTPBadRequest", bad+"Duplicate hostroute '{'destination': '10.200.0.0/24', 'nexthop': '10.0.0.5'}'."),
		routes(`[{"destination":"10.200.0.0/24"}]`, "HTTPBadRequest", bad+"Validation of dictionary's keys failed. Expected keys: {'destination', 'nexthop'} Provided keys: {'destination'}."),
		step{method: "PUT", path: "routers/$router$", body: `{"router":{"routes":null}}`, status: 200},
		step{method: "PUT", path: "routers/$nowhere$/add_extraroutes", body: `{"router":{"routes":[]}}`, status: 404, kind: "RouterNotFound", message: "Router $nowhere$ could not be found"},
		step{method: "PUT", path: "routers/$router$/add_extraroutes", body: `{"router":{}}`, status: 500, kind: "HTTPInternalServerError"},
		// Here routes are checked less than in an update.
		step{method: "PUT", path: "routers/$router$/add_extraroutes", body: `{"router":{"routes":[{"destination":"foo","nexthop":"10.0.0.5"}]}}`, status: 400, kind: "AddrFormatError", message: "invalid IPNetwork foo"},
		step{method: "PUT", path: "routers/$router$/add_extraroutes", body: `{"router":{"routes":[{"destination":"10.200.0.0/24"}]}}`, status: 500, kind: "HTTPInternalServerError"},
		step{method: "PUT", path: "routers/$router$/add_extraroutes", body: `{"router":{"routes":[{"destination":"10.200.0.1/24","nexthop":"10.0.0.5"},{"destination":"10.201.0.0","nexthop":"10.0.0.5"}]}}`, status: 200},
		step{user: openstack.UserReader, method: "PUT", path: "routers/$router$/remove_extraroutes", body: `{"router":{"routes":[]}}`, status: 403, kind: "PolicyNotAuthorized"},
		step{user: openstack.UserOther, method: "GET", path: "routers/$router$", status: 404, kind: "RouterNotFound"},
		step{method: "POST", path: "routers", body: `{"router":{"external_gateway_info":{"network_id":"$private$"}}}`, status: 400, kind: "BadRequest", message: "Bad router request: Network $private$ is not an external network."},
		step{method: "POST", path: "routers", body: `{"router":{"external_gateway_info":{"network_id":"$nowhere$"}}}`, status: 404, kind: "NetworkNotFound"},
		step{method: "POST", path: "routers", body: `{"router":{"external_gateway_info":{"network_id":"$public$","enable_snat":false}}}`, status: 403, kind: "PolicyNotAuthorized", message: "(rule:create_router and (rule:create_router:external_gateway_info and (rule:create_router:external_gateway_info:network_id and rule:create_router:external_gateway_info:enable_snat))) is disallowed by policy"},
		step{method: "PUT", path: "routers/$router$/add_router_interface", body: `{"subnet_id":"$private4$"}`, status: 400, kind: "BadRequest", message: "Bad router request: Router already has a port on subnet $private4$."},
		step{method: "PUT", path: "routers/$router$/add_router_interface", body: `{}`, status: 400, kind: "BadRequest", message: "Bad router request: Either subnet_id or port_id must be specified."},
		step{method: "PUT", path: "routers/$router$/add_router_interface", body: `{"subnet_id":"$nowhere$"}`, status: 404, kind: "SubnetNotFound"},
		step{method: "PUT", path: "routers/$router$/remove_router_interface", body: `{"port_id":"$nowhere$"}`, status: 404, kind: "RouterInterfaceNotFound", message: "Router $router$ does not have an interface with id $nowhere$"},
		step{method: "PUT", path: "routers/$router$/remove_router_interface", body: `{"subnet_id":"$shared4$"}`, status: 404, kind: "RouterInterfaceNotFoundForSubnet", message: "Router $router$ has no interface on subnet $shared4$"},
		step{method: "DELETE", path: "routers/$router$", status: 409, kind: "RouterInUse"},
	)
}

func TestRouterPortsAreProtected(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	for _, id := range s.cloud.ServerPorts(s.vars["router"]) {
		p, _ := s.cloud.Port(id)
		s.vars["p"], s.vars["owner"] = id, p.DeviceOwner
		s.run(t, step{user: openstack.UserOperator, method: "DELETE", path: "ports/$p$", status: 409, kind: "ServicePortInUse", message: "Port $p$ cannot be deleted directly via the port API: has device owner $owner$."})
	}
	s.run(t, step{
		user: openstack.UserOperator, method: "PUT", path: "ports/$p$", body: `{"port":{"fixed_ips":[{"ip_address":"10.0.0.9"}]}}`,
		status: 400, kind: "BadRequest", message: "Bad ports request: IP updates for port $p$ are not allowed.",
	})
}

func TestRouterLife(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	client := s.ccm(t)
	r, err := routers.Create(t.Context(), client, routers.CreateOpts{Name: "r", GatewayInfo: &routers.GatewayInfo{NetworkID: s.vars["public"]}}).Extract()
	if err != nil || len(r.GatewayInfo.ExternalFixedIPs) != 1 {
		t.Fatalf("%+v, %v, want a gateway with an address", r, err)
	}
	s.vars["r"] = r.ID
	s.run(t,
		step{method: "POST", path: "networks", body: `{"network":{"name":"n"}}`, status: 201, save: "n"},
		step{method: "POST", path: "subnets", body: `{"subnet":{"network_id":"$n$","ip_version":4,"cidr":"10.1.0.0/24"}}`, status: 201, save: "s"},
	)
	added, err := routers.AddInterface(t.Context(), client, r.ID, routers.AddInterfaceOpts{SubnetID: s.vars["s"]}).Extract()
	if err != nil || added.SubnetID != s.vars["s"] || added.PortID == "" {
		t.Fatalf("%+v, %v", added, err)
	}
	if p, _ := s.cloud.Port(added.PortID); p.DeviceOwner != "network:router_interface" || !cmp.Equal(p.IPs, []string{"10.1.0.1"}) {
		t.Errorf("the interface is %+v, want the gateway address", p)
	}
	if _, err := routers.RemoveInterface(t.Context(), client, r.ID, routers.RemoveInterfaceOpts{SubnetID: s.vars["s"]}).Extract(); err != nil {
		t.Error(err)
	}
	if err := routers.Delete(t.Context(), client, r.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	s.run(t, step{method: "DELETE", path: "networks/$n$", status: 204})
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left: %v", leaks)
	}
}
