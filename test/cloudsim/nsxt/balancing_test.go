package nsxt_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

const (
	service = "/infra/lb-services/s"
	server  = "/infra/lb-virtual-servers/v"
	pool    = "/infra/lb-pools/p"
	monitor = "/infra/lb-monitor-profiles/m"
	group   = "/infra/domains/default/groups/g"
)

func serviceAt(tier1 string) nsxt.Object {
	return nsxt.Object{"connectivity_path": tier1, "size": "SMALL"}
}

func members(ips ...string) []nsxt.Object {
	all := []nsxt.Object{}
	for _, ip := range ips {
		all = append(all, nsxt.Object{"ip_address": ip})
	}

	return all
}

func virtualServer(ip string, ports ...string) nsxt.Object {
	return nsxt.Object{
		"ip_address": ip, "ports": ports, "pool_path": pool, "lb_service_path": service,
		"application_profile_path": "/infra/lb-app-profiles/default-tcp-lb-app-profile", "default_pool_member_ports": []string{"30080"},
	}
}

// balance makes a load balancer service with a virtual server.
func (c *client) balance() {
	c.t.Helper()
	c.put(monitor, nsxt.Object{"resource_type": "LBTcpMonitorProfile", "monitor_port": 30080})
	c.put(monitor+"2", nsxt.Object{"resource_type": "LBHttpMonitorProfile", "monitor_port": 30081})
	c.put(pool, nsxt.Object{"members": members("10.0.0.1", "10.0.0.2"), "active_monitor_paths": []string{monitor}})
	c.put(group, nsxt.Object{"expression": []nsxt.Object{{"resource_type": "IPAddressExpression", "ip_addresses": []string{"192.0.2.0/24"}}}})
	c.put(service, serviceAt(t1))
	c.put(server, with(virtualServer("10.1.0.1", "80"), "access_list_control", nsxt.Object{"enabled": true, "action": "ALLOW", "group_path": group}))
}

func TestReferences(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		c.balance()
		for _, path := range []string{service, pool, monitor, group} {
			c.want(400, 500030, "DELETE", path, nil)
		}
		c.want(400, 500127, "PUT", server, virtualServer("10.1.0.1", "80")) // no revision, as another kind shows it
		c.want(400, 500012, "PUT", server+"2", with(virtualServer("10.1.0.2", "80"), "pool_path", pool+"2"))
		c.want(200, 0, "DELETE", server, nil)
		c.want(400, 500030, "DELETE", pool, nil) // until the virtual server is gone
		seconds(3)
		c.want(200, 0, "DELETE", pool, nil)
		c.want(400, 500030, "DELETE", monitor, nil)
		c.want(400, 500012, "PUT", server, virtualServer("10.1.0.1", "80")) // the pool is being deleted
		c.want(200, 0, "DELETE", monitor+"?force=true", nil)
	})
}

func TestTraffic(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		c.balance()
		c.want(200, 0, "PATCH", server+"2", with(virtualServer("10.1.0.1", "81"), "enabled", false))
		all := c.cloud.VirtualServers()
		if len(all) != 1 || len(all[0].Monitors) != 1 {
			c.t.Fatalf("got %+v", all)
		}
		all[0].Monitors = nil
		check(c.t, "virtual servers", nsxt.VirtualServer{
			Path: server, Service: service, Address: "10.1.0.1", Protocol: "TCP", Ports: []string{"80"},
			Members: []nsxt.Member{{Address: "10.0.0.1", Port: "30080"}, {Address: "10.0.0.2", Port: "30080"}}, Sources: []string{"192.0.2.0/24"},
		}, all[0])
		check(c.t, "a client", true, all[0].Admits(netip.MustParseAddr("192.0.2.1")))
		check(c.t, "another client", false, all[0].Admits(netip.MustParseAddr("192.0.3.1")))
	})
}

func TestBalancing(t *testing.T) {
	t.Parallel()
	many := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("10.2.%d.%d", i/250, i%250+1))
		}

		return all
	}
	udp := nsxt.Object{"resource_type": "LBUdpMonitorProfile", "send": "x"}
	udpServer := with(virtualServer("10.1.0.1", "80"), "application_profile_path", "/infra/lb-app-profiles/default-udp-lb-app-profile")
	two := []string{monitor, monitor + "2"}
	for reason, tc := range map[string]struct {
		options nsxt.Balancing
		path    string
		body    nsxt.Object
		status  int
		code    int
		state   string // once realized
	}{
		"no address":           {path: server + "2", body: virtualServer("", "81"), status: 400, code: 255},
		"no port":              {path: server + "2", body: virtualServer("10.1.0.1"), status: 400, code: 255},
		"wrong port":           {path: server + "2", body: virtualServer("10.1.0.1", "90-80"), status: 400, code: 255},
		"no profile":           {path: server + "2", body: with(virtualServer("10.1.0.1", "81"), "application_profile_path", ""), status: 400, code: 255},
		"port is taken":        {path: server + "2", body: virtualServer("10.1.0.1", "79-81"), status: 400, code: 255},
		"shared port":          {nsxt.Balancing{SharedPorts: true}, server + "2", virtualServer("10.1.0.1", "80"), 200, 0, "REALIZED REALIZED"},
		"other protocol":       {path: server + "2", body: udpServer, status: 200, state: "REALIZED REALIZED"},
		"other address":        {path: server + "2", body: virtualServer("10.1.0.2", "80"), status: 200, state: "REALIZED REALIZED"},
		"family":               {path: server + "2", body: virtualServer("fd00::1", "80"), status: 400, code: 255},
		"family, accepted":     {nsxt.Balancing{ErrorsRealized: true}, server + "2", virtualServer("fd00::1", "80"), 200, 0, "REALIZED ERROR"},
		"family of the pool":   {path: pool, body: nsxt.Object{"members": members("fd00::1")}, status: 400, code: 255},
		"two families":         {path: pool + "2", body: nsxt.Object{"members": members("fd00::1", "10.0.0.1")}, status: 400, code: 255},
		"member":               {path: pool + "2", body: nsxt.Object{"members": members("x")}, status: 400, code: 255},
		"members and group":    {path: pool + "2", body: nsxt.Object{"members": members("10.0.0.1"), "member_group": nsxt.Object{"group_path": group}}, status: 400, code: 255},
		"member group":         {path: pool + "2", body: nsxt.Object{"member_group": nsxt.Object{"group_path": group}}, status: 200, state: "REALIZED REALIZED"},
		"SNAT":                 {path: pool + "2", body: nsxt.Object{"snat_translation": nsxt.Object{"type": "x"}}, status: 400, code: 255},
		"two monitors":         {path: pool + "2", body: nsxt.Object{"active_monitor_paths": two}, status: 400, code: 255},
		"two monitors allowed": {nsxt.Balancing{SeveralMonitors: true}, pool + "2", nsxt.Object{"active_monitor_paths": two}, 200, 0, "REALIZED REALIZED"},
		"too many members":     {path: pool, body: nsxt.Object{"members": members(many(301)...)}, status: 400, code: 255},
		"members up to limit":  {path: pool, body: nsxt.Object{"members": members(many(300)...)}, status: 200, state: "REALIZED REALIZED"},
		"UDP monitor":          {path: monitor + "3", body: udp, status: 400, code: 255},
		"whole UDP monitor":    {path: monitor + "3", body: with(udp, "receive", "y"), status: 200, state: "REALIZED REALIZED"},
		"monitor without type": {path: monitor + "3", body: nsxt.Object{}, status: 400, code: 255},
		"size":                 {path: service + "2", body: nsxt.Object{"size": "TINY"}, status: 400, code: 255},
		"no tier-1":            {path: service + "2", body: nsxt.Object{}, status: 200, state: "REALIZED REALIZED"},
		"unknown tier-1":       {path: service + "2", body: serviceAt("/infra/tier-0s/t0"), status: 400, code: 500012},
		"second service":       {path: service + "2", body: serviceAt(t1), status: 400, code: 255},
		"second allowed":       {nsxt.Balancing{ServicesPerTier1: 2}, service + "2", serviceAt(t1), 200, 0, "REALIZED ERROR"}, // there is a credit for one
		"no edge":              {path: service + "2", body: serviceAt("/infra/tier-1s/bare"), status: 200, state: "REALIZED ERROR"},
		"no edge, refused":     {nsxt.Balancing{RefuseWithoutEdge: true}, service + "2", serviceAt("/infra/tier-1s/bare"), 400, 500012, ""},
		"on no edge":           {path: server + "2", body: with(virtualServer("10.1.0.1", "80"), "lb_service_path", "/infra/lb-services/bare"), status: 200, state: "REALIZED ERROR"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			tier1s := []nsxt.Tier1{{ID: "t1", EdgeCluster: true, Credits: 1}, {ID: "bare"}}
			simulate(t, nsxt.Spec{Balancing: tc.options, Tier1s: tier1s}, func(c *client) {
				c.balance()
				if reason == "on no edge" {
					c.put("/infra/lb-services/bare", serviceAt("/infra/tier-1s/bare"))
				}
				c.want(tc.status, tc.code, "PATCH", tc.path, tc.body)
				seconds(1)
				if tc.status == 200 {
					states, _ := c.state(tc.path)
					check(c.t, "states", tc.state, states)
				}
			})
		})
	}
}

func TestVirtualServerLimit(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		c.balance()
		for i := range 19 {
			c.put(fmt.Sprint(server, i), virtualServer("10.1.0.1", fmt.Sprint(1000+i)))
		}
		c.want(400, 255, "PUT", server+"20", virtualServer("10.1.0.1", "2000"))
		c.put(service, with(c.get(service).body, "size", "MEDIUM"))
		c.put(server+"20", virtualServer("10.1.0.1", "2000"))
	})
}
