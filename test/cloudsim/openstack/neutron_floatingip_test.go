package openstack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestFloatingIPLife(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	client := s.ccm(t)
	s.port(t, "vip", "10.0.0.50")
	f, err := floatingips.Create(t.Context(), client, floatingips.CreateOpts{
		FloatingNetworkID: s.vars["public"], PortID: s.vars["vip"], Description: "d",
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{f.FloatingIP, f.PortID, f.FixedIP, f.RouterID, f.Status, f.Description}
	if diff := cmp.Diff([]string{"198.51.100.11", s.vars["vip"], "10.0.0.50", s.vars["router"], "ACTIVE", "d"}, got); diff != "" {
		t.Errorf("created with a port (-want +got):\n%s", diff)
	}
	read := func() *floatingips.FloatingIP {
		t.Helper()
		f, err := floatingips.Get(t.Context(), client, f.ID).Extract()
		if err != nil {
			t.Fatal(err)
		}

		return f
	}
	update := func(opts floatingips.UpdateOpts) {
		t.Helper()
		if _, err := floatingips.Update(t.Context(), client, f.ID, opts).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	// gophercloud leaves a nil port out, and sends null for an empty one.
	update(floatingips.UpdateOpts{Description: new("e")})
	if now := read(); now.PortID != s.vars["vip"] || now.Description != "e" {
		t.Errorf("with another description it is %+v, want it associated", now)
	}
	update(floatingips.UpdateOpts{PortID: new("")})
	if now := read(); now.PortID != "" || now.FixedIP != "" || now.RouterID != "" || now.Status != "DOWN" {
		t.Errorf("with port null it is %+v, want it DOWN", now)
	}
	update(floatingips.UpdateOpts{PortID: new(s.vars["vip"])})
	update(floatingips.UpdateOpts{})
	if now := read(); now.PortID != "" {
		t.Errorf("with nothing sent it is %+v, want it disassociated, as in Zed", now)
	}
	update(floatingips.UpdateOpts{PortID: new(s.vars["vip"])})
	s.cloud.DeletePort(s.vars["vip"])
	if now := read(); now.PortID != "" || now.Status != "DOWN" {
		t.Errorf("after its port is gone it is %+v, want it DOWN", now)
	}
	if err := floatingips.Delete(t.Context(), client, f.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	wantNeutronError(t, floatingips.Delete(t.Context(), client, f.ID).ExtractErr(), 404, "FloatingIPNotFound")
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left: %v", leaks)
	}
}

// TestFloatingIPErrors has responses of a Neutron of Zed.
func TestFloatingIPErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.port(t, "vip", "10.0.0.50")
	s.port(t, "two", "10.0.0.51", "10.0.0.52")
	s.vars["isolated"] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["shared"], Project: openstack.ProjectCCM})
	s.vars["only6"] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["private"], IPs: []string{}})
	post := func(attributes string, status int, kind, message string) step {
		return step{method: "POST", path: "floatingips", body: `{"floatingip":{` + attributes + `}}`, status: status, kind: kind, message: message}
	}
	put := func(attributes string, status int, kind, message string) step {
		return step{method: "PUT", path: "floatingips/$f$", body: `{"floatingip":{` + attributes + `}}`, status: status, kind: kind, message: message}
	}
	in := `"floating_network_id":"$public$"`
	made := post(in+`,"port_id":"$vip$"`, 201, "", "")
	made.save = "f"
	s.run(t,
		made,
		post(in+`,"port_id":"$vip$"`, 409, "FloatingIPPortAlreadyAssociated", ""),
		post(in+`,"port_id":"$isolated$"`, 404, "ExternalGatewayForFloatingIPNotFound", "External network $public$ is not reachable from subnet $shared4$.  Therefore, cannot associate Port $isolated$ with a Floating IP."),
		post(in+`,"port_id":"$only6$"`, 400, "BadRequest", "Bad floatingip request: Cannot add floating IP to port $only6$ that has no fixed IPv4 addresses."),
		post(in+`,"port_id":"$two$"`, 400, "BadRequest", "Bad floatingip request: Port $two$ has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP."),
		post(in+`,"port_id":"$two$","fixed_ip_address":"10.0.0.99"`, 400, "BadRequest", "Bad floatingip request: Port $two$ does not have fixed ip 10.0.0.99."),
		post(in+`,"fixed_ip_address":"10.0.0.99"`, 400, "BadRequest", "Bad floatingip request: fixed_ip_address cannot be specified without a port_id."),
		post(in+`,"port_id":"$nowhere$"`, 404, "PortNotFound", "Port $nowhere$ could not be found."),
		post(in+`,"port_id":""`, 400, "HTTPBadRequest", "Invalid input for port_id. Reason: '' is not a valid UUID."),
		post(in+`,"floating_ip_address":"198.51.100.15"`, 403, "PolicyNotAuthorized", "(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy"),
		post(in+`,"floating_ip_address":"foo"`, 400, "HTTPBadRequest", "Invalid input for floating_ip_address. Reason: 'foo' is not a valid IP address."),
		post(in+`,"subnet_id":"$private4$"`, 400, "InvalidInput", "Invalid input for operation: Failed to create port on network $public$, because fixed_ips included invalid subnet $private4$."),
		post(in+`,"subnet_id":"$nowhere$"`, 404, "SubnetNotFound", ""),
		post(`"floating_network_id":"$private$"`, 400, "BadRequest", "Bad floatingip request: Network $private$ is not a valid external network."),
		post(`"floating_network_id":"$nowhere$"`, 404, "NetworkNotFound", ""),
		post(``, 400, "HTTPBadRequest", "Failed to parse request. Required attribute 'floating_network_id' not specified"),
		put(`"port_id":""`, 400, "HTTPBadRequest", "Invalid input for port_id. Reason: '' is not a valid UUID."),
		put(`"fixed_ip_address":"10.0.0.50"`, 400, "BadRequest", "Bad floatingip request: fixed_ip_address cannot be specified without a port_id."),
		put(`"floating_ip_address":"1.2.3.4"`, 400, "HTTPBadRequest", "Cannot update read-only attribute floating_ip_address"),
		put(`"port_id":"$nowhere$"`, 404, "PortNotFound", ""),
		put(`"port_id":"$two$","fixed_ip_address":"10.0.0.52"`, 200, "", ""),
		step{user: openstack.UserOther, method: "PUT", path: "floatingips/$f$", body: `{"floatingip":{"port_id":null}}`, status: 404, kind: "FloatingIPNotFound", message: "Floating IP $f$ could not be found"},
		// What needs the floating IP stays.
		step{method: "PUT", path: "routers/$router$/remove_router_interface", body: `{"subnet_id":"$private4$"}`, status: 409, kind: "RouterInterfaceInUseByFloatingIP", message: "Router interface for subnet $private4$ on router $router$ cannot be deleted, as it is required by one or more floating IPs."},
		step{method: "PUT", path: "routers/$router$", body: `{"router":{"external_gateway_info":{}}}`, status: 409, kind: "RouterExternalGatewayInUseByFloatingIp", message: "Gateway cannot be updated for router $router$, since a gateway to external network $public$ is required by one or more floating IPs."},
	)
	admin := post(in+`,"floating_ip_address":"198.51.100.11"`, 409, "IpAddressAlreadyAllocated", "")
	admin.user = openstack.UserAdmin
	outside := post(in+`,"floating_ip_address":"192.0.2.1"`, 400, "InvalidIpForNetwork", "")
	outside.user = openstack.UserAdmin
	exact := post(in+`,"floating_ip_address":"198.51.100.15"`, 201, "", "")
	exact.user = openstack.UserAdmin
	s.run(t, admin, outside, exact, post(in+`,"subnet_id":"$public4$"`, 201, "", ""))
}

func TestFloatingIPLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	create := step{method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"$public$"}}`, status: 201}
	s.cloud.SetQuotas(openstack.ProjectCCM, openstack.Quotas{FloatingIPs: 1})
	over := create
	over.status, over.kind, over.message = 409, "OverQuota", "Quota exceeded for resources: ['floatingip']."
	s.run(t, create, over)
	s.cloud.SetQuotas(openstack.ProjectCCM, openstack.Quotas{})
	for range 9 { // of 11 addresses, the router has one
		s.run(t, create)
	}
	exhausted := create
	exhausted.status, exhausted.kind = 409, "IpAddressGenerationFailure"
	exhausted.message = "No more IP addresses available on network $public$."
	s.run(t, exhausted)
	s.vars["empty"] = s.cloud.AddNetwork(openstack.NetworkSpec{Name: "empty", External: true})
	s.run(t, step{
		method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"$empty$"}}`,
		status: 400, kind: "BadRequest", message: "Bad floatingip request: Network $empty$ does not contain any IPv4 subnet.",
	})
	if n := len(s.cloud.Leaks()); n != 10 {
		t.Errorf("%d floating IPs are left, want 10: those that failed leave nothing", n)
	}
}
