package openstack_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// rows returns the names, or else the IDs, in the response to a list, sorted.
func (r neutronResponse) rows() []string {
	names := []string{}
	for key, value := range r.body {
		all, ok := value.([]any)
		if !ok || strings.HasSuffix(key, "_links") {
			continue
		}
		for _, row := range all {
			o, _ := row.(map[string]any)
			name, _ := o["name"].(string)
			if name == "" {
				name, _ = o["id"].(string)
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)

	return names
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	for _, name := range []string{"a", "b", "c"} {
		s.port(t, name)
	}
	s.vars["g"] = s.cloud.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "g"})
	s.cloud.SetPortGroups(s.vars["a"], s.vars["g"])
	s.vars["d"] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["private"], Name: "D", IPs: []string{"10.0.0.99"}, Tags: []string{"x", "y"}})
	s.vars["e"] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["private"], Name: "e", Tags: []string{"x"}})
	cases := map[string]struct {
		reason, query string
		want          []string
	}{
		"several values":    {"of one key are alternatives", "id=$a$&id=$b$&id=nothing", []string{"a", "b"}},
		"several keys":      {"all must match", "id=$a$&id=$b$&name=b", []string{"b"}},
		"without case":      {"as MySQL compares", "name=d", []string{"D"}},
		"address":           {"", "fixed_ips=ip_address%3D10.0.0.99", []string{"D"}},
		"address in subnet": {"both must be of the port", "fixed_ips=ip_address%3D10.0.0.99&fixed_ips=subnet_id%3D$shared4$", []string{}},
		"part of address":   {"", "fixed_ips=ip_address_substr%3D0.99", []string{"D"}},
		"security groups":   {"", "security_groups=$g$", []string{"a"}},
		"tags":              {"all of them", "tags=x,y", []string{"D"}},
		"tags-any":          {"one of them", "tags-any=x,y", []string{"D", "e"}},
		"not-tags":          {"without those that have all", "not-tags=x,y&name=D&name=e&name=a", []string{"a", "e"}},
		"not-tags-any":      {"without those that have one", "not-tags-any=x,y&name=D&name=e&name=a", []string{"a"}},
		"boolean":           {"", "port_security_enabled=False&device_owner=network:router_gateway", []string{}},
		"status":            {"", "status=active&name=a", []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := &site{cloud: s.cloud, vars: s.vars, users: map[string]*gophercloud.ServiceClient{}}
			got := other.call(t, openstack.UserCCM, "GET", "ports?"+tc.query, "").rows()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	s.run(t,
		step{method: "GET", path: "ports?fixed_ips=foo", status: 400, kind: "InvalidInput", message: "Invalid input for operation: 'foo' is not of the form <key>=[value]."},
		step{method: "GET", path: "ports?admin_state_up=foo", status: 400, kind: "InvalidInput", message: "Invalid input for operation: 'foo' cannot be converted to boolean."},
		step{method: "GET", path: "ports?sort_key=name", status: 400, kind: "HTTPBadRequest", message: "The number of sort_keys and sort_dirs must be same"},
		step{method: "GET", path: "ports?sort_key=description&sort_dir=asc", status: 400, kind: "HTTPBadRequest", message: "['description'] is invalid attribute for sort_keys"},
		step{method: "GET", path: "ports?sort_key=name&sort_dir=foo", status: 400, kind: "HTTPBadRequest", message: "['foo'] is invalid value for sort_dirs, valid value is 'asc' and 'desc'"},
		step{method: "GET", path: "security-group-rules?port_range_min=foo", status: 400, kind: "SecurityGroupInvalidPortValue", message: "Invalid value for port foo"},
		step{method: "GET", path: "security-groups?security_group_rules=x", status: 400, kind: "HTTPBadRequest", message: "['security_group_rules'] is invalid attribute for filtering"},
	)
}

func TestUnknownFilters(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		without []string
		profile openstack.Profile
		query   string
		status  int
		rows    int
	}{
		"validated":         {"Zed has filter-validation", nil, openstack.Amphora, "foo=bar", 400, 0},
		"ignored":           {"without it an unknown filter returns everything", []string{"filter-validation"}, openstack.Amphora, "foo=bar", 200, 2},
		"groups":            {"without the extension the filter by groups does", []string{"filter-validation", "port-security-groups-filtering"}, openstack.Amphora, "security_groups=" + nowhere, 200, 2},
		"tags of old cloud": {"", nil, openstack.Bare, "tags=x&port_security_enabled=true", 200, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, openstack.Options{Profile: tc.profile})
			s.cloud.SetWithoutExtensions(tc.without...)
			got := s.call(t, openstack.UserCCM, "GET", "ports?"+tc.query, "")
			if got.status != tc.status || len(got.rows()) != tc.rows {
				t.Errorf("%s: %d %v", tc.reason, got.status, got.body)
			}
		})
	}
}

// TestVisibility has what the lists of each user contain.
func TestVisibility(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.port(t, "ours")
	cases := map[string]struct {
		reason, user, path string
		want               []string
	}{
		"networks":             {"own, shared and external ones", openstack.UserCCM, "networks", []string{"private", "public", "shared"}},
		"networks of others":   {"", openstack.UserOther, "networks", []string{"public", "shared"}},
		"subnets":              {"those of external networks are hidden", openstack.UserCCM, "subnets?name=private-v4&cidr=198.51.100.0/24", []string{}},
		"subnets of operators": {"", openstack.UserOperator, "subnets?cidr=198.51.100.0/24&fields=name", []string{""}},
		"ports of others":      {"", openstack.UserOther, "ports?name=ours", []string{}},
		"ports of operators":   {"of all projects", openstack.UserAdmin, "ports?name=ours", []string{"ours"}},
		"own of operators":     {"only with a filter", openstack.UserAdmin, "ports?name=ours&project_id=$admin$", []string{}},
		"external networks":    {"found by a filter", openstack.UserCCM, "networks?router:external=true", []string{"public"}},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, s.call(t, tc.user, "GET", tc.path, "").rows()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
	s.run(t,
		step{method: "GET", path: "subnets/$public4$", status: 404, kind: "SubnetNotFound", message: "Subnet $public4$ could not be found."},
		step{user: openstack.UserOperator, method: "GET", path: "subnets/$public4$", status: 200},
		step{method: "PUT", path: "networks/$shared$", body: `{"network":{"name":"x"}}`, status: 403, kind: "PolicyNotAuthorized", message: "rule:update_network is disallowed by policy"},
		step{method: "DELETE", path: "networks/$public$", status: 403, kind: "PolicyNotAuthorized", message: "rule:delete_network is disallowed by policy"},
		step{method: "POST", path: "networks", body: `{"network":{"name":"x","router:external":true}}`, status: 403, kind: "PolicyNotAuthorized", message: "(rule:create_network and rule:create_network:router:external) is disallowed by policy"},
		step{method: "POST", path: "networks", body: `{"network":{"name":"x","provider:network_type":"flat"}}`, status: 403, kind: "PolicyNotAuthorized"},
		step{method: "POST", path: "subnets", body: `{"subnet":{"network_id":"$public$","ip_version":4,"cidr":"10.79.0.0/24"}}`, status: 403, kind: "HTTPForbidden", message: "Tenant $ccm$ not allowed to create subnet on this network"},
		step{method: "POST", path: "subnets", body: `{"subnet":{"network_id":"$private$","ip_version":4,"cidr":"10.0.0.0/25"}}`, status: 400, kind: "InvalidInput", message: "Invalid input for operation: Requested subnet with cidr: 10.0.0.0/25 for network: $private$ overlaps with another subnet."},
	)
	// Who does not own the network does not see whether it is external, in spite of the filter.
	if _, ok := s.call(t, openstack.UserCCM, "GET", "networks/$public$", "").object()["router:external"]; ok {
		t.Error("the user ccm can read router:external of the public network")
	}
	for _, user := range []string{openstack.UserCCM, openstack.UserOperator} {
		_, seen := s.call(t, user, "GET", "networks/$private$", "").object()["provider:network_type"]
		if seen != (user == openstack.UserOperator) {
			t.Errorf("%s can read provider:network_type: %t", user, seen)
		}
	}
}

func TestPagesOfPorts(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.port(t, name)
	}
	s.cloud.Interceptor().Reset()
	pages, err := ports.List(s.ccm(t), ports.ListOpts{Limit: 2, NetworkID: s.vars["private"]}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := ports.ExtractPorts(pages)
	if err != nil || len(all) != 7 {
		t.Errorf("%d ports, %v, want 5 and 2 of the router", len(all), err)
	}
	if calls := s.cloud.Interceptor().Calls()["neutron.ListPorts"]; calls != 4 {
		t.Errorf("%d calls, want 4: pages are not full at the end", calls)
	}
	got := s.call(t, openstack.UserCCM, "GET", "ports?sort_key=name&sort_dir=desc&fields=name&device_owner=", "")
	var names []string
	for _, row := range got.body["ports"].([]any) {
		names = append(names, row.(map[string]any)["name"].(string))
	}
	if diff := cmp.Diff([]string{"e", "d", "c", "b", "a"}, names); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	needed := []string{
		"extraroute", "extraroute-atomic", "allowed-address-pairs", "trunk", "trunk-details", "port-security",
		"port-security-groups-filtering", "standard-attr-revisions", "standard-attr-tag",
	}
	cases := map[string]struct {
		reason  string
		profile openstack.Profile
		without []string
		want    []string
	}{
		"amphora": {"", openstack.Amphora, nil, needed},
		"ovn":     {"", openstack.OVN, nil, needed},
		"bare":    {"an old cloud has none of them", openstack.Bare, nil, nil},
		"without": {"", openstack.Amphora, []string{"extraroute-atomic"}, append([]string{"extraroute"}, needed[2:]...)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, openstack.Options{Profile: tc.profile})
			s.cloud.SetWithoutExtensions(tc.without...)
			pages, err := extensions.List(s.ccm(t)).AllPages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all, err := extensions.ExtractExtensions(pages)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, alias := range needed {
				if slices.ContainsFunc(all, func(e extensions.Extension) bool { return e.Alias == alias }) {
					got = append(got, alias)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestExtensionDocuments(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	got := s.call(t, openstack.UserCCM, "GET", "extensions/extraroute-atomic", "").object()
	if got["name"] != "Atomically add/remove extra routes" {
		t.Errorf("the extension is %v", got)
	}
	missing := s.call(t, openstack.UserCCM, "GET", "extensions/foo", "")
	if missing.status != 404 || missing.kind != "" || missing.body["code"] != "404 Not Found" {
		t.Errorf("%d %v, want a response that has not the shape of Neutron", missing.status, missing.body)
	}
}

func TestBareCloudLacksAttributes(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{Profile: openstack.Bare})
	s.port(t, "p")
	p := s.call(t, openstack.UserCCM, "GET", "ports/$p$", "").object()
	for _, name := range []string{"tags", "revision_number", "port_security_enabled", "allowed_address_pairs", "trunk_details"} {
		if _, ok := p[name]; ok {
			t.Errorf("a port has %s", name)
		}
	}
	s.run(t,
		step{method: "GET", path: "trunks", status: 404, kind: "HTTPNotFound"},
		step{method: "GET", path: "ports/$p$/tags", status: 404, kind: "HTTPNotFound"},
		step{method: "PUT", path: "routers/$router$/add_extraroutes", body: `{"router":{"routes":[]}}`, status: 404, kind: "HTTPNotFound"},
		step{method: "PUT", path: "routers/$router$", body: `{"router":{"routes":[]}}`, status: 400, kind: "HTTPBadRequest", message: "Unrecognized attribute(s) 'routes'"},
		step{method: "PUT", path: "ports/$p$", body: `{"port":{"allowed_address_pairs":[]}}`, status: 400, kind: "HTTPBadRequest"},
	)
	if s.call(t, openstack.UserCCM, "GET", "networks/$public$", "").object()["router:external"] != true {
		t.Error("the policies of old clouds show router:external to everyone")
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	client, id := s.ccm(t), s.port(t, "p")
	read := func() []string {
		t.Helper()
		tags, err := attributestags.List(t.Context(), client, "ports", id).Extract()
		if err != nil {
			t.Fatal(err)
		}

		return tags
	}
	if err := attributestags.Add(t.Context(), client, "ports", id, "b").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if _, err := attributestags.ReplaceAll(t.Context(), client, "ports", id, attributestags.ReplaceAllOpts{Tags: []string{"d", "c"}}).Extract(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c", "d"}, read()); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	if err := attributestags.Delete(t.Context(), client, "ports", id, "c").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	wantNeutronError(t, attributestags.Delete(t.Context(), client, "ports", id, "c").ExtractErr(), 404, "TagNotFound")
	long := strings.Repeat("x", 256)
	s.run(t,
		step{method: "GET", path: "ports/$p$/tags/d", status: 204},
		step{method: "GET", path: "ports/$p$/tags/e", status: 404, kind: "TagNotFound", message: "Tag e could not be found."},
		step{user: openstack.UserOther, method: "PUT", path: "ports/$p$/tags/a", status: 404, kind: "TagResourceNotFound", message: "Resource ports $p$ could not be found."},
		step{user: openstack.UserReader, method: "PUT", path: "ports/$p$/tags/a", status: 201}, // as in Zed
		step{method: "PUT", path: "ports/$p$/tags", body: `{"tags":"x"}`, status: 400, kind: "InvalidInput", message: "Invalid input for operation: 'x' is not a list."},
		step{method: "PUT", path: "ports/$p$/tags", body: `{"tags":["` + long + `"]}`, status: 400, kind: "InvalidInput"},
		step{method: "PUT", path: "foos/$p$/tags/a", status: 404, kind: "HTTPNotFound"},
		step{method: "PUT", path: "security-groups/$nowhere$/tags/a", status: 404, kind: "TagResourceNotFound"},
		step{method: "PUT", path: "floatingips/$nowhere$/tags/a", status: 404, kind: "TagResourceNotFound"},
		step{method: "PUT", path: "routers/$router$/tags/a", status: 201},
		step{method: "PUT", path: "networks/$private$/tags/a", status: 201},
		step{method: "PUT", path: "subnets/$private4$/tags/a", status: 201},
		step{method: "PUT", path: "trunks/$nowhere$/tags/a", status: 404, kind: "TagResourceNotFound"},
		step{method: "DELETE", path: "ports/$p$/tags", status: 204},
	)
	if tags := read(); len(tags) > 0 {
		t.Errorf("tags %v are left", tags)
	}
}

func TestNeutronQuotas(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	got, err := quotas.Get(t.Context(), s.ccm(t), s.vars["ccm"]).Extract()
	if err != nil {
		t.Fatal(err)
	}
	want := &quotas.Quota{Network: 100, Subnet: 100, SubnetPool: -1, Port: 500, Router: 10, FloatingIP: 50, RBACPolicy: 10, SecurityGroup: 10, SecurityGroupRule: 100, Trunk: -1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults of Neutron (-want +got):\n%s", diff)
	}
	details, err := quotas.GetDetail(t.Context(), s.ccm(t), s.vars["ccm"]).Extract()
	if err != nil || details.Port.Used != 2 || details.Router.Used != 1 {
		t.Errorf("%+v, %v, want what is used", details, err)
	}
	s.run(t,
		step{method: "PUT", path: "quotas/$ccm$", body: `{"quota":{"port":1}}`, status: 403, kind: "PolicyNotAuthorized", message: "rule:update_quota is disallowed by policy"},
		step{method: "GET", path: "quotas/$admin$", status: 403, kind: "PolicyNotAuthorized", message: "rule:get_quota is disallowed by policy"},
		step{method: "GET", path: "quotas", status: 403, kind: "PolicyNotAuthorized"},
		step{user: openstack.UserAdmin, method: "PUT", path: "quotas/$ccm$", body: `{"quota":{"floatingip":0}}`, status: 200},
		step{method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"$public$"}}`, status: 409, kind: "OverQuota"},
	)
}

func TestNeutronDocuments(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	got := s.call(t, openstack.UserCCM, "GET", "?"+url.Values{}.Encode(), "")
	if rows := got.rows(); !slices.Contains(rows, "port") {
		t.Errorf("%v, want the collections of the API", got.body)
	}
	if got := s.call(t, openstack.UserCCM, "GET", "networks/$private$.json?fields=id&fields=name", "").object(); len(got) != 2 {
		t.Errorf("%v, want only the two fields", got)
	}
}
