package openstack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsecurity"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// addresses returns the addresses of a port.
func addresses(p *ports.Port) []string {
	var all []string
	for _, ip := range p.FixedIPs {
		all = append(all, ip.IPAddress)
	}

	return all
}

func TestPortAddresses(t *testing.T) {
	t.Parallel()
	slaac := "slaac" // stands for the address that follows from the MAC address
	cases := map[string]struct {
		reason string
		ips    any
		want   []string
	}{
		"any":     {"one of each IP version", nil, []string{"10.0.0.2", slaac}},
		"subnet":  {"a stateless subnet always adds an address", []ports.IP{{SubnetID: "$private4$"}}, []string{"10.0.0.2", slaac}},
		"address": {"", []ports.IP{{IPAddress: "10.0.0.77"}}, []string{"10.0.0.77", slaac}},
		"several": {"", []ports.IP{{IPAddress: "10.0.0.77"}, {SubnetID: "$private4$"}}, []string{"10.0.0.77", "10.0.0.2", slaac}},
		"none":    {"not even an empty list keeps it away", []ports.IP{}, []string{slaac}},
		"only v6": {"", []ports.IP{{SubnetID: "$private6$"}}, []string{slaac}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, openstack.Options{})
			if ips, ok := tc.ips.([]ports.IP); ok {
				for i := range ips {
					ips[i].SubnetID = s.fill(ips[i].SubnetID)
				}
			}
			p, err := ports.Create(t.Context(), s.ccm(t), ports.CreateOpts{NetworkID: s.vars["private"], FixedIPs: tc.ips}).Extract()
			if err != nil {
				t.Fatal(err)
			}
			got := addresses(p)
			last := len(got) - 1
			// fa:16:3e:xx:yy:zz becomes fd00:1::f816:3eff:fexx:yyzz.
			if strings.HasPrefix(got[last], "fd00:1::f816:3eff:fe") {
				got[last] = slaac
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if p.Status != "DOWN" || p.DeviceOwner != "" || len(p.SecurityGroups) != 1 {
				t.Errorf("the port is %+v, want it DOWN, without a device owner and in the group default", p)
			}
		})
	}
}

// TestPortErrors has responses of a Neutron of Zed.
func TestPortErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.port(t, "p", "10.0.0.50")
	long := strings.Repeat("x", 256)
	post := func(attributes string, status int, kind, message string) step {
		return step{method: "POST", path: "ports", body: `{"port":` + attributes + `}`, status: status, kind: kind, message: message}
	}
	s.run(t,
		step{method: "POST", path: "ports", body: `{`, status: 400, kind: "HTTPBadRequest", message: "Body contains invalid data"},
		step{method: "POST", path: "ports", body: `{}`, status: 400, kind: "HTTPBadRequest", message: "Unable to find 'port' in request body"},
		post(`{"name":"x"}`, 400, "HTTPBadRequest", "Failed to parse request. Required attribute 'network_id' not specified"),
		post(`{"network_id":"$private$","foo":1}`, 400, "HTTPBadRequest", "Unrecognized attribute(s) 'foo'"),
		post(`{"network_id":"$private$","status":"ACTIVE"}`, 400, "HTTPBadRequest", "Attribute 'status' not allowed in POST"),
		post(`{"network_id":"nope"}`, 400, "HTTPBadRequest", "Invalid input for network_id. Reason: 'nope' is not a valid UUID."),
		post(`{"network_id":"$nowhere$"}`, 404, "NetworkNotFound", "Network $nowhere$ could not be found."),
		post(`{"network_id":"$private$","name":"`+long+`"}`, 400, "HTTPBadRequest", "Invalid input for name. Reason: '"+long+"' exceeds maximum length of 255."),
		post(`{"network_id":"$private$","name":1}`, 400, "HTTPBadRequest", "Invalid input for name. Reason: '1' is not a valid string."),
		post(`{"network_id":"$private$","mac_address":"zz"}`, 400, "HTTPBadRequest", "Invalid input for mac_address. Reason: 'zz' is not a valid MAC address."),
		post(`{"network_id":"$private$","tenant_id":"foo"}`, 400, "HTTPBadRequest", "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges"),
		post(`{"network_id":"$private$","fixed_ips":[{"ip_address":"foo","subnet_id":"$private4$"}]}`, 400, "HTTPBadRequest", "Invalid input for fixed_ips. Reason: 'foo' is not a valid IP address."),
		post(`{"network_id":"$private$","fixed_ips":[{"ip_address":"10.78.0.1"}]}`, 400, "InvalidIpForNetwork", "IP address 10.78.0.1 is not a valid IP for any of the subnets on the specified network."),
		post(`{"network_id":"$private$","fixed_ips":[{"ip_address":"10.78.0.1","subnet_id":"$private4$"}]}`, 400, "InvalidIpForSubnet", "IP address 10.78.0.1 is not a valid IP for the specified subnet."),
		post(`{"network_id":"$private$","fixed_ips":[{"ip_address":"10.0.0.0","subnet_id":"$private4$"}]}`, 400, "InvalidIpForSubnet", ""),
		post(`{"network_id":"$private$","fixed_ips":[{"ip_address":"fd00:1::5","subnet_id":"$private6$"}]}`, 400, "AllocationOnAutoAddressSubnet", "IPv6 address fd00:1::5 cannot be directly assigned to a port on subnet $private6$ as the subnet is configured for automatic addresses"),
		post(`{"network_id":"$private$","fixed_ips":[{"subnet_id":"$shared4$"}]}`, 400, "InvalidInput", "Invalid input for operation: Failed to create port on network $private$, because fixed_ips included invalid subnet $shared4$."),
		post(`{"network_id":"$private$","fixed_ips":[{"subnet_id":"$nowhere$"}]}`, 404, "SubnetNotFound", "Subnet $nowhere$ could not be found."),
		post(`{"network_id":"$private$","fixed_ips":[{"ip_address":"10.0.0.50"}]}`, 409, "IpAddressAlreadyAllocated", "IP address 10.0.0.50 already allocated in subnet $private4$"),
		post(`{"network_id":"$private$","security_groups":["$nowhere$"]}`, 404, "SecurityGroupNotFound", "Security group $nowhere$ does not exist"),
		post(`{"network_id":"$private$","security_groups":["nope"]}`, 400, "HTTPBadRequest", "Invalid input for security_groups. Reason: 'nope' is not a valid UUID."),
	)
	for _, verb := range []step{
		{method: "GET", status: 404},
		{method: "PUT", body: `{"port":{"name":"x"}}`, status: 404},
		{method: "DELETE", status: 404},
	} {
		verb.path, verb.kind = "ports/$p$", "PortNotFound"
		verb.user, verb.message = openstack.UserOther, "Port $p$ could not be found."
		s.run(t, verb)
		verb.path, verb.user, verb.message = "ports/xx", "", "Port xx could not be found."
		s.run(t, verb)
	}
	s.run(t,
		step{method: "PUT", path: "ports/$p$", body: `{"port":{"id":"x"}}`, status: 400, kind: "HTTPBadRequest", message: "Cannot update read-only attribute id"},
		step{method: "PUT", path: "ports/$p$", body: `{"port":{"network_id":"$private$"}}`, status: 400, kind: "HTTPBadRequest", message: "Cannot update read-only attribute network_id"},
		step{method: "PATCH", path: "ports/$p$", status: 405, kind: "HTTPMethodNotAllowed"},
		step{method: "GET", path: "nothing", status: 404, kind: "HTTPNotFound", message: "The resource could not be found."},
	)
}

// TestPortPolicies has what each role and each owner may do.
func TestPortPolicies(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.port(t, "p")
	s.vars["admins"] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["private"], Name: "by-admin", Project: openstack.ProjectAdmin})
	s.vars["on-shared"] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["shared"], Project: openstack.ProjectCCM})
	denied := func(rule string) string { return rule + " is disallowed by policy" }
	post := func(attributes string, rule string) step {
		return step{method: "POST", path: "ports", body: `{"port":{"network_id":"$shared$",` + attributes + `}}`, status: 403, kind: "PolicyNotAuthorized", message: denied("(rule:create_port and " + rule + ")")}
	}
	s.run(t,
		step{user: openstack.UserReader, method: "GET", path: "ports/$p$", status: 200},
		step{user: openstack.UserReader, method: "PUT", path: "ports/$p$", body: `{"port":{"name":"x"}}`, status: 403, kind: "PolicyNotAuthorized", message: denied("rule:update_port")},
		step{user: openstack.UserReader, method: "DELETE", path: "ports/$p$", status: 403, kind: "PolicyNotAuthorized", message: denied("rule:delete_port")},
		step{user: openstack.UserReader, method: "POST", path: "floatingips", body: `{}`, status: 403, kind: "PolicyNotAuthorized", message: denied("rule:create_floatingip")},
		step{user: openstack.UserReader, method: "DELETE", path: "security-group-rules/x", status: 403, kind: "PolicyNotAuthorized", message: denied("rule:delete_security_group_rule")},
		// In the networks of others only their owners choose.
		post(`"device_owner":"network:dhcp"`, "rule:create_port:device_owner"),
		post(`"fixed_ips":[{"ip_address":"10.90.0.200"}]`, "(rule:create_port:fixed_ips and (rule:create_port:fixed_ips:ip_address))"),
		post(`"port_security_enabled":false`, "rule:create_port:port_security_enabled"),
		post(`"mac_address":"fa:16:3e:11:22:33"`, "rule:create_port:mac_address"),
		step{method: "PUT", path: "ports/$on-shared$", body: `{"port":{"allowed_address_pairs":[{"ip_address":"10.200.0.0/24"}]}}`, status: 403, kind: "PolicyNotAuthorized", message: denied("(rule:update_port and rule:update_port:allowed_address_pairs)")},
		step{method: "POST", path: "ports", body: `{"port":{"network_id":"$public$"}}`, status: 403, kind: "HTTPForbidden", message: "Tenant $ccm$ not allowed to create port on this network"},
		step{method: "PUT", path: "ports/$p$", body: `{"port":{"mac_address":"fa:16:3e:11:22:33"}}`, status: 403, kind: "PolicyNotAuthorized", message: denied("(rule:update_port and rule:update_port:mac_address)")},
		step{method: "POST", path: "ports", body: `{"port":{"network_id":"$private$","binding:host_id":"x"}}`, status: 403, kind: "PolicyNotAuthorized", message: denied("(rule:create_port and rule:create_port:binding:host_id)")},
		// The owner of the network may read the ports of others in it, and cannot change them.
		step{method: "GET", path: "ports/$admins$", status: 200},
		step{method: "PUT", path: "ports/$admins$", body: `{"port":{"security_groups":[]}}`, status: 403, kind: "PolicyNotAuthorized", message: denied("rule:update_port")},
	)
	s.cloud.SetPortsOfOthers(false)
	s.run(t,
		step{method: "GET", path: "ports?name=by-admin", status: 200},
		step{method: "PUT", path: "ports/$admins$", body: `{"port":{"security_groups":[]}}`, status: 404, kind: "HTTPNotFound"},
		step{method: "DELETE", path: "ports/$admins$", status: 404, kind: "HTTPNotFound"},
	)
	if got := s.call(t, openstack.UserCCM, "GET", "ports/$admins$", ""); got.status != 404 || got.object()["name"] != "by-admin" {
		t.Errorf("%d %v, want 404 with the port", got.status, got.body)
	}
	if got := s.call(t, openstack.UserCCM, "GET", "ports?name=by-admin", "").rows(); len(got) > 0 {
		t.Errorf("the list has %v", got)
	}
	if _, ok := s.call(t, openstack.UserCCM, "GET", "ports/$p$", "").object()["binding:host_id"]; ok {
		t.Error("a user can read binding:host_id")
	}
	if _, ok := s.call(t, openstack.UserOperator, "GET", "ports/$p$", "").object()["binding:host_id"]; !ok {
		t.Error("an administrator does not see binding:host_id")
	}
}

func TestPortSecurityAndAddressPairs(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.port(t, "p")
	s.vars["open"] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["private"], NoPortSecurity: true})
	s.vars["group"] = s.cloud.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "nodes"})
	put := func(port, attributes string, status int, kind, message string) step {
		return step{method: "PUT", path: "ports/" + port, body: `{"port":{` + attributes + `}}`, status: status, kind: kind, message: message}
	}
	pairs := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"ip_address":"10.200.%d.0/24"}`, i)
		}

		return `"allowed_address_pairs":[` + strings.Join(all, ",") + `]`
	}
	s.run(t,
		put("$open$", `"security_groups":["$group$"]`, 400, "PortSecurityAndIPRequiredForSecurityGroups", "Port security must be enabled and port must have an IP address in order to use security groups."),
		put("$open$", pairs(1), 409, "AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port."),
		put("$p$", pairs(11), 400, "AllowedAddressPairExhausted", "The number of allowed address pair exceeds the maximum 10."),
		put("$p$", `"allowed_address_pairs":[{"ip_address":"10.0.0.0/24"},{"ip_address":"10.0.0.0/24"}]`, 400, "DuplicateAddressPairInRequest", "Request contains duplicate address pair: mac_address None ip_address 10.0.0.0/24."),
		put("$p$", `"allowed_address_pairs":[{"ip_address":"foo"}]`, 400, "HTTPBadRequest", "'foo' is not a valid IP address"),
		put("$p$", `"allowed_address_pairs":[{}]`, 400, "AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address"),
		put("$p$", pairs(10), 200, "", ""),
		put("$p$", `"port_security_enabled":false`, 409, "AddressPairAndPortSecurityRequired", ""),
		put("$p$", `"port_security_enabled":false,"allowed_address_pairs":[]`, 409, "PortSecurityPortHasSecurityGroup", ""),
		put("$p$", `"port_security_enabled":false,"allowed_address_pairs":[],"security_groups":[]`, 200, "", ""),
		put("$p$", `"port_security_enabled":true,"security_groups":["$group$"]`, 200, "", ""),
		put("$p$", `"security_groups":["$nowhere$"]`, 404, "SecurityGroupNotFound", ""),
		put("$p$", `"security_groups":null`, 200, "", ""),
	)
	updated, err := ports.Update(t.Context(), s.ccm(t), s.vars["p"], ports.UpdateOpts{
		AllowedAddressPairs: &[]ports.AddressPair{{IPAddress: "10.0.0.1/24"}, {IPAddress: "fd00::/64", MACAddress: "fa:16:3e:00:00:01"}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	want := []ports.AddressPair{{IPAddress: "fd00::/64", MACAddress: "fa:16:3e:00:00:01"}, {IPAddress: "10.0.0.1/24", MACAddress: updated.MACAddress}}
	if updated.MACAddress < "fa:16:3e:00:00:01" {
		want[0], want[1] = want[1], want[0]
	}
	if diff := cmp.Diff(want, updated.AllowedAddressPairs); diff != "" {
		t.Errorf("host bits stay, the MAC address is that of the port by default (-want +got):\n%s", diff)
	}
	var open struct {
		ports.Port
		portsecurity.PortSecurityExt
	}
	if err := ports.Get(t.Context(), s.ccm(t), s.vars["open"]).ExtractInto(&open); err != nil || open.PortSecurityEnabled || len(open.SecurityGroups) > 0 {
		t.Errorf("a port without port security is %+v, %v", open, err)
	}
}

func TestPortRevisions(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	id := s.port(t, "p")
	update := func(name string, revision int) error {
		_, err := ports.Update(t.Context(), s.ccm(t), id, ports.UpdateOpts{Name: &name, RevisionNumber: &revision}).Extract()

		return err
	}
	revision := func() int {
		p, err := ports.Get(t.Context(), s.ccm(t), id).Extract()
		if err != nil {
			t.Fatal(err)
		}

		return p.RevisionNumber
	}
	read := revision()
	if err := update("a", read); err != nil {
		t.Fatalf("an update of the revision that was read: %v", err)
	}
	wantNeutronError(t, update("b", read), 412, "RevisionNumberConstraintFailed")
	read = revision()
	s.cloud.TouchPort(id)
	wantNeutronError(t, update("c", read), 412, "RevisionNumberConstraintFailed")
	got := s.call(t, openstack.UserCCM, "PUT", "ports/$p$", `{"port":{"name":"d"}}`, "If-Match", "revision_number=99")
	if want := fmt.Sprintf("Constrained to 99, but current revision is %d", revision()); got.message != want {
		t.Errorf("message is %q, want %q", got.message, want)
	}
	if got := s.call(t, openstack.UserCCM, "PUT", "ports/$p$", `{"port":{"name":"d"}}`, "If-Match", "foo"); got.status != 200 {
		t.Errorf("another form of If-Match: %d, want it ignored", got.status)
	}
	if got := s.call(t, openstack.UserCCM, "PUT", "ports/$p$", `{"port":{"name":"d"}}`, "If-Match", "revision_number=latest"); got.status != 400 || got.kind != "BadRequest" {
		t.Errorf("a revision that is no number: %d %s, want 400", got.status, got.kind)
	}
	s.cloud.SetWithoutExtensions("revision-if-match")
	if err := update("e", 99); err != nil {
		t.Errorf("without the extension: %v, want the header ignored", err)
	}
}

func TestNetworkOutOfAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	client := s.ccm(t)
	in, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "small"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	made, err := subnets.Create(t.Context(), client, subnets.CreateOpts{NetworkID: in.ID, CIDR: "10.77.0.0/29", IPVersion: gophercloud.IPv4}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if made.GatewayIP != "10.77.0.1" || made.AllocationPools[0].Start != "10.77.0.2" || made.AllocationPools[0].End != "10.77.0.6" {
		t.Errorf("the subnet is %+v, want the gateway first and all others in the pool", made)
	}
	var last *ports.Port
	for range 5 {
		if last, err = ports.Create(t.Context(), client, ports.CreateOpts{NetworkID: in.ID}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	_, err = ports.Create(t.Context(), client, ports.CreateOpts{NetworkID: in.ID}).Extract()
	wantNeutronError(t, err, 409, "IpAddressGenerationFailure")
	wantNeutronError(t, networks.Delete(t.Context(), client, in.ID).ExtractErr(), 409, "NetworkInUse")
	wantNeutronError(t, subnets.Delete(t.Context(), client, made.ID).ExtractErr(), 409, "SubnetInUse")
	if err := ports.Delete(t.Context(), client, last.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	again, err := ports.Create(t.Context(), client, ports.CreateOpts{NetworkID: in.ID}).Extract()
	if err != nil || again.FixedIPs[0] != last.FixedIPs[0] {
		t.Errorf("%+v, %v, want the address that is free again", again, err)
	}
}

func TestPortQuota(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.cloud.SetQuotas(openstack.ProjectCCM, openstack.Quotas{Ports: 3}) // two are of the router
	s.run(t,
		step{method: "POST", path: "ports", body: `{"port":{"network_id":"$private$"}}`, status: 201},
		step{method: "POST", path: "ports", body: `{"port":{"network_id":"$private$"}}`, status: 409, kind: "OverQuota", message: "Quota exceeded for resources: ['port']."},
	)
}
