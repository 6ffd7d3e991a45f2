package openstack

import (
	"net/http"
	"slices"
)

// extensionNames are the extensions of Neutron by their alias, as in a typical cloud
// of the Zed release (neutron: extensions).
var extensionNames = []struct{ alias, name string }{
	{"allowed-address-pairs", "Allowed Address Pairs"},
	{"binding", "Port Binding"},
	{"empty-string-filtering", "Empty String Filtering Extension"},
	{"ext-gw-mode", "Neutron L3 Configurable external gateway mode"},
	{"external-net", "Neutron external network"},
	{"extra_dhcp_opt", "Neutron Extra DHCP options"},
	{"extraroute", "Neutron Extra Route"},
	{"extraroute-atomic", "Atomically add/remove extra routes"},
	{"filter-validation", "Filter parameters validation"},
	{"fip-port-details", "Floating IP Port Details Extension"},
	{"ip-substring-filtering", "IP address substring filtering"},
	{"l3-port-ip-change-not-allowed", "Prevent L3 router ports IP address change extension"},
	{"net-mtu", "Network MTU"},
	{"pagination", "Pagination support"},
	{"port-security", "Port Security"},
	{"port-security-groups-filtering", "Port filtering on security groups"},
	{"project-id", "project_id field enabled"},
	{"provider", "Provider Network"},
	{"quotas", "Quota management support"},
	{"quota_details", "Quota details management support"},
	{"revision-if-match", "If-Match constraints based on revision_number"},
	{"router", "Neutron L3 Router"},
	{"security-group", "security-group"},
	{"security-groups-normalized-cidr", "Normalized CIDR field for security group rules"},
	{"sorting", "Sorting support"},
	{"standard-attr-description", "standard-attr-description"},
	{"standard-attr-revisions", "Resource revision numbers"},
	{"standard-attr-tag", "Tag support for resources with standard attribute: port, subnet, network, router, floatingip, policy, security_group, trunk"},
	{"standard-attr-timestamp", "Resource timestamps"},
	{"stateful-security-group", "Stateful security group"},
	{"trunk", "Trunk Extension"},
	{"trunk-details", "Trunk port details"},
}

// bareExtensions are those of profile Bare: what a cloud cannot be without.
var bareExtensions = []string{
	"binding", "external-net", "ext-gw-mode", "provider", "quotas", "router", "security-group",
}

// extensionAttributes are the attributes that come with an extension.
var extensionAttributes = map[string]string{
	"tags": "standard-attr-tag", "revision_number": "standard-attr-revisions",
	"created_at": "standard-attr-timestamp", "updated_at": "standard-attr-timestamp",
	"port_security_enabled": "port-security", "allowed_address_pairs": "allowed-address-pairs",
	"trunk_details": "trunk-details", "routes": "extraroute", "port_details": "fip-port-details",
	"normalized_cidr": "security-groups-normalized-cidr", "mtu": "net-mtu", "stateful": "stateful-security-group",
	"extra_dhcp_opts": "extra_dhcp_opt",
}

// SetWithoutExtensions takes extensions from Neutron, by their alias, in all
// regions: their attributes are neither in responses nor accepted, and what they
// serve is 404. Those of an earlier call are there again.
func (c *Cloud) SetWithoutExtensions(aliases ...string) {
	c.inspect(func() {
		for _, alias := range aliases {
			if !slices.ContainsFunc(extensionNames, func(e struct{ alias, name string }) bool { return e.alias == alias }) {
				panic("openstack: no extension " + alias)
			}
		}
		for _, r := range c.regions {
			r.neutron.without = slices.Clone(aliases)
		}
	})
}

// extension reports whether there is an extension.
func (s *neutronState) extension(c *Cloud, alias string) bool {
	if c.opts.Profile == Bare && !slices.Contains(bareExtensions, alias) {
		return false
	}

	return !slices.Contains(s.without, alias)
}

func listExtensions(k *call) (response, error) {
	rows := []object{}
	for _, e := range extensionNames {
		if k.region.neutron.extension(k.cloud, e.alias) {
			rows = append(rows, object{
				"alias": e.alias, "name": e.name, "description": e.name, "updated": "2016-01-01T00:00:00-00:00", "links": []link{},
			})
		}
	}

	return found("extensions", only(rows, k.query["fields"]))
}

func showExtension(k *call) (response, error) {
	for _, e := range extensionNames {
		if e.alias == k.path("id") && k.region.neutron.extension(k.cloud, e.alias) {
			return found("extension", object{
				"alias": e.alias, "name": e.name, "description": e.name, "updated": "2016-01-01T00:00:00-00:00", "links": []link{},
			})
		}
	}

	return response{}, fail(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
}

// needs wraps a handler that only an extension serves.
func needs(alias string, handle handler) handler {
	return func(k *call) (response, error) {
		if !k.region.neutron.extension(k.cloud, alias) {
			return response{}, k.service.missing
		}

		return handle(k)
	}
}
