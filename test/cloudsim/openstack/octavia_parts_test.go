package openstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// parts is a load balancer with a listener of each kind, and pools.
const parts = `"listeners":[
	{"name":"tcp","protocol":"TCP","protocol_port":80,"default_pool":{"name":"p","protocol":"TCP","lb_algorithm":"ROUND_ROBIN",
		"members":[{"name":"a","address":"10.0.0.11","protocol_port":30080}]}},
	{"name":"http","protocol":"HTTP","protocol_port":81},
	{"name":"udp","protocol":"UDP","protocol_port":82,"default_pool":{"name":"u","protocol":"UDP","lb_algorithm":"ROUND_ROBIN"}}],
	"pools":[{"name":"h","protocol":"HTTP","lb_algorithm":"ROUND_ROBIN"}]`

// ids returns the IDs of the parts of a load balancer by name, as $name.
func (c *lbCloud) ids(lb string) *strings.Replacer {
	c.t.Helper()
	pairs := []string{"$lb", lb, "$none", "11111111-2222-3333-4444-555555555555", "$subnet", c.subnet}
	for _, collection := range []string{"listeners", "pools"} {
		for _, o := range c.get("/" + collection + "?loadbalancer_id=" + lb).body[collection].([]any) {
			row := o.(map[string]any)
			pairs = append(pairs, "$"+row["name"].(string)+"!", row["id"].(string))
		}
	}

	return strings.NewReplacer(pairs...)
}

// TestListenerRules has the responses of an Octavia of Zed.
func TestListenerRules(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	fill := c.ids(c.lb(parts))
	post := func(rest string) string { return `{"listener":{"loadbalancer_id":"$lb",` + rest + `}}` }
	private := c.AddSecret(openstack.SecretSpec{NotForOctavia: true})
	conflict := "Another Listener on this Load Balancer is already using protocol TCP and protocol_port 80"
	c.refuses(fill, map[string]refusal{
		"TCP":           {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":80`), 409, conflict},
		"HTTP":          {"it is TCP", "POST", "/listeners", post(`"protocol":"HTTP","protocol_port":80`), 409, conflict},
		"HTTPS":         {"", "POST", "/listeners", post(`"protocol":"HTTPS","protocol_port":80`), 409, conflict},
		"PROMETHEUS":    {"", "POST", "/listeners", post(`"protocol":"PROMETHEUS","protocol_port":80`), 409, conflict},
		"UDP":           {"", "POST", "/listeners", post(`"protocol":"UDP","protocol_port":82`), 409, "using protocol UDP and protocol_port 82"},
		"PROXY":         {"", "POST", "/listeners", post(`"protocol":"PROXY","protocol_port":90`), 400, "Value should be one of: UDP, TCP"},
		"no reference":  {"", "POST", "/listeners", post(`"protocol":"TERMINATED_HTTPS","protocol_port":90`), 400, "must be provided for TERMINATED_HTTPS protocol listeners."},
		"reference":     {"", "POST", "/listeners", post(`"protocol":"TERMINATED_HTTPS","protocol_port":90,"default_tls_container_ref":"http://x/v1/secrets/$none"`), 400, "Could not retrieve certificate: ['http://x/v1/secrets/$none']"},
		"private":       {"the caller can read it, Octavia cannot", "POST", "/listeners", post(`"protocol":"TERMINATED_HTTPS","protocol_port":90,"default_tls_container_ref":"` + private + `"`), 400, "Could not retrieve certificate"},
		"TLS on UDP":    {"", "POST", "/listeners", post(`"protocol":"UDP","protocol_port":90,"default_tls_container_ref":"x"`), 400, "UDP protocol listener does not support TLS."},
		"TLS on TCP":    {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":90,"default_tls_container_ref":"x"`), 400, "Certificate container references are not allowed on TCP protocol listeners."},
		"headers":       {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":90,"insert_headers":{"X-Forwarded-For":"true"}`), 400, "insert-headers is not a valid option for a TCP protocol listener."},
		"add headers":   {"", "PUT", "/listeners/$tcp!", `{"listener":{"insert_headers":{"X-Forwarded-For":"true"}}}`, 400, "insert-headers is not a valid option for a TCP protocol listener."},
		"other header":  {"", "POST", "/listeners", post(`"protocol":"HTTP","protocol_port":90,"insert_headers":{"X-Other":"true"}`), 400, "dict_keys(['X-Other']) is not a valid option for insert_headers"},
		"no CIDR":       {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":90,"allowed_cidrs":["x"]`), 400, "Value: '['x']'. Value should be IPv4 or IPv6 CIDR format"},
		"CIDR family":   {"", "PUT", "/listeners/$tcp!", `{"listener":{"allowed_cidrs":["fd00::/64"]}}`, 400, "CIDR fd00::/64 IP version incompatible"},
		"timeout":       {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":90,"timeout_client_data":2073600001`), 400, "Value should be lower or equal to 2073600000"},
		"limit":         {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":90,"connection_limit":-2`), 400, "Value should be greater or equal to -1"},
		"port":          {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":65536`), 400, "Value should be lower or equal to 65535"},
		"no protocol":   {"", "POST", "/listeners", post(`"protocol_port":90`), 400, "field/attribute protocol. Value: 'None'. Mandatory field missing."},
		"no lb":         {"", "POST", "/listeners", `{"listener":{"protocol":"TCP","protocol_port":90}}`, 400, "field/attribute loadbalancer_id."},
		"unknown lb":    {"", "POST", "/listeners", strings.Replace(post(`"protocol":"TCP","protocol_port":90`), "$lb", "$none", 1), 404, "Load Balancer $none not found."},
		"unknown pool":  {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":90,"default_pool_id":"$none"`), 404, "Pool $none not found."},
		"bad pool":      {"", "PUT", "/listeners/$udp!", `{"listener":{"default_pool_id":"$p!"}}`, 400, "The pool protocol 'TCP' is invalid while the listener protocol is 'UDP'."},
		"protocol":      {"it cannot change", "PUT", "/listeners/$tcp!", `{"listener":{"protocol":"HTTP"}}`, 400, "Unknown attribute for argument listener_.listener: protocol"},
		"change port":   {"it cannot change", "PUT", "/listeners/$tcp!", `{"listener":{"protocol_port":8080}}`, 400, "Unknown attribute for argument listener_.listener: protocol_port"},
		"inline pool":   {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":90,"default_pool":{"name":"x","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}`), 500, "_sa_instance_state"},
		"no number":     {"", "POST", "/listeners", post(`"protocol":"TCP","protocol_port":"90x"`), 400, "invalid literal for int() with base 10: '90x'"},
		"none to write": {"", "DELETE", "/listeners/$none", "", 404, "Listener $none not found."},
	})
	good := c.AddSecret(openstack.SecretSpec{Container: true})
	for name, body := range map[string]string{
		"SCTP on the port of TCP": `"protocol":"SCTP","protocol_port":80`,
		"UDP on the port of TCP":  `"protocol":"UDP","protocol_port":80`,
		"certificate":             `"protocol":"TERMINATED_HTTPS","protocol_port":443,"default_tls_container_ref":"` + good + `"`,
		"header":                  `"protocol":"HTTP","protocol_port":8080,"insert_headers":{"X-Forwarded-For":"true"}`,
	} {
		if got := c.post("/listeners", fill.Replace(post(body))); got.status != http.StatusCreated {
			t.Errorf("%s: %d %s", name, got.status, got.fault)
		}
		c.settle()
	}
	put := c.put(fill.Replace("/listeners/$tcp!"), `{"listener":{"allowed_cidrs":["192.0.2.1/24"],"connection_limit":5,"name":null}}`).body["listener"].(map[string]any)
	if got := fmt.Sprintf("%v %v %q", put["allowed_cidrs"], put["connection_limit"], put["name"]); got != `[192.0.2.0/24] 5 ""` {
		t.Errorf("changed: %s", got)
	}
	c.settle()
	put = c.put(fill.Replace("/listeners/$tcp!"), `{"listener":{"allowed_cidrs":[],"connection_limit":null}}`).body["listener"].(map[string]any)
	if got := fmt.Sprintf("%v %v", put["allowed_cidrs"], put["connection_limit"]); got != "<nil> -1" {
		t.Errorf("reset: %s", got)
	}
}

// TestPoolRules has the responses of an Octavia of Zed.
func TestPoolRules(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	fill := c.ids(c.lb(parts))
	post := func(rest string) string { return `{"pool":{"loadbalancer_id":"$lb",` + rest + `}}` }
	c.refuses(fill, map[string]refusal{
		"second":           {"", "POST", "/pools", `{"pool":{"listener_id":"$tcp!","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`, 409, "This listener already has a default pool"},
		"pair":             {"", "POST", "/pools", `{"pool":{"listener_id":"$http!","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`, 400, "The pool protocol 'TCP' is invalid while the listener protocol is 'HTTP'."},
		"algorithm":        {"", "POST", "/pools", post(`"protocol":"TCP","lb_algorithm":"RANDOM"`), 400, "Value should be one of"},
		"no algorithm":     {"", "POST", "/pools", post(`"protocol":"TCP"`), 400, "attribute lb_algorithm. Value: 'None'. Mandatory field missing."},
		"parent":           {"", "POST", "/pools", `{"pool":{"protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`, 400, "Must provide at least one of: loadbalancer_id, listener_id"},
		"unknown listener": {"", "POST", "/pools", `{"pool":{"listener_id":"$none","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`, 500, "'NoneType' object has no attribute 'load_balancer_id'"},
		"members":          {"only a whole load balancer takes them", "POST", "/pools", post(`"protocol":"TCP","lb_algorithm":"ROUND_ROBIN","members":[{"address":"10.0.0.9","protocol_port":1}]`), 500, "_sa_instance_state"},
		"cookie":           {"", "POST", "/pools", post(`"protocol":"TCP","lb_algorithm":"ROUND_ROBIN","session_persistence":{"type":"SOURCE_IP","cookie_name":"c"}`), 400, `Field "cookie_name" can only be specified`},
		"cookie on UDP":    {"", "POST", "/pools", post(`"protocol":"UDP","lb_algorithm":"ROUND_ROBIN","session_persistence":{"type":"HTTP_COOKIE"}`), 400, "Session persistence of type HTTP_COOKIE is not supported for UDP/SCTP protocol pools."},
		"persistence":      {"", "PUT", "/pools/$p!", `{"pool":{"session_persistence":{"type":"NOTHING"}}}`, 400, "Value: 'NOTHING'. Value should be one of"},
		"driver":           {"", "POST", "/pools", post(`"protocol":"TCP","lb_algorithm":"SOURCE_IP_PORT"`), 501, "Provider 'amphora' does not support a requested option: Amphora provider does not support SOURCE_IP_PORT algorithm."},
		"protocol":         {"it cannot change", "PUT", "/pools/$p!", `{"pool":{"protocol":"PROXY"}}`, 400, "Unknown attribute for argument pool_.pool: protocol"},
	})
	if got := c.put(fill.Replace("/pools/$p!"), `{"pool":{"lb_algorithm":"SOURCE_IP","session_persistence":{"type":"SOURCE_IP"}}}`); got.status != 200 {
		t.Errorf("change: %d %s", got.status, got.fault)
	}
	c.settle()
	// Another protocol without an outage: a new pool, the switch, the end of the old one.
	next := c.made(c.post("/pools", fill.Replace(post(`"name":"next","protocol":"PROXY","lb_algorithm":"ROUND_ROBIN"`))), "pool")
	if got := c.put(fill.Replace("/listeners/$tcp!"), `{"listener":{"default_pool_id":"`+next+`"}}`); got.status != 200 {
		t.Errorf("switch: %d %s", got.status, got.fault)
	}
	c.settle()
	if got := c.del(fill.Replace("/pools/$p!")); got.status != 204 {
		t.Errorf("delete: %d %s", got.status, got.fault)
	}
	c.settle()
	policy := c.made(c.post("/l7policies", fill.Replace(`{"l7policy":{"listener_id":"$http!","action":"REDIRECT_TO_POOL","redirect_pool_id":"$h!"}}`)), "l7policy")
	c.refuses(fill, map[string]refusal{
		"old":    {"", "GET", "/pools/$p!", "", 404, "Pool $p! not found."},
		"policy": {"a user's rule holds it", "DELETE", "/pools/$h!", "", 409, "Pool $h! is in use by L7 policy " + policy},
	})
}

// TestMonitorRules has the responses of an Octavia of Zed.
func TestMonitorRules(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	fill := c.ids(c.lb(parts))
	post := func(rest string) string { return `{"healthmonitor":{"timeout":3,"max_retries":1,` + rest + `}}` }
	id := c.made(c.post("/healthmonitors", fill.Replace(post(`"pool_id":"$p!","type":"TCP","delay":5`))), "healthmonitor")
	c.refuses(fill, map[string]refusal{
		"second":      {"", "POST", "/healthmonitors", post(`"pool_id":"$p!","type":"TCP","delay":5`), 409, "This pool already has a health monitor"},
		"UDP-CONNECT": {"", "POST", "/healthmonitors", post(`"pool_id":"$h!","type":"UDP-CONNECT","delay":5`), 400, "The UDP-CONNECT type is only supported for pools of type UDP/SCTP."},
		"PING":        {"", "POST", "/healthmonitors", post(`"pool_id":"$u!","type":"PING","delay":5`), 400, "The associated pool protocol is UDP, so only a"},
		"delay":       {"", "POST", "/healthmonitors", post(`"pool_id":"$u!","type":"UDP-CONNECT","delay":2`), 400, "The request delay value 2 should be larger than 3 for UDP-CONNECT"},
		"retries":     {"", "POST", "/healthmonitors", `{"healthmonitor":{"pool_id":"$h!","type":"TCP","delay":5,"timeout":3,"max_retries":11}}`, 400, "Value should be lower or equal to 10"},
		"path on TCP": {"", "POST", "/healthmonitors", post(`"pool_id":"$h!","type":"TCP","delay":5,"url_path":"/x"`), 400, "url_path is not a valid option for health monitors of type TCP"},
		"bad path":    {"", "POST", "/healthmonitors", post(`"pool_id":"$h!","type":"HTTP","delay":5,"url_path":"x"`), 400, "Value must be a valid URL Path string"},
		"no pool":     {"", "POST", "/healthmonitors", post(`"type":"TCP","delay":5`), 400, "attribute pool_id. Value: 'None'. Mandatory field missing."},
		"unknown":     {"", "POST", "/healthmonitors", post(`"pool_id":"$none","type":"TCP","delay":5`), 404, "Pool $none not found."},
		"type":        {"it cannot change", "PUT", "/healthmonitors/" + id, `{"healthmonitor":{"type":"HTTP"}}`, 400, "Unknown attribute for argument health_monitor_.healthmonitor: type"},
		"add a path":  {"", "PUT", "/healthmonitors/" + id, `{"healthmonitor":{"url_path":"/x"}}`, 400, "url_path is not a valid option for health monitors of type TCP"},
		"null delay":  {"", "PUT", "/healthmonitors/" + id, `{"healthmonitor":{"delay":null}}`, 400, "None is not a valid option for delay"},
	})
	http := c.post("/healthmonitors", fill.Replace(post(`"pool_id":"$u!","type":"HTTP","delay":5`)))
	c.made(http, "healthmonitor")
	row := http.body["healthmonitor"].(map[string]any)
	if got := fmt.Sprintf("%v %v %v %v", row["http_method"], row["url_path"], row["expected_codes"], row["max_retries_down"]); got != "GET / 200 3" {
		t.Errorf("defaults: %s", got)
	}
	if got := c.del("/healthmonitors/" + id); got.status != 204 {
		t.Errorf("delete: %d %s", got.status, got.fault)
	}
	c.settle()
	if got := c.get("/healthmonitors/" + id); got.status != 404 {
		t.Errorf("deleted: %d", got.status)
	}
}

// TestBatch writes all members of a pool.
func TestBatch(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	lb := c.lb(parts)
	fill := c.ids(lb)
	path := fill.Replace("/pools/$p!/members")
	list := func() (rows []string) {
		for _, o := range c.get(path + "?sort_key=address").body["members"].([]any) {
			m := o.(map[string]any)
			rows = append(rows, fmt.Sprint(m["name"], " ", m["address"], " ", m["weight"], " ", m["backup"], " ", m["admin_state_up"], " ", m["monitor_port"], " ", m["subnet_id"], " ", m["tags"]))
		}

		return rows
	}
	id := c.get(path).body["members"].([]any)[0].(map[string]any)["id"].(string)
	if got := c.put(path+"/"+id, `{"member":{"weight":10,"backup":true,"monitor_port":32000,"admin_state_up":false,"tags":["user"]}}`); got.status != 200 {
		t.Fatalf("change of a member: %d %s", got.status, got.fault)
	}
	c.settle()
	want := []string{"a 10.0.0.11 10 true false 32000 <nil> [user]"}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("one member (-want +got):\n%s", diff)
	}
	write := func(client, body string) lbResponse { return c.put(path+client, fill.Replace(body)) }
	steps := []struct {
		reason, query, body string
		pending             bool
		want                []string
	}{
		{"what is not sent goes back to its default, but for name and tags", "", `{"members":[{"address":"10.0.0.11","protocol_port":30080,"subnet_id":"$subnet"},{"address":"10.0.0.12","protocol_port":30080,"name":"b"}]}`, true, []string{
			"a 10.0.0.11 1 false true <nil> " + c.subnet + " [user]", "b 10.0.0.12 1 false true <nil> <nil> []",
		}},
		{"the same makes it pending", "", `{"members":[{"address":"10.0.0.11","protocol_port":30080},{"address":"10.0.0.12","protocol_port":30080,"name":"b"}]}`, true, []string{
			"a 10.0.0.11 1 false true <nil> " + c.subnet + " [user]", "b 10.0.0.12 1 false true <nil> <nil> []",
		}},
		{"only additions", "?additive_only=true", `{"members":[{"address":"10.0.0.13","protocol_port":30080,"name":"c","weight":7}]}`, true, []string{
			"a 10.0.0.11 1 false true <nil> " + c.subnet + " [user]", "b 10.0.0.12 1 false true <nil> <nil> []", "c 10.0.0.13 7 false true <nil> <nil> []",
		}},
		{"all go", "", `{"members":[]}`, true, nil},
		{"none over none does nothing", "", `{"members":[]}`, false, nil},
	}
	for _, step := range steps {
		if got := write(step.query, step.body); got.status != http.StatusAccepted {
			t.Errorf("%s: %d %s", step.reason, got.status, got.fault)
		}
		if got := c.status("/loadbalancers/" + lb); (got == "PENDING_UPDATE") != step.pending {
			t.Errorf("%s: load balancer is %s", step.reason, got)
		}
		c.settle()
		if diff := cmp.Diff(step.want, list()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
	c.refuses(fill, map[string]refusal{
		"new twice":      {"", "PUT", path, `{"members":[{"address":"10.0.0.13","protocol_port":1},{"address":"10.0.0.13","protocol_port":1}]}`, 409, "Another member on this pool is already using ip 10.0.0.13 on protocol_port 1"},
		"deny list":      {"", "PUT", path, `{"members":[{"address":"169.254.169.254","protocol_port":1}]}`, 400, "169.254.169.254 is not a valid option for member address"},
		"no port":        {"", "PUT", path, `{"members":[{"address":"10.0.0.13"}]}`, 400, "attribute protocol_port. Value: 'None'. Mandatory field missing."},
		"subnet":         {"", "PUT", path, `{"members":[{"address":"10.0.0.13","protocol_port":1,"subnet_id":"$none"}]}`, 400, "Subnet $none not found."},
		"weight":         {"", "POST", path, `{"member":{"address":"10.0.0.13","protocol_port":1,"weight":257}}`, 400, "Value should be lower or equal to 256"},
		"unknown pool":   {"", "GET", "/pools/$none/members", "", 404, "Pool $none not found."},
		"unknown member": {"", "GET", path + "/$none", "", 404, "Member $none not found."},
	})
	members, err := pools.CreateMember(t.Context(), c.client, fill.Replace("$p!"), pools.CreateMemberOpts{Address: "10.0.0.20", ProtocolPort: 1}).Extract()
	if err != nil || members.OperatingStatus != "NO_MONITOR" {
		t.Errorf("single member: %+v, %v", members, err)
	}
}

// TestBatchTwice has a batch with an old member twice.
func TestBatchTwice(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		minor, status int
		after         string
	}{"zed": {26, 202, "PENDING_UPDATE"}, "later": {27, 400, "ACTIVE"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startLB(t, openstack.Options{OctaviaMinor: tc.minor})
			lb := c.lb(parts)
			got := c.put(c.ids(lb).Replace("/pools/$p!/members"), `{"members":[{"address":"10.0.0.11","protocol_port":30080},{"address":"10.0.0.11","protocol_port":30080}]}`)
			c.settle()
			if after := c.status("/loadbalancers/" + lb); got.status != tc.status || after != tc.after {
				t.Errorf("got %d %s, then %s", got.status, got.fault, after)
			}
		})
	}
}

// TestVIPGroups has a load balancer with security groups of its user.
func TestVIPGroups(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{OctaviaMinor: 29})
	group := c.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "mine"})
	fill := c.ids(c.lb(`"vip_sg_ids":["` + group + `"],"listeners":[{"name":"tcp","protocol":"TCP","protocol_port":80}]`))
	c.refuses(fill, map[string]refusal{
		"POST": {"", "POST", "/listeners", `{"listener":{"loadbalancer_id":"$lb","protocol":"TCP","protocol_port":81,"allowed_cidrs":["10.0.0.0/8"]}}`, 400, "Allowed CIDRs are not allowed when using custom VIP Security Groups."},
		"PUT":  {"", "PUT", "/listeners/$tcp!", `{"listener":{"allowed_cidrs":["10.0.0.0/8"]}}`, 400, "Allowed CIDRs are not allowed when using custom VIP Security Groups."},
	})
}
