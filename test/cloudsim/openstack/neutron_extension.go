package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
)

// extension is an extension of Neutron.
type extension struct{ alias, name, description, updated string }

// allExtensions are the extensions of a typical cloud of the Zed release, as far as
// they have to do with what is simulated (neutron: extensions).
var allExtensions = []extension{
	{"allowed-address-pairs", "Allowed Address Pairs", "Provides allowed address pairs", "2013-07-23T10:00:00-00:00"},
	{"binding", "Port Binding", "Expose port bindings of a virtual port to external application", "2014-02-03T10:00:00-00:00"},
	{"empty-string-filtering", "Empty String Filtering Extension", "Allow filtering by attributes with empty string value", "2018-05-01T10:00:00-00:00"},
	{"ext-gw-mode", "Neutron L3 Configurable external gateway mode", "Extension of the router abstraction for specifying whether SNAT should occur on the external gateway", "2013-03-28T10:00:00-00:00"},
	{"external-net", "Neutron external network", "Adds external network attribute to network resource.", "2013-01-14T10:00:00-00:00"},
	{"extra_dhcp_opt", "Neutron Extra DHCP options", "Extra options configuration for DHCP. For example PXE boot options to DHCP clients can be specified (e.g. tftp-server, server-ip-address, bootfile-name)", "2013-03-17T12:00:00-00:00"},
	{"extraroute", "Neutron Extra Route", "Extra routes configuration for L3 router", "2013-02-01T10:00:00-00:00"},
	{"extraroute-atomic", "Atomically add/remove extra routes", "Edit extra routes of a router on server side by atomically adding/removing extra routes", "2019-07-10T00:00:00+00:00"},
	{"filter-validation", "Filter parameters validation", "Provides validation on filter parameters.", "2018-07-04T10:00:00-00:00"},
	{"fip-port-details", "Floating IP Port Details Extension", "Add port_details attribute to Floating IP resource", "2018-04-09T10:00:00-00:00"},
	{"ip-substring-filtering", "IP address substring filtering", "Provides IP address substring filtering when listing ports", "2017-11-28T09:00:00-00:00"},
	{"l3-port-ip-change-not-allowed", "Prevent L3 router ports IP address change extension", "Prevent change of IP address for some L3 router ports", "2018-10-09T10:00:00-00:00"},
	{"net-mtu", "Network MTU", "Provides MTU attribute for a network resource.", "2015-03-25T10:00:00-00:00"},
	{"pagination", "Pagination support", "Extension that indicates that pagination is enabled.", "2016-06-12T00:00:00-00:00"},
	{"port-security", "Port Security", "Provides port security", "2012-07-23T10:00:00-00:00"},
	{"port-security-groups-filtering", "Port filtering on security groups", "Provides security groups filtering when listing ports", "2018-01-09T09:00:00-00:00"},
	{"project-id", "project_id field enabled", "Extension that indicates that project_id field is enabled.", "2016-09-09T09:09:09-09:09"},
	{"provider", "Provider Network", "Expose mapping of virtual networks to physical networks", "2012-09-07T10:00:00-00:00"},
	{"quotas", "Quota management support", "Expose functions for quotas management per project", "2012-07-29T10:00:00-00:00"},
	{"quota_details", "Quota details management support", "Expose functions for quotas usage statistics per project", "2017-02-10T10:00:00-00:00"},
	{"revision-if-match", "If-Match constraints based on revision_number", "Extension indicating that If-Match based on revision_number is supported.", "2016-12-11T00:00:00-00:00"},
	{"router", "Neutron L3 Router", "Router abstraction for basic L3 forwarding between L2 Neutron networks and access to external networks via a NAT gateway.", "2012-07-20T10:00:00-00:00"},
	{"security-group", "security-group", "The security groups extension.", "2012-10-05T10:00:00-00:00"},
	{"security-groups-normalized-cidr", "Normalized CIDR field for security group rules", "Add new field with normalized remote_ip_prefix cidr in SG rule", "2020-07-28T10:00:00-00:00"},
	{"sorting", "Sorting support", "Extension that indicates that sorting is enabled.", "2016-06-12T00:00:00-00:00"},
	{"standard-attr-description", "standard-attr-description", "Extension to add descriptions to standard attributes", "2016-02-10T10:00:00-00:00"},
	{"standard-attr-revisions", "Resource revision numbers", "This extension will display the revision number of neutron resources.", "2016-04-11T10:00:00-00:00"},
	{"standard-attr-tag", "Tag support for resources with standard attribute: port, subnet, subnetpool, network, security_group, router, floatingip, policy, trunk, network_segment_range", "Enables to set tag on resources with standard attribute.", "2017-01-01T00:00:00-00:00"},
	{"standard-attr-timestamp", "Resource timestamps", "Adds created_at and updated_at fields to all Neutron resources that have Neutron standard attributes.", "2016-09-12T10:00:00-00:00"},
	{"stateful-security-group", "Stateful security group", "Indicates if the security group is stateful or not", "2019-11-26T09:00:00-00:00"},
	{"trunk", "Trunk Extension", "Provides support for trunk ports", "2016-01-01T10:00:00-00:00"},
	{"trunk-details", "Trunk port details", "Expose trunk port details", "2016-01-01T10:00:00-00:00"},
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
			if !slices.ContainsFunc(allExtensions, func(e extension) bool { return e.alias == alias }) {
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

func (e *extension) document() object {
	return object{"alias": e.alias, "name": e.name, "description": e.description, "updated": e.updated, "links": []link{}}
}

// listExtensions ignores fields.
func listExtensions(k *call) (response, error) {
	rows := []object{}
	for _, e := range allExtensions {
		if k.region.neutron.extension(k.cloud, e.alias) {
			rows = append(rows, e.document())
		}
	}

	return found("extensions", rows)
}

func showExtension(k *call) (response, error) {
	for _, e := range allExtensions {
		if e.alias == k.path("id") && k.region.neutron.extension(k.cloud, e.alias) {
			return found("extension", e.document())
		}
	}
	body, err := json.Marshal(object{
		"code": "404 Not Found", "title": "Not Found",
		"message": "The resource could not be found.<br /><br />\nExtension with alias " + k.path("id") + " does not exist\n\n",
	})
	if err != nil {
		return response{}, err
	}

	return response{}, &apiError{status: http.StatusNotFound, raw: body} // not in the shape of Neutron
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
