package openstack_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// writes are the changes of each sort below a load balancer.
var writes = map[string]refusal{
	"listener POST":   {"", "POST", "/listeners", `{"listener":{"loadbalancer_id":"$lb","protocol":"TCP","protocol_port":99}}`, 0, "lb"},
	"listener PUT":    {"", "PUT", "/listeners/$tcp!", `{"listener":{"name":"x"}}`, 0, "lb"},
	"listener DELETE": {"", "DELETE", "/listeners/$udp!", ``, 0, "lb"},
	"pool POST":       {"", "POST", "/pools", `{"pool":{"loadbalancer_id":"$lb","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`, 0, "lb"},
	"pool PUT":        {"", "PUT", "/pools/$p!", `{"pool":{"name":"p"}}`, 0, "lb"},
	"pool DELETE":     {"", "DELETE", "/pools/$h!", ``, 0, "lb"},
	"member POST":     {"", "POST", "/pools/$p!/members", `{"member":{"address":"10.0.0.99","protocol_port":1}}`, 0, "pool"},
	"members PUT":     {"", "PUT", "/pools/$p!/members", `{"members":[]}`, 0, "pool"},
	"monitor POST":    {"", "POST", "/healthmonitors", `{"healthmonitor":{"pool_id":"$p!","type":"TCP","delay":5,"timeout":3,"max_retries":1}}`, 0, "pool"},
	"policy POST":     {"", "POST", "/l7policies", `{"l7policy":{"listener_id":"$http!","action":"REJECT"}}`, 0, "lb"},
}

// TestImmutable has each change with a load balancer in each state.
func TestImmutable(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	id := c.lb(parts)
	fill := c.ids(id)
	for _, status := range []string{"PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ERROR"} {
		c.SetLoadBalancerStatus(id, status)
		cases := map[string]refusal{}
		for name, write := range writes {
			write.reason, write.status, write.fault = status, 409, "Load Balancer $lb is immutable and cannot be updated."
			cases[name] = write
		}
		invalid := "Invalid state " + status + " of loadbalancer resource $lb"
		cases["PUT"] = refusal{status, "PUT", "/loadbalancers/$lb", `{"loadbalancer":{"tags":["x"]}}`, 409, invalid}
		if status != "ERROR" {
			cases["DELETE"] = refusal{status, "DELETE", "/loadbalancers/$lb?cascade=true", "", 409, invalid}
		}
		c.refuses(fill, cases)
	}
	// For ever, until an operator repairs it.
	c.settle()
	if got := c.status("/loadbalancers/" + id); got != "ERROR" {
		t.Errorf("later: %s", got)
	}
	c.SetLoadBalancerStatus(id, "ACTIVE")
	for name, write := range writes {
		if got := c.do(c.client, write.method, fill.Replace(write.path), fill.Replace(write.body)); got.status >= 300 {
			t.Errorf("%s of an ACTIVE one: %d %s", name, got.status, got.fault)
		}
		if got := c.status("/loadbalancers/" + id); got != "PENDING_UPDATE" {
			t.Errorf("%s makes the load balancer %s", name, got)
		}
		c.settle()
	}
	c.SetLoadBalancerStatus(id, "ERROR")
	if got := c.del("/loadbalancers/" + id + "?cascade=true"); got.status != 204 {
		t.Errorf("delete in ERROR: %d %s", got.status, got.fault)
	}
}

// TestPoolInError has a pool in ERROR below an ACTIVE load balancer.
func TestPoolInError(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	id := c.lb(parts)
	fill := c.ids(id)
	pool := fill.Replace("$p!")
	cases := map[string]refusal{}
	for name, write := range writes {
		if write.fault == "pool" {
			write.status, write.fault = 409, "Pool $p! is immutable and cannot be updated."
			cases[name] = write
		}
	}
	for _, forGood := range []bool{true, false} {
		c.FailPool(pool, forGood)
		c.refuses(fill, cases)
		if got := c.put("/pools/"+pool, `{"pool":{"description":"x"}}`); got.status != 200 {
			t.Errorf("PUT of the pool: %d %s", got.status, got.fault)
		}
		c.settle()
		if got := c.status("/pools/" + pool); got != map[bool]string{true: "ERROR", false: "ACTIVE"}[forGood] {
			t.Errorf("after the PUT, for good %v: %s", forGood, got)
		}
		if got := c.put(fill.Replace("/listeners/$tcp!"), `{"listener":{"description":"x"}}`); got.status != 200 {
			t.Errorf("PUT of the listener: %d %s", got.status, got.fault)
		}
		c.settle()
	}
}

// TestPendingAndFailing has changes that are held, fail, or that a failover delays.
func TestPendingAndFailing(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	id := c.lb(parts)
	fill := c.ids(id)
	c.HoldPending(id, true)
	c.put(fill.Replace("/listeners/$tcp!"), `{"listener":{"name":"tcp"}}`)
	c.settle()
	if got := c.status("/loadbalancers/" + id); got != "PENDING_UPDATE" {
		t.Errorf("held: %s", got)
	}
	c.HoldPending(id, false)
	if got := c.status("/loadbalancers/" + id); got != "ACTIVE" {
		t.Errorf("released: %s", got)
	}
	c.FailChanges(id, 1)
	c.put(fill.Replace("/pools/$p!/members"), `{"members":[]}`)
	c.settle()
	if got := c.status("/loadbalancers/"+id) + c.status(fill.Replace("/pools/$p!")); got != "ACTIVEERROR" {
		t.Errorf("failed change of a pool: %s", got)
	}
	c.FailChanges(id, 1)
	c.put("/loadbalancers/"+id, `{"loadbalancer":{"name":"x"}}`)
	c.settle()
	if got := c.status("/loadbalancers/" + id); got != "ERROR" {
		t.Errorf("failed change of the load balancer: %s", got)
	}
	c.SetLoadBalancerStatus(id, "ACTIVE")
	c.StartFailover(id, time.Minute)
	if got := c.status("/loadbalancers/" + id); got != "PENDING_UPDATE" {
		t.Errorf("failover: %s", got)
	}
	c.settle()
	if got := c.do(c.admins, "PUT", "/loadbalancers/"+id+"/failover", ""); got.status != 202 {
		t.Errorf("failover by an operator: %d %s", got.status, got.fault)
	}
	c.FailCreations("", 1)
	failed := c.lb("")
	if got := c.status("/loadbalancers/" + failed); got != "ERROR" {
		t.Errorf("failed creation: %s", got)
	}
	c.SetOperatingStatus(failed, "ONLINE")
	if got := c.LoadBalancer(failed); got.Operating != "ONLINE" || got.Status != "ERROR" {
		t.Errorf("operating status: %+v", got)
	}
	c.SetStuckParts(true)
	stuck := c.ids(c.lb(strings.ReplaceAll(parts, "10.0.0.11", "10.0.0.12")))
	if got := c.put(stuck.Replace("/pools/$p!/members"), `{"members":[]}`); got.status != 409 {
		t.Errorf("members of a stuck pool: %d", got.status)
	}
	c.put(stuck.Replace("/pools/$p!"), `{"pool":{}}`)
	c.settle()
	if got := c.put(stuck.Replace("/pools/$p!/members"), `{"members":[]}`); got.status != 202 {
		t.Errorf("members after a PUT of the pool: %d %s", got.status, got.fault)
	}
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

// TestDeleted keeps deleted load balancers, as foreign implementations do.
func TestDeleted(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	c.SetKeepDeleted(true)
	id := c.lb(parts)
	c.del("/loadbalancers/" + id + "?cascade=true")
	c.settle()
	if got := c.status("/loadbalancers/" + id); got != "DELETED" || len(c.Leaks()) != 0 {
		t.Errorf("deleted: %s, leaks %v", got, c.Leaks())
	}
	if got := c.del("/loadbalancers/" + id); got.status != 404 {
		t.Errorf("deleted again: %d", got.status)
	}
}

// TestProjectBusy creates load balancers in parallel. The calls wait for each other
// before they are served, so that they overlap in each run.
func TestProjectBusy(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		lock   openstack.ProjectLock
		first  bool
		busy   int
	}{
		"first":  {"all but one fail without a record", openstack.LockFirst, true, 3},
		"later":  {"they wait for each other", openstack.LockFirst, false, 0},
		"always": {"a cluster of databases", openstack.LockAlways, false, 3},
		"never":  {"", openstack.LockNever, true, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startLB(t, openstack.Options{})
			c.SetProjectLock(tc.lock)
			if !tc.first {
				c.lb("")
			}
			var arrived, done sync.WaitGroup
			arrived.Add(4)
			var turn sync.Mutex
			c.Interceptor().Inject("octavia.CreateLoadBalancer", simserver.First(4), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
				arrived.Done()
				arrived.Wait()
				turn.Lock()
				defer turn.Unlock()
				apply.ServeHTTP(w, r)
			})
			counts := make([]int, 4)
			for i := range counts {
				done.Go(func() {
					got := c.post("/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"vip_subnet_id":%q}}`, c.subnet))
					counts[i] = got.status
				})
			}
			done.Wait()
			busy := 0
			for _, status := range counts {
				if status == http.StatusServiceUnavailable {
					busy++
				}
			}
			if busy > tc.busy || (tc.busy > 0 && busy == 0) {
				t.Errorf("%s: %d of 4 are busy, want at most %d: %v", tc.reason, busy, tc.busy, counts)
			}
		})
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
	if diff := cmp.Diff(want, all); diff != "" {
		t.Fatalf("serving (-want +got):\n%s", diff)
	}
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
	if diff := cmp.Diff(members, c.ServedBy(fip, "TCP", 80)); diff != "" {
		t.Errorf("while it is pending (-want +got):\n%s", diff)
	}
	c.settle()
	if diff := cmp.Diff(members[:1], c.ServedBy(fip, "TCP", 80)); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
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
	if diff := cmp.Diff([]string{"octavia.UpdateListener: " + fip + " TCP 80"}, c.Outages()); diff != "" {
		t.Errorf("outages for a client that is no longer allowed (-want +got):\n%s", diff)
	}
	c.put(pool+"/members", `{"members":[{"address":"10.0.0.12","protocol_port":30080}]}`)
	c.settle()
	if diff := cmp.Diff([]string{"octavia.UpdateListener: " + fip + " TCP 80", "octavia.UpdateMembers: " + fip + " TCP 80"}, c.Outages()); diff != "" {
		t.Errorf("outages without the member (-want +got):\n%s", diff)
	}
	if leaks := strings.Join(c.Leaks(), "\n"); !strings.Contains(leaks, "lost member") {
		t.Errorf("leaks: %s", leaks)
	}
	c.DeletePort(lb.VIPPort)
	if got, status := c.ServedBy(fip, "TCP", 80), c.LoadBalancer(id).Status; got != nil || status != "ACTIVE" {
		t.Errorf("without its port: %v, %s", got, status)
	}
}

// TestSecurityGroup has the group of a load balancer, which its user does not see.
func TestSecurityGroup(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	id := c.lb(`"listeners":[{"protocol":"TCP","protocol_port":80,"allowed_cidrs":["192.0.2.0/24"]}]`)
	port, _ := c.Port(c.LoadBalancer(id).VIPPort)
	if len(port.Groups) == 0 || !strings.Contains(c.Dump(), "security group lb-"+id) {
		t.Errorf("groups of the port: %v\n%s", port.Groups, c.Dump())
	}
	c.del("/loadbalancers/" + id + "?cascade=true")
	c.settle()
	if strings.Contains(c.Dump(), "lb-"+id) {
		t.Errorf("group is left:\n%s", c.Dump())
	}
}

// TestOctaviaSnapshot restores a state with a change under way.
func TestOctaviaSnapshot(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	id := c.lb(parts)
	fill := c.ids(id)
	c.put(fill.Replace("/pools/$p!/members"), `{"members":[{"address":"10.0.0.77","protocol_port":1}]}`)
	state, before := c.Snapshot(), c.Dump()
	for range 2 {
		c.settle()
		if got := c.status("/loadbalancers/" + id); got != "ACTIVE" || !strings.Contains(c.Dump(), "10.0.0.77") {
			t.Errorf("after the change: %s", got)
		}
		c.del("/loadbalancers/" + id + "?cascade=true")
		c.settle()
		c.Restore(state)
		// Time has gone on: what was due is over now.
		if got := c.status("/loadbalancers/" + id); got != "ACTIVE" {
			t.Errorf("restored: %s, was\n%s", got, before)
		}
		c.Restore(state)
	}
}

// TestBarbican looks for certificates.
func TestBarbican(t *testing.T) {
	t.Parallel()
	c := startLB(t, openstack.Options{})
	for _, container := range []bool{true, false} {
		ref := c.AddSecret(openstack.SecretSpec{Name: "tls", Container: container})
		for client, want := range map[string]int{"own": 200, "other": 403, "none": 404} {
			url, who := ref, c.client
			switch client {
			case "other":
				who = c.other
			case "none":
				url = ref[:len(ref)-1] + "x"
			}
			response, err := who.Request(t.Context(), http.MethodGet, url, refRequest())
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("container %v, %s: %d, want %d", container, client, response.StatusCode, want)
			}
		}
	}
}
