package openstack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// names lists, and returns the names or the error.
func (c *lbCloud) names(list lbResponse, key string) []string {
	if list.status != 200 {
		return []string{fmt.Sprintf("%d %s", list.status, list.fault)}
	}
	rows := []string{}
	for _, o := range list.body[key].([]any) {
		rows = append(rows, fmt.Sprint(o.(map[string]any)["name"]))
	}

	return rows
}

// TestOctaviaLists has the responses of an Octavia of Zed.
func TestOctaviaLists(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	ids := map[string]string{}
	for i, lb := range []struct{ name, tags string }{{"list-a", `"kube_service_a","all"`}, {"list-b", `"kube_service_b","all"`}, {"list-c", ``}} {
		ids["$"+lb.name] = c.made(c.post("/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"name":%q,"vip_subnet_id":%q,"vip_address":"10.0.0.20%d","tags":[%s],"admin_state_up":%v}}`,
			lb.name, c.subnet, i, lb.tags, lb.name != "list-c")), "loadbalancer")
	}
	project, foreign := c.ProjectID(openstack.ProjectCCM), c.ProjectID(openstack.ProjectOther)
	fill := strings.NewReplacer("$a", ids["$list-a"], "$b", ids["$list-b"], "$project", project, "$other", foreign)
	bad := []string{"400 One or more arguments are either duplicate or invalid"}
	cases := map[string]struct {
		reason, query string
		want          []string
	}{
		"all":            {"", "", []string{"list-a", "list-b", "list-c"}},
		"name":           {"", "name=list-a", []string{"list-a"}},
		"case":           {"the database does not tell case", "name=LIST-A", []string{"list-a"}},
		"part of a name": {"", "name=list", []string{}},
		"project":        {"", "project_id=$project&name=list-b", []string{"list-b"}},
		"other project":  {"", "project_id=$other", []string{"403 Policy does not allow this request to be performed."}},
		"old key":        {"", "tenant_id=$project", bad},
		"unknown key":    {"", "color=red", bad},
		"two values":     {"one for each key", "name=list-a&name=list-b", []string{`500 (pymysql.err.OperationalError) (4078, "Illegal parameter data types varchar and row for operation '='")`}},
		"ID":             {"", "id=$b", []string{"list-b"}},
		"VIP":            {"", "vip_address=10.0.0.201", []string{"list-b"}},
		"state":          {"", "provisioning_status=ACTIVE&name=list-c", []string{"list-c"}},
		"admin state":    {"", "admin_state_up=false", []string{"list-c"}},
		"tag":            {"", "tags=kube_service_a", []string{"list-a"}},
		"two tags":       {"", "tags=kube_service_a,all", []string{"list-a"}},
		"not both":       {"", "tags=kube_service_a,kube_service_b", []string{}},
		"any":            {"", "tags-any=kube_service_a,kube_service_b", []string{"list-a", "list-b"}},
		"not":            {"", "not-tags=kube_service_a,all", []string{"list-b", "list-c"}},
		"not any":        {"", "not-tags-any=kube_service_a,kube_service_b", []string{"list-c"}},
		"part of a tag":  {"whole tags match", "tags=kube_service", []string{}},
		"sorted":         {"", "sort=name:desc", []string{"list-c", "list-b", "list-a"}},
		"sort key":       {"", "sort_key=vip_address&sort_dir=desc", []string{"list-c", "list-b", "list-a"}},
		"bad sort key":   {"", "sort_key=color", []string{"400 Supplied sort key 'color' is not valid."}},
		"bad direction":  {"", "sort_key=name&sort_dir=up", []string{"400 Supplied sort direction 'up' is not valid."}},
		"page":           {"", "limit=1&sort_key=name&marker=$a", []string{"list-b"}},
		"bad limit":      {"", "limit=None", []string{"400 Supplied pagination limit 'None' is not valid."}},
		"limit 0":        {"", "limit=0", []string{"500 '>=' not supported between instances of 'int' and 'NoneType'"}},
		"fields":         {"", "name=list-a&fields=id", []string{"<nil>"}},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, c.names(c.get("/loadbalancers?"+fill.Replace(tc.query)), "loadbalancers")); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
	links := c.get("/loadbalancers?limit=1&sort_key=name&project_id=" + project + "&fields=name").body["loadbalancers_links"]
	if diff := cmp.Diff([]any{map[string]any{"rel": "next", "href": c.EndpointURL("load-balancer", "") + "/v2.0/lbaas/loadbalancers?limit=1&sort_key=name&marker=" + ids["$list-a"]}}, links); diff != "" {
		t.Errorf("the next link has no filter (-want +got):\n%s", diff)
	}
	page, err := loadbalancers.List(c.client, loadbalancers.ListOpts{TagsAny: []string{"kube_service_a"}}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all, err := loadbalancers.ExtractLoadBalancers(page); err != nil || len(all) != 1 {
		t.Errorf("gophercloud lists %v, %v", all, err)
	}
}

// TestOctaviaPolicies has who may do what.
func TestOctaviaPolicies(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	id := c.lb(parts)
	none := "/loadbalancers/11111111-2222-3333-4444-555555555555"
	create := fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q}}`, c.subnet)
	const forbidden = "Policy does not allow this request to be performed."
	cases := map[string]struct {
		reason string
		got    lbResponse
		status int
		fault  string
	}{
		"reader creates":     {"", c.do(c.reader, "POST", "/loadbalancers", create), 403, forbidden},
		"reader changes":     {"", c.do(c.reader, "PUT", "/loadbalancers/"+id, `{"loadbalancer":{"name":"x"}}`), 403, forbidden},
		"reader deletes":     {"", c.do(c.reader, "DELETE", "/loadbalancers/"+id+"?cascade=true", ""), 403, forbidden},
		"reader reads":       {"", c.do(c.reader, "GET", "/loadbalancers/"+id, ""), 200, ""},
		"reader and nothing": {"the object is looked for first", c.do(c.reader, "DELETE", none, ""), 404, ""},
		"other reads":        {"403, not 404", c.do(c.other, "GET", "/loadbalancers/"+id, ""), 403, forbidden},
		"other's status":     {"", c.do(c.other, "GET", "/loadbalancers/"+id+"/status", ""), 403, forbidden},
		"other deletes":      {"", c.do(c.other, "DELETE", "/loadbalancers/"+id, ""), 403, forbidden},
		"other and nothing":  {"", c.do(c.other, "GET", none, ""), 404, ""},
		"for another one":    {"", c.post("/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q,"project_id":%q}}`, c.subnet, c.ProjectID(openstack.ProjectOther))), 403, forbidden},
		"failover":           {"", c.put("/loadbalancers/"+id+"/failover", ""), 403, forbidden},
		"unknown path":       {"", c.get("/nothing"), 404, ""},
		"method":             {"", c.do(c.client, "PATCH", "/loadbalancers", "{}"), 405, ""},
	}
	for name, tc := range cases {
		if tc.got.status != tc.status || tc.got.fault != tc.fault && tc.fault != "" {
			t.Errorf("%s: %s: %d %s", name, tc.reason, tc.got.status, tc.got.fault)
		}
	}
	if got := c.names(c.do(c.other, "GET", "/loadbalancers", ""), "loadbalancers"); len(got) != 0 {
		t.Errorf("another project lists %v", got)
	}
	c.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "theirs", Project: openstack.ProjectOther, Subnet: c.otherLAN})
	if diff := cmp.Diff([]string{"lb", "theirs"}, c.names(c.do(c.admins, "GET", "/loadbalancers?sort_key=name", ""), "loadbalancers")); diff != "" {
		t.Errorf("an operator lists all projects (-want +got):\n%s", diff)
	}
	c.SetLoadBalancerRoles(true)
	c.SetRoles(openstack.UserCCM, openstack.ProjectCCM, openstack.RoleMember)
	if got := c.get("/loadbalancers/" + id); got.status != 403 {
		t.Errorf("without a role of Octavia: %d", got.status)
	}
	c.SetRoles(openstack.UserCCM, openstack.ProjectCCM, openstack.RoleMember, openstack.RoleOctaviaMember)
	if got := c.put("/loadbalancers/"+id, `{"loadbalancer":{"name":"y"}}`); got.status != 200 {
		t.Errorf("with the role: %d %s", got.status, got.fault)
	}
}

// TestOctaviaQuotas has quotas of each sort, also for a whole load balancer.
func TestOctaviaQuotas(t *testing.T) {
	t.Parallel()
	whole := `{"loadbalancer":{"vip_subnet_id":"$subnet","listeners":[{"protocol":"TCP","protocol_port":80,"default_pool":{"name":"p","protocol":"TCP","lb_algorithm":"ROUND_ROBIN",
		"members":[{"address":"10.0.0.9","protocol_port":1},{"address":"10.0.0.8","protocol_port":1}],"healthmonitor":{"type":"TCP","delay":5,"timeout":3,"max_retries":1}}}]}}`
	cases := map[string]openstack.Quotas{
		"Listener": {Listeners: 1}, "Pool": {Pools: 1}, "Member": {Members: 2}, "Health Monitor": {HealthMonitors: 1}, "Load Balancer": {LoadBalancers: 1},
	}
	for name, quotas := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startLB(t, openstack.Options{Quotas: quotas})
			fill := strings.NewReplacer("$subnet", c.subnet)
			c.made(c.post("/loadbalancers", fill.Replace(whole)), "loadbalancer")
			c.refuses(fill, map[string]refusal{name: {"all or nothing", "POST", "/loadbalancers", whole, 403, "Quota has been met for resources: " + name}})
		})
	}
	c := startLB(t, openstack.Options{})
	project := c.ProjectID(openstack.ProjectCCM)
	if got := c.do(c.admins, "PUT", "/quotas/"+project, `{"quota":{"loadbalancer":0}}`); got.status != 202 {
		t.Errorf("set a quota: %d %s", got.status, got.fault)
	}
	if got := c.get("/quotas/" + project).body["quota"].(map[string]any)["load_balancer"]; got != 0.0 {
		t.Errorf("quota: %v", got)
	}
	c.refuses(strings.NewReplacer(), map[string]refusal{
		"set by API": {"", "POST", "/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q}}`, c.subnet), 403, "Quota has been met for resources: Load Balancer"},
		"by a user":  {"", "PUT", "/quotas/" + project, `{"quota":{"loadbalancer":-1}}`, 403, "Policy does not allow"},
	})
}
