package openstack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestOctaviaVersions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		opts    openstack.Options
		current string
		count   int
	}{
		"zed":   {"the versions are in no useful order", openstack.Options{}, "v2.26", 27},
		"bare":  {"an old cloud has one", openstack.Options{Profile: openstack.Bare}, "v2.0", 1},
		"other": {"", openstack.Options{OctaviaMinor: 10}, "v2.10", 11},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, tc.opts)
			cloud.SetVersionsUnordered(name == "zed")
			client := loadBalancer(t, connect(t, cloud, openstack.UserCCM), "")
			client.ResourceBase = "" // the list is at the root
			client.Endpoint = cloud.EndpointURL("load-balancer", "") + "/"
			page, err := apiversions.List(client).AllPages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			versions, err := apiversions.ExtractAPIVersions(page)
			if err != nil {
				t.Fatal(err)
			}
			var current []string
			for _, v := range versions {
				if v.Status == "CURRENT" {
					current = append(current, v.ID)
				}
			}
			if len(versions) != tc.count || !slices.Equal(current, []string{tc.current}) {
				t.Errorf("%s: got %d versions, current %v, want %d and %s", tc.reason, len(versions), current, tc.count, tc.current)
			}
			if last := versions[len(versions)-1].ID; name == "zed" && last == tc.current {
				t.Errorf("the last version is the current one: %s", last)
			}
		})
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

// TestLoadBalancerLife creates a load balancer with all parts in one request, changes
// and deletes it.
func TestLoadBalancerLife(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	made, err := loadbalancers.Create(t.Context(), c.client, loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: c.subnet, Tags: []string{"a", "b"},
		Listeners: []listeners.CreateOpts{{
			Name: "listener", Protocol: listeners.ProtocolTCP, ProtocolPort: 80, Tags: []string{"a"},
			DefaultPool: &pools.CreateOpts{
				Name: "pool", Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin,
				Members: []pools.CreateMemberOpts{{Name: "node-1", Address: "10.0.0.11", ProtocolPort: 30080}},
				Monitor: pools.CreateOpts{}.Monitor,
			},
		}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	port, ok := c.Port(made.VipPortID)
	if !ok || port.Status != "DOWN" {
		t.Errorf("port of the address: %+v, %v", port, ok)
	}
	if diff := cmp.Diff([]string{"PENDING_CREATE", "amphora", "a b"}, []string{made.ProvisioningStatus, made.Provider, strings.Join(made.Tags, " ")}); diff != "" {
		t.Errorf("new load balancer (-want +got):\n%s", diff)
	}
	for name, write := range map[string]func() lbResponse{
		"PUT":    func() lbResponse { return c.put("/loadbalancers/"+made.ID, `{"loadbalancer":{"name":"x"}}`) },
		"DELETE": func() lbResponse { return c.del("/loadbalancers/" + made.ID + "?cascade=true") },
	} {
		if got := write(); got.status != 409 || got.fault != "Invalid state PENDING_CREATE of loadbalancer resource "+made.ID {
			t.Errorf("%s while it is created: %d %s", name, got.status, got.fault)
		}
	}
	c.clock.SetTime(c.clock.Now().Add(time.Minute))
	if got := c.status("/loadbalancers/" + made.ID); got != "ACTIVE" {
		t.Errorf("after a minute: %s", got)
	}
	if got := c.put("/pools/"+made.Pools[0].ID+"/members", `{"members":[]}`); got.status != 409 || got.fault != "Pool "+made.Pools[0].ID+" is immutable and cannot be updated." {
		t.Errorf("members before the pool has settled: %d %s", got.status, got.fault)
	}
	c.settle()
	if got := c.put("/loadbalancers/"+made.ID, `{"loadbalancer":{}}`); got.status != 200 {
		t.Errorf("change of nothing: %d %s", got.status, got.fault)
	}
	if got := c.status("/loadbalancers/" + made.ID); got != "PENDING_UPDATE" {
		t.Errorf("change of nothing: %s", got)
	}
	c.settle()
	if got := c.del("/loadbalancers/" + made.ID); got.status != 400 || !strings.Contains(got.fault, "it has children") {
		t.Errorf("delete without cascade: %d %s", got.status, got.fault)
	}
	if diff := cmp.Diff([]string{"load balancer web"}, c.Leaks()); diff != "" {
		t.Errorf("leaks (-want +got):\n%s", diff)
	}
	if got := c.del("/loadbalancers/" + made.ID + "?cascade=true"); got.status != 204 {
		t.Errorf("cascade: %d %s", got.status, got.fault)
	}
	if got := c.status("/loadbalancers/" + made.ID); got != "PENDING_DELETE" {
		t.Errorf("deleted: %s", got)
	}
	c.settle()
	if got := c.get("/loadbalancers/" + made.ID); got.status != 404 || got.fault != "Load Balancer "+made.ID+" not found." {
		t.Errorf("at the end: %d %s", got.status, got.fault)
	}
	if _, ok := c.Port(made.VipPortID); ok || len(c.Leaks()) != 0 {
		t.Errorf("port is there: %v, leaks: %v", ok, c.Leaks())
	}
}

// TestLoadBalancerRefusals has the responses of an Octavia of Zed.
func TestLoadBalancerRefusals(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	server := c.AddServer(openstack.ServerSpec{Name: "node-1"})
	used := c.AddPort(openstack.PortSpec{Network: c.network, IPs: []string{"10.0.0.50"}, Server: server})
	free := c.AddPort(openstack.PortSpec{Network: c.network, IPs: []string{"10.0.0.60"}})
	flavor := c.AddLBFlavor(openstack.LBFlavor{Name: "small", Provider: "octavia"})
	disabled := c.AddLBFlavor(openstack.LBFlavor{Name: "off", Disabled: true})
	c.AddLBZone(openstack.LBZone{Name: "off", Disabled: true})
	none := "11111111-2222-3333-4444-555555555555"
	fill := strings.NewReplacer("$none", none, "$subnet", c.subnet, "$outside", c.outside, "$net", c.external, "$foreign", c.otherLAN,
		"$used", used, "$free", free, "$server", server, "$flavor", flavor, "$disabled", disabled, "$v6", c.subnet6)
	pool := func(rest string) string {
		return `{"loadbalancer":{"vip_subnet_id":"$subnet","listeners":[{"protocol":"TCP","protocol_port":80,"default_pool":{` + rest + `}}]}}`
	}
	lb := func(rest string) string { return `{"loadbalancer":{` + rest + `}}` }
	c.refuses(fill, map[string]refusal{
		"no address":        {"", "POST", "/loadbalancers", lb(`"name":"x"`), 400, "Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id."},
		"unknown subnet":    {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$none"`), 400, "Subnet $none not found."},
		"unknown network":   {"", "POST", "/loadbalancers", lb(`"vip_network_id":"$none"`), 400, "Network $none not found."},
		"unknown port":      {"", "POST", "/loadbalancers", lb(`"vip_port_id":"$none"`), 400, "Port $none not found."},
		"other network":     {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","vip_network_id":"$net"`), 400, "Subnet $subnet not found."},
		"external subnet":   {"it is invisible to users", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$outside"`), 400, "Subnet $outside not found."},
		"foreign subnet":    {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$foreign"`), 400, "Subnet $foreign not found."},
		"used port":         {"", "POST", "/loadbalancers", lb(`"vip_port_id":"$used"`), 400, "Port $used is already used by device $server"},
		"two addresses":     {"a port has one of each stateless subnet", "POST", "/loadbalancers", lb(`"vip_port_id":"$free"`), 400, "VIP port's subnet could not be determined"},
		"used address":      {"Neutron's conflict is the driver's error", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","vip_address":"10.0.0.50"`), 500, "Provider 'amphora' reports error: "},
		"outside":           {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","vip_address":"10.9.0.1"`), 500, "Provider 'amphora' reports error: "},
		"not an address":    {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","vip_address":"address"`), 400, "Value should be IPv4 or IPv6 format"},
		"provider":          {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","provider":"nothing"`), 400, "Provider 'nothing' is not enabled."},
		"flavor":            {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","flavor_id":"$none"`), 400, "Validation failure: Invalid flavor_id."},
		"empty flavor":      {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","flavor_id":""`), 400, "Value should be UUID format"},
		"disabled flavor":   {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","flavor_id":"$disabled"`), 400, "The selected flavor is not allowed in this deployment: $disabled"},
		"other provider":    {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","flavor_id":"$flavor","provider":"amphora"`), 400, "Flavor '$flavor' is not compatible with provider 'amphora'"},
		"zone":              {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","availability_zone":"nowhere"`), 400, "Validation failure: Invalid availability zone."},
		"disabled zone":     {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","availability_zone":"off"`), 400, "The selected availability_zone is not allowed"},
		"long name":         {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","name":"` + strings.Repeat("n", 256) + `"`), 400, "maximum character requirement of 255"},
		"unknown field":     {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","color":"red"`), 400, "Unknown attribute for argument load_balancer.loadbalancer: color"},
		"no envelope":       {"", "POST", "/loadbalancers", `{"name":"x"}`, 400, "Unknown attribute for argument load_balancer: name"},
		"twice one subnet":  {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","additional_vips":[{"subnet_id":"$subnet"}]`), 400, "Duplicate VIP subnet(s)"},
		"bad pair":          {"", "POST", "/loadbalancers", strings.Replace(pool(`"name":"p","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"`), `"TCP"`, `"UDP"`, 1), 400, "The pool protocol 'TCP' is invalid while the listener protocol is 'UDP'."},
		"pool without name": {"", "POST", "/loadbalancers", pool(`"protocol":"TCP","lb_algorithm":"ROUND_ROBIN"`), 400, "Pools must be named when creating a fully populated loadbalancer."},
		"only a reference":  {"", "POST", "/loadbalancers", pool(`"name":"p"`), 400, "Pool 'p' was referenced but no full definition was found."},
		"no algorithm":      {"", "POST", "/loadbalancers", pool(`"name":"p","protocol":"TCP"`), 400, "Pool definition for 'p' missing required attribute: lb_algorithm"},
		"duplicate member":  {"", "POST", "/loadbalancers", pool(`"name":"p","protocol":"TCP","lb_algorithm":"ROUND_ROBIN","members":[{"address":"10.0.0.9","protocol_port":1},{"address":"10.0.0.9","protocol_port":1}]`), 409, "Another member on this pool is already using ip 10.0.0.9 on protocol_port 1"},
		"deny list":         {"", "POST", "/loadbalancers", pool(`"name":"p","protocol":"TCP","lb_algorithm":"ROUND_ROBIN","members":[{"address":"169.254.169.254","protocol_port":1}]`), 400, "169.254.169.254 is not a valid option for member address"},
		"monitor":           {"", "POST", "/loadbalancers", pool(`"name":"p","protocol":"TCP","lb_algorithm":"ROUND_ROBIN","healthmonitor":{"type":"UDP-CONNECT","delay":5,"timeout":3,"max_retries":1}`), 400, "The UDP-CONNECT type is only supported for pools of type UDP/SCTP."},
		"tag twice":         {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","tags":["a","a"]`), 500, "Duplicate entry"},
		"tags":              {"the message has the body", "POST", "/loadbalancers", lb(`"tags":"x"`), 400, "attribute load_balancer. Value: '{'loadbalancer': {'tags': 'x'}}'. Value not a valid list: x"},
		"nothing":           {"", "POST", "/loadbalancers", `{}`, 500, "'UnsetType' object has no attribute"},
		"null":              {"", "POST", "/loadbalancers", `{"loadbalancer":null}`, 500, "'NoneType' object has no attribute"},
		"within":            {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","listeners":[{"protocol":"TCP","protocol_port":80,"color":1}]`), 400, "Unknown attribute for argument load_balancer.loadbalancer.listeners: color"},
		"two listeners":     {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","listeners":[{"protocol":"TCP","protocol_port":80},{"protocol":"HTTP","protocol_port":80}]`), 409, "is already using protocol TCP and protocol_port 80"},
		"CIDR family":       {"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","listeners":[{"protocol":"TCP","protocol_port":80,"allowed_cidrs":["fd00::/64"]}]`), 400, "CIDR fd00::/64 IP version incompatible with VIP"},
		"two pools": {
			"", "POST", "/loadbalancers", lb(`"vip_subnet_id":"$subnet","pools":[{"name":"p","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"},{"name":"p","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}]`),
			400, "Pool names must be unique when creating a fully populated loadbalancer.",
		},
	})
}

// TestVIPForms has the forms of the address that are accepted.
func TestVIPForms(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	port := c.AddPort(openstack.PortSpec{Network: c.network, IPs: []string{"10.0.0.60"}, Name: "mine"})
	cases := map[string]struct{ reason, body, subnet, address string }{
		"network":    {"IPv4 is preferred", `"vip_network_id":"` + c.network + `"`, c.subnet, ""},
		"IPv6":       {"", `"vip_subnet_id":"` + c.subnet6 + `"`, c.subnet6, ""},
		"address":    {"", `"vip_subnet_id":"` + c.subnet + `","vip_address":"10.0.0.77"`, c.subnet, "10.0.0.77"},
		"port":       {"with the subnet", `"vip_port_id":"` + port + `","vip_subnet_id":"` + c.subnet + `"`, c.subnet, "10.0.0.60"},
		"both":       {"", `"vip_subnet_id":"` + c.subnet + `","additional_vips":[{"subnet_id":"` + c.subnet6 + `"}]`, c.subnet, ""},
		"in network": {"", `"vip_network_id":"` + c.network + `","vip_address":"10.0.0.78"`, c.subnet, "10.0.0.78"},
	}
	for name, tc := range cases {
		got := c.post("/loadbalancers", `{"loadbalancer":{`+tc.body+`}}`)
		if got.status != http.StatusCreated {
			t.Errorf("%s: %s: %d %s", name, tc.reason, got.status, got.fault)

			continue
		}
		lb := got.body["loadbalancer"].(map[string]any)
		if lb["vip_subnet_id"] != tc.subnet || (tc.address != "" && lb["vip_address"] != tc.address) {
			t.Errorf("%s: %s: %v %v", name, tc.reason, lb["vip_subnet_id"], lb["vip_address"])
		}
		if extra := lb["additional_vips"].([]any); (len(extra) == 1) != (name == "both") {
			t.Errorf("%s: additional VIPs: %v", name, extra)
		}
		c.settle()
		if got := c.del("/loadbalancers/" + lb["id"].(string)); got.status != 204 {
			t.Errorf("%s: delete: %d %s", name, got.status, got.fault)
		}
		c.settle()
	}
	if p, ok := c.Port(port); !ok || len(c.Leaks()) != 0 {
		t.Errorf("port of the user: %+v %v, leaks %v", p, ok, c.Leaks())
	}
}

// TestDeploymentRules has what deployments forbid.
func TestDeploymentRules(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	body := fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q}}`, c.subnet)
	c.SetVIPRules(openstack.VIPRules{NoSubnet: true})
	c.refuses(strings.NewReplacer(), map[string]refusal{"subnet": {"", "POST", "/loadbalancers", body, 400, "use of vip_subnet_id is disallowed by this deployment's configuration."}})
	c.SetVIPRules(openstack.VIPRules{Networks: []string{c.external}})
	c.refuses(strings.NewReplacer(), map[string]refusal{"network": {"", "POST", "/loadbalancers", body, 400, "Supplied VIP network_id is not allowed"}})
	c.SetVIPRules(openstack.VIPRules{})
	c.SetBrokenProviders("amphora")
	c.refuses(strings.NewReplacer(), map[string]refusal{"broken": {"", "POST", "/loadbalancers", body, 501, "Provider 'amphora' was not found."}})
	c.SetProviders("ovn")
	c.refuses(strings.NewReplacer(), map[string]refusal{"missing": {"", "POST", "/loadbalancers", strings.Replace(body, "{\"vip", `{"provider":"amphora","vip`, 1), 400, "Provider 'amphora' is not enabled."}})
}

// TestSmallNetwork has a network without enough addresses.
func TestSmallNetwork(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	network := c.AddNetwork(openstack.NetworkSpec{Name: "small"})
	subnet := c.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "10.7.0.0/29", Pools: []string{"10.7.0.2-10.7.0.3"}})
	c.AddPort(openstack.PortSpec{Network: network})
	c.refuses(strings.NewReplacer(), map[string]refusal{"by network": {
		"one address is free", "POST", "/loadbalancers", `{"loadbalancer":{"vip_network_id":"` + network + `"}}`, 400,
		"Subnet(s) in the supplied network do not contain enough available IPs.",
	}})
	c.AddPort(openstack.PortSpec{Network: network})
	c.refuses(strings.NewReplacer(), map[string]refusal{"by subnet": {
		"none is free", "POST", "/loadbalancers", `{"loadbalancer":{"vip_subnet_id":"` + subnet + `"}}`, 500, "Provider 'amphora' reports error: No more IP addresses available on network",
	}})
}

// TestRefusedPort has the port that a refused creation leaves behind.
func TestRefusedPort(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{Quotas: openstack.Quotas{Listeners: 1}})
	body := fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q,"listeners":[{"protocol":"TCP","protocol_port":1},{"protocol":"TCP","protocol_port":2}]}}`, c.subnet)
	for n := range 3 {
		if got := c.post("/loadbalancers", body); got.status != http.StatusForbidden {
			t.Fatalf("creation: %d %s", got.status, got.fault)
		}
		if got := strings.Count(c.Dump(), "port octavia-lb-"); got != n+1 {
			t.Errorf("%d ports after %d refusals", got, n+1)
		}
	}
	if got := c.LoadBalancers(); len(got) != 0 {
		t.Errorf("load balancers: %v", got)
	}
}
