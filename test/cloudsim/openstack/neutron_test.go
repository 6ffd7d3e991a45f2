package openstack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// site is a cloud with an external network, a private network with IPv4 and
// stateless IPv6 behind a router, and a client of the user ccm.
type site struct {
	cloud  *openstack.Cloud
	vars   map[string]string // IDs by name: private, router, public
	client *gophercloud.ServiceClient
}

// newSite makes a site. Stale reads are off, as its tests compare each response with
// what was written right before.
func newSite(t *testing.T, opts openstack.Options) *site {
	t.Helper()
	opts.StaleReads = new(openstack.StaleReads{})
	cloud := start(t, opts)
	s := &site{cloud: cloud, vars: make(map[string]string), client: network(t, connect(t, cloud, openstack.UserCCM), "")}
	s.vars["public"] = cloud.AddNetwork(openstack.NetworkSpec{Name: "public", External: true, Default: true})
	cloud.AddSubnet(openstack.SubnetSpec{Network: s.vars["public"], CIDR: "198.51.100.0/24", Pools: []string{"198.51.100.10-198.51.100.20"}})
	s.vars["private"] = cloud.AddNetwork(openstack.NetworkSpec{Name: "private"})
	private4 := cloud.AddSubnet(openstack.SubnetSpec{Network: s.vars["private"], CIDR: "10.0.0.0/24"})
	private6 := cloud.AddSubnet(openstack.SubnetSpec{Network: s.vars["private"], CIDR: "fd00:1::/64", SLAAC: true})
	s.vars["router"] = cloud.AddRouter(openstack.RouterSpec{Name: "router", External: s.vars["public"], Subnets: []string{private4, private6}})

	return s
}

// fill replaces $name$ by the value of a variable.
func (s *site) fill(text string) string {
	for name, value := range s.vars {
		text = strings.ReplaceAll(text, "$"+name+"$", value)
	}

	return text
}

// neutronResponse is a response of Neutron.
type neutronResponse struct {
	status        int
	kind, message string // of an error
	body          map[string]any
}

// object returns the object in the response.
func (r neutronResponse) object() map[string]any {
	for _, value := range r.body {
		if o, ok := value.(map[string]any); ok {
			return o
		}
	}

	return nil
}

// call sends a request, in which $name$ stands for a variable.
func (s *site) call(t *testing.T, method, path, body string) neutronResponse {
	t.Helper()
	opts := &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200, 201, 204, 400, 404}}
	if body != "" {
		opts.RawBody = strings.NewReader(s.fill(body))
		opts.MoreHeaders = map[string]string{"Content-Type": "application/json"}
	}
	response, err := s.client.Request(t.Context(), method, s.client.ServiceURL(s.fill(path)), opts)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	out := neutronResponse{status: response.StatusCode}
	_ = json.NewDecoder(response.Body).Decode(&out.body) // some have no body
	if problem, ok := out.body["NeutronError"].(map[string]any); ok {
		out.kind, _ = problem["type"].(string)
		out.message, _ = problem["message"].(string)
	}

	return out
}

// step is a request and what the response must be, as a Neutron of Zed gave it.
type step struct {
	method, path, body string
	status             int
	kind, message      string // of an error; an empty message is any
	save               string // the variable for the ID of what was made
}

// run runs steps one after the other.
func (s *site) run(t *testing.T, steps ...step) {
	t.Helper()
	for _, step := range steps {
		got := s.call(t, step.method, step.path, step.body)
		if got.status != step.status || got.kind != step.kind || (step.message != "" && got.message != s.fill(step.message)) {
			t.Errorf("%s %s %s:\n got %d %s: %s\nwant %d %s: %s", step.method, step.path, step.body,
				got.status, got.kind, got.message, step.status, step.kind, s.fill(step.message))
		}
		if step.save != "" {
			s.vars[step.save], _ = got.object()["id"].(string)
		}
	}
}

// port adds a port of the project ccm.
func (s *site) port(name string, ips ...string) {
	s.vars[name] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["private"], Name: name, IPs: ips})
}

func TestLeaksOfNeutron(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.port("node", "10.0.0.5")
	s.port("gone", "10.0.0.6")
	s.vars["g"] = s.cloud.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "g", Rules: []openstack.SecurityRule{{Protocol: "tcp", From: 22, To: 22, Prefix: "10.0.0.0/8"}}})
	s.vars["fip"] = s.cloud.AddFloatingIP(openstack.FloatingIPSpec{Network: s.vars["public"], Address: "198.51.100.15", Port: s.vars["node"]})
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		t.Fatalf("what a test made is no leak: %v", leaks)
	}
	before := s.cloud.Snapshot()
	s.run(t,
		step{method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"$public$","description":"ours"}}`, status: 201},
		step{method: "POST", path: "security-groups", body: `{"security_group":{"name":"lb"}}`, status: 201, save: "lb"},
		step{method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"$lb$","direction":"ingress","protocol":"tcp","port_range_min":80,"port_range_max":80,"remote_ip_prefix":"10.0.0.0/8"}}`, status: 201},
		step{method: "PUT", path: "ports/$node$", body: `{"port":{"security_groups":["$lb$"],"allowed_address_pairs":[{"ip_address":"10.200.0.0/24"}]}}`, status: 200},
		step{method: "PUT", path: "routers/$router$/add_extraroutes", body: `{"router":{"routes":[{"destination":"10.200.0.0/24","nexthop":"10.0.0.5"}]}}`, status: 200},
		step{method: "PUT", path: "routers/$router$/tags/ours", status: 201},
		step{method: "DELETE", path: "ports/$gone$", status: 204},
		step{method: "DELETE", path: "floatingips/$fip$", status: 204},
	)
	want := []string{
		"address pair 10.200.0.0/24 of port node in network private",
		"floating IP 198.51.100.11",
		"lost floating IP 198.51.100.15",
		"lost port gone in network private",
		"lost security group default of port node in network private",
		"route 10.200.0.0/24 via 10.0.0.5 of router router",
		"rule ingress IPv4 tcp 80-80 from 10.0.0.0/8 of security group lb",
		"security group lb",
		"security group lb of port node in network private",
		"tag ours of router router",
	}
	check(t, "leaks", want, s.cloud.Leaks())
	if lines := strings.Join(s.cloud.Resources(), "\n"); !strings.Contains(lines, "floating IP 198.51.100.11, description ours") || strings.Contains(lines, s.vars["lb"]) {
		t.Errorf("resources have settings and no IDs:\n%s", lines)
	}
	if !strings.Contains(s.cloud.Dump(), s.vars["lb"]) {
		t.Error("the dump lacks an ID")
	}
	s.cloud.Restore(before)
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left after the state is restored: %v", leaks)
	}
	s.run(t, step{method: "GET", path: "ports/$gone$", status: 200}, step{method: "GET", path: "security-groups/$lb$", status: 404, kind: "SecurityGroupNotFound"})
}

func TestBareCloudLacksAttributes(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{Profile: openstack.Bare})
	s.port("p")
	p := s.call(t, "GET", "ports/$p$", "").object()
	for _, name := range []string{"tags", "revision_number", "port_security_enabled", "allowed_address_pairs", "trunk_details"} {
		if _, ok := p[name]; ok {
			t.Errorf("a port has %s", name)
		}
	}
	s.run(t,
		step{method: "GET", path: "ports/$p$/tags", status: 404, kind: "HTTPNotFound"},
		step{method: "PUT", path: "routers/$router$/add_extraroutes", body: `{"router":{"routes":[]}}`, status: 404, kind: "HTTPNotFound"},
		step{method: "PUT", path: "routers/$router$", body: `{"router":{"routes":[]}}`, status: 400, kind: "HTTPBadRequest", message: "Unrecognized attribute(s) 'routes'"},
		step{method: "PUT", path: "ports/$p$", body: `{"port":{"allowed_address_pairs":[]}}`, status: 400, kind: "HTTPBadRequest"},
	)
	if s.call(t, "GET", "networks/$public$", "").object()["router:external"] != true {
		t.Error("the policies of old clouds show router:external to everyone")
	}
}

// novaAddresses returns the addresses of a server in Nova, by network and type.
func novaAddresses(t *testing.T, s *site, id string) []string {
	t.Helper()
	server, err := servers.Get(t.Context(), compute(t, connect(t, s.cloud, openstack.UserCCM), ""), id).Extract()
	must(t, err)
	var all []string
	for name, entries := range server.Addresses {
		for _, entry := range entries.([]any) {
			a := entry.(map[string]any)
			all = append(all, name+" "+a["OS-EXT-IPS:type"].(string)+" "+a["addr"].(string))
		}
	}

	return all
}

func TestNovaKnowsAddressesLater(t *testing.T) {
	t.Parallel()
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := testingclock.NewFakePassiveClock(begin)
	s := newSite(t, openstack.Options{Clock: clock}) // typical delays
	id := s.cloud.AddServer(openstack.ServerSpec{Name: "node-1", Networks: []openstack.ServerNetwork{{Name: "private", IPs: []string{"10.0.0.5"}}}})
	before := novaAddresses(t, s, id)
	if _, err := floatingips.Create(t.Context(), s.client, floatingips.CreateOpts{
		FloatingNetworkID: s.vars["public"], PortID: s.cloud.ServerPorts(id)[0],
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(begin.Add(59 * time.Second))
	check(t, "before the cache is renewed", before, novaAddresses(t, s, id))
	clock.SetTime(begin.Add(time.Minute))
	if got := novaAddresses(t, s, id); len(got) != len(before)+1 {
		t.Errorf("a minute later the addresses are %v, want the floating IP among them", got)
	}
	s.cloud.DeletePort(s.cloud.ServerPorts(id)[0])
	clock.SetTime(begin.Add(3 * time.Minute))
	if got := novaAddresses(t, s, id); len(got) > 0 {
		t.Errorf("without a port the addresses are %v", got)
	}
}
