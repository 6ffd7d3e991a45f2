package openstack_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	testclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// lbCloud is a cloud with a network, whose clock a test steps.
type lbCloud struct {
	*openstack.Cloud

	t                *testing.T
	clock            *testclock.FakePassiveClock
	subnet, external string
	client           *gophercloud.ServiceClient
}

// startLB runs a cloud with a network with IPv4 and IPv6, an external one and a
// router. No read is stale, so that each call shows what the rule under test does.
func startLB(t *testing.T, opts openstack.Options) *lbCloud {
	t.Helper()
	clock := testclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	opts.Clock = clock
	opts.StaleReads = new(openstack.StaleReads) // each write is read back at once
	c := &lbCloud{Cloud: start(t, opts), t: t, clock: clock}
	private := c.AddNetwork(openstack.NetworkSpec{Name: "private"})
	c.subnet = c.AddSubnet(openstack.SubnetSpec{Network: private, CIDR: "10.0.0.0/24", Name: "v4"})
	c.AddSubnet(openstack.SubnetSpec{Network: private, CIDR: "fd00::/64", Name: "v6", SLAAC: true})
	c.external = c.AddNetwork(openstack.NetworkSpec{Name: "public", External: true})
	c.AddSubnet(openstack.SubnetSpec{Network: c.external, CIDR: "192.0.2.0/24"})
	c.AddRouter(openstack.RouterSpec{Name: "router", External: c.external, Subnets: []string{c.subnet}})
	c.client = loadBalancer(t, connect(t, c.Cloud, openstack.UserCCM), "")

	return c
}

// lbResponse is a response of Octavia: its status, its body, and the text of an error.
type lbResponse struct {
	status int
	body   map[string]any
	fault  string
}

// do sends a request with a body in JSON.
func (c *lbCloud) do(method, path, body string) lbResponse {
	c.t.Helper()
	status, out := send(c.t, c.client, method, "lbaas"+path, body)
	fault, _ := out["faultstring"].(string)
	description, _ := out["description"].(string)

	return lbResponse{status, out, fault + description}
}

func (c *lbCloud) post(path, body string) lbResponse { return c.do(http.MethodPost, path, body) }
func (c *lbCloud) put(path, body string) lbResponse  { return c.do(http.MethodPut, path, body) }
func (c *lbCloud) get(path string) lbResponse        { return c.do(http.MethodGet, path, "") }

// settle steps the clock until everything has happened.
func (c *lbCloud) settle() {
	for range 3 {
		c.clock.SetTime(c.clock.Now().Add(5 * time.Minute))
		c.LoadBalancers()
	}
}

// made is the ID in a response to a creation, which must be 201; the change is over.
func (c *lbCloud) made(a lbResponse, key string) string {
	c.t.Helper()
	if a.status != http.StatusCreated {
		c.t.Fatalf("create %s: %d %s", key, a.status, a.fault)
	}
	c.settle()

	return a.body[key].(map[string]any)["id"].(string)
}

// lb adds a load balancer by the API, with parts in JSON: `"listeners":[…]`.
func (c *lbCloud) lb(parts string) string {
	c.t.Helper()
	if parts != "" {
		parts = "," + parts
	}

	return c.made(c.post("/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"name":"lb","vip_subnet_id":%q%s}}`, c.subnet, parts)), "loadbalancer")
}

// status is the provisioning status of an object.
func (c *lbCloud) status(path string) string {
	c.t.Helper()
	a := c.get(path)
	for _, o := range a.body {
		return o.(map[string]any)["provisioning_status"].(string)
	}

	return fmt.Sprint(a.status)
}

// refusal is a request that is refused.
type refusal struct {
	reason, method, path, body string
	status                     int
	fault                      string // a part of the message
}

// state is the state of the cloud, without the ports of load balancers: those of
// refused ones stay.
func (c *lbCloud) state() string {
	return strings.Join(slices.DeleteFunc(strings.Split(c.Dump(), "\n"), func(line string) bool {
		return strings.Contains(line, "port octavia-lb-") || strings.Contains(line, "port ovn-lb-vip-")
	}), "\n")
}

// refuses sends each request, and checks its refusal and that nothing has changed.
func (c *lbCloud) refuses(replace *strings.Replacer, cases map[string]refusal) {
	c.t.Helper()
	for name, tc := range cases {
		before := c.state()
		got := c.do(tc.method, replace.Replace(tc.path), replace.Replace(tc.body))
		if fault := replace.Replace(tc.fault); got.status != tc.status || !strings.Contains(got.fault, fault) {
			c.t.Errorf("%s: %s: got %d %q, want %d %q", name, tc.reason, got.status, got.fault, tc.status, fault)
		}
		if after := c.state(); after != before {
			c.t.Errorf("%s: %s: state changed from\n%s\nto\n%s", name, tc.reason, before, after)
		}
	}
}

// TestOctaviaGates has a field below its version.
func TestOctaviaGates(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		minor       int
		field, body string
	}{
		"tags":            {5, "tags", `"tags":["a"]`},
		"flavor":          {6, "flavor_id", `"flavor_id":"11111111-2222-3333-4444-555555555555"`},
		"zone":            {14, "availability_zone", `"availability_zone":"a"`},
		"additional VIPs": {26, "additional_vips", `"additional_vips":[]`},
		"groups":          {29, "vip_sg_ids", `"vip_sg_ids":[]`},
		"timeouts":        {1, "timeout_client_data", `"listeners":[{"protocol":"TCP","protocol_port":80,"timeout_client_data":1}]`},
		"CIDRs":           {12, "allowed_cidrs", `"listeners":[{"protocol":"TCP","protocol_port":80,"allowed_cidrs":["10.0.0.0/8"]}]`},
		"SCTP":            {23, "SCTP", `"listeners":[{"protocol":"SCTP","protocol_port":80}]`},
		"PROMETHEUS":      {25, "PROMETHEUS", `"listeners":[{"protocol":"PROMETHEUS","protocol_port":80}]`},
		"PROXYV2":         {22, "PROXYV2", `"pools":[{"name":"p","protocol":"PROXYV2","lb_algorithm":"ROUND_ROBIN"}]`},
		"SOURCE_IP_PORT":  {13, "SOURCE_IP_PORT", `"pools":[{"name":"p","protocol":"TCP","lb_algorithm":"SOURCE_IP_PORT"}]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := openstack.Options{OctaviaMinor: tc.minor - 1}
			if tc.minor == 1 {
				opts.Profile = openstack.Bare
			}
			c := startLB(t, opts)
			c.refuses(strings.NewReplacer(), map[string]refusal{name: {
				"the cloud is older", "POST", "/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q,%s}}`, c.subnet, tc.body), 400, tc.field,
			}})
			later := startLB(t, openstack.Options{OctaviaMinor: max(tc.minor, 1)})
			got := later.post("/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q,%s}}`, later.subnet, tc.body))
			if got.status == 400 && strings.Contains(got.fault, "Unknown attribute") {
				t.Errorf("in its version: %d %s", got.status, got.fault)
			}
		})
	}
}

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

// TestSerialCloud has an old cloud that changes one load balancer at a time.
func TestSerialCloud(t *testing.T) {
	t.Parallel()
	for profile, want := range map[openstack.Profile]string{openstack.Bare: "ACTIVE PENDING_CREATE", openstack.Amphora: "ACTIVE ACTIVE"} {
		c := startLB(t, openstack.Options{Profile: profile})
		var ids []string
		for range 2 {
			ids = append(ids, c.post("/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q}}`, c.subnet)).body["loadbalancer"].(map[string]any)["id"].(string))
		}
		c.clock.SetTime(c.clock.Now().Add(time.Minute))
		if got := c.status("/loadbalancers/"+ids[0]) + " " + c.status("/loadbalancers/"+ids[1]); got != want {
			t.Errorf("%s: %s, want %s", profile, got, want)
		}
	}
}

// TestOVN has what the driver of OVN refuses.
func TestOVN(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{Profile: openstack.OVN})
	c.AddLBZone(openstack.LBZone{Name: "az"})
	whole := func(listener, pool, member string) string {
		return `{"loadbalancer":{"vip_subnet_id":"$subnet","listeners":[{"protocol":"TCP","protocol_port":80` + listener +
			`,"default_pool":{"name":"p","protocol":"TCP","lb_algorithm":"SOURCE_IP_PORT"` + pool + `,"members":[{"address":"10.0.0.9","protocol_port":1` + member + `}]}}]}}`
	}
	fill := strings.NewReplacer("$subnet", c.subnet)
	cases := map[string]refusal{
		"CIDRs":       {"", "POST", "/loadbalancers", whole(`,"allowed_cidrs":["10.0.0.0/8"]`, "", ""), 501, "OVN provider does not support allowed_cidrs option"},
		"HTTP":        {"", "POST", "/loadbalancers", `{"loadbalancer":{"vip_subnet_id":"$subnet","listeners":[{"protocol":"HTTP","protocol_port":80}]}}`, 501, "OVN provider does not support HTTP protocol"},
		"algorithm":   {"", "POST", "/loadbalancers", strings.Replace(whole("", "", ""), "SOURCE_IP_PORT", "ROUND_ROBIN", 1), 501, "OVN provider does not support ROUND_ROBIN algorithm"},
		"PROXY":       {"", "POST", "/loadbalancers", strings.Replace(whole("", "", ""), `"p","protocol":"TCP"`, `"p","protocol":"PROXY"`, 1), 501, "OVN provider does not support PROXY protocol"},
		"persistence": {"", "POST", "/loadbalancers", whole("", `,"session_persistence":{"type":"HTTP_COOKIE"}`, ""), 501, "OVN provider does not support HTTP_COOKIE session persistence"},
		"monitor":     {"", "POST", "/loadbalancers", whole("", `,"healthmonitor":{"type":"HTTP","delay":5,"timeout":3,"max_retries":1}`, ""), 501, "OVN provider does not support HTTP health monitor type"},
		"port":        {"", "POST", "/loadbalancers", whole("", "", `,"monitor_port":5`), 501, "OVN provider does not support monitor options"},
		"family":      {"", "POST", "/loadbalancers", strings.Replace(whole("", "", ""), "10.0.0.9", "fd00::9", 1), 501, "does not support mixing IPv4/IPv6"},
		"outside":     {"", "POST", "/loadbalancers", strings.Replace(whole("", "", ""), "10.0.0.9", "10.9.0.9", 1), 501, "Subnet is required"},
		"zone":        {"", "POST", "/loadbalancers", `{"loadbalancer":{"vip_subnet_id":"$subnet","availability_zone":"az"}}`, 501, "This provider does not support availability zones."},
		"amphora":     {"there is no other driver", "POST", "/loadbalancers", `{"loadbalancer":{"vip_subnet_id":"$subnet","provider":"amphora"}}`, 400, "Provider 'amphora' is not enabled."},
	}
	c.refuses(fill, cases)
	id := c.made(c.post("/loadbalancers", fill.Replace(whole(`,"timeout_client_data":5`, `,"session_persistence":{"type":"SOURCE_IP"},"healthmonitor":{"type":"TCP","delay":5,"timeout":3,"max_retries":1}`, ""))), "loadbalancer")
	ids := c.ids(id)
	c.refuses(ids, map[string]refusal{
		"PUT":      {"", "PUT", "/pools/$p!", `{"pool":{"lb_algorithm":"SOURCE_IP"}}`, 501, "OVN provider does not support SOURCE_IP algorithm"},
		"batch":    {"", "PUT", "/pools/$p!/members", `{"members":[{"address":"10.0.0.9","protocol_port":1,"monitor_port":5}]}`, 501, "monitor options"},
		"failover": {"", "PUT", "/loadbalancers/$lb/failover", ``, 403, ""},
	})
	if got := c.LoadBalancer(id); got.Provider != "ovn" {
		t.Errorf("provider: %s", got.Provider)
	}
}

// TestServing follows what is served through changes.
func TestServing(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	id := c.AddServiceLoadBalancer(openstack.ServiceSpec{
		Name: "web", Subnet: c.subnet, FloatingNetwork: c.external, Ports: []openstack.ServicePort{{Protocol: "TCP", Port: 80, NodePort: 30080}},
		Nodes: map[string]string{"node-1": "10.0.0.11", "node-2": "10.0.0.12"},
	})
	lb := c.LoadBalancer(id)
	const name = "kube_service_kubernetes_default_web"
	members := []string{"10.0.0.11:30080", "10.0.0.12:30080"}
	everyone := []string{"0.0.0.0/0"} // as upstream writes it
	all := c.Serving()
	want := []openstack.Endpoint{
		{Address: lb.VIPAddress, Protocol: "TCP", Port: 80, Members: members, Sources: everyone, LoadBalancer: name, Provider: "amphora", Source: lb.VIPAddress},
		{Address: all[len(all)-1].Address, Protocol: "TCP", Port: 80, Members: members, Sources: everyone, LoadBalancer: name, Provider: "amphora", Source: lb.VIPAddress},
	}
	check(t, "serving", want, all)
	if leaks := c.Leaks(); len(leaks) != 0 {
		t.Errorf("leaks: %v", leaks)
	}
	fip := all[1].Address
	c.WatchServing(fip, "TCP", 80, "10.0.0.11:30080")
	pool := "/pools/" + lb.Pools[0]
	batch := `{"members":[{"address":"10.0.0.11","protocol_port":30080}]}`
	if got := c.put(pool+"/members", batch); got.status != 202 {
		t.Fatalf("batch: %d %s", got.status, got.fault)
	}
	check(t, "while it is pending", members, c.ServedBy(fip, "TCP", 80))
	c.settle()
	check(t, "afterwards", members[:1], c.ServedBy(fip, "TCP", 80))
	c.SetLoadBalancerStatus(id, "ERROR")
	if got := c.Outages(); len(got) != 0 {
		t.Errorf("outages: %v", got)
	}
	c.SetLoadBalancerStatus(id, "ACTIVE")
	for _, client := range []string{"198.51.100.7", "192.0.2.7"} {
		c.Watch(openstack.Watch{Address: fip, Protocol: "TCP", Port: 80, Client: netip.MustParseAddr(client)})
	}
	c.put("/listeners/"+lb.Listeners[0], `{"listener":{"allowed_cidrs":["198.51.100.0/24"]}}`)
	c.settle()
	check(t, "outages for a client that is no longer allowed", []string{"octavia.UpdateListener: " + fip + " TCP 80"}, c.Outages())
	c.put(pool+"/members", `{"members":[{"address":"10.0.0.12","protocol_port":30080}]}`)
	c.settle()
	check(t, "outages without the member", []string{"octavia.UpdateListener: " + fip + " TCP 80", "octavia.UpdateMembers: " + fip + " TCP 80"}, c.Outages())
	if leaks := strings.Join(c.Leaks(), "\n"); !strings.Contains(leaks, "lost member") {
		t.Errorf("leaks: %s", leaks)
	}
	c.DeletePort(lb.VIPPort)
	if got, status := c.ServedBy(fip, "TCP", 80), c.LoadBalancer(id).Status; got != nil || status != "ACTIVE" {
		t.Errorf("without its port: %v, %s", got, status)
	}
}
