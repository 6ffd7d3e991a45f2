package client_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// missingID is the ID of nothing.
const missingID = "99999999-2222-4333-8444-555555555555"

// lbFixture is a cloud with networks and one load balancer with all parts.
type lbFixture struct {
	*fixture

	client                                    *client.Client
	network, subnet, external, outside        string
	lb, vipPort, listener, pool, member, hm   string
	port, group, floatingIP, freeIP, rule, sg string
}

// newLBFixture starts a cloud. No read is stale, since a test here makes one call and
// looks at its effect.
func newLBFixture(t *testing.T, options openstack.Options) *lbFixture {
	t.Helper()
	options.StaleReads = new(openstack.StaleReads)
	f := &lbFixture{fixture: newFixture(t, options)}
	f.network = f.AddNetwork(openstack.NetworkSpec{Name: "private"})
	f.subnet = f.AddSubnet(openstack.SubnetSpec{Network: f.network, CIDR: "10.0.0.0/24", Name: "v4"})
	f.external = f.AddNetwork(openstack.NetworkSpec{Name: "public", External: true, Project: openstack.ProjectOther})
	f.outside = f.AddSubnet(openstack.SubnetSpec{Network: f.external, CIDR: "192.0.2.0/24"})
	f.AddRouter(openstack.RouterSpec{Name: "router", External: f.external, Subnets: []string{f.subnet}})
	f.lb = f.addLB("lb", "a", "b")
	made := f.LoadBalancer(f.lb)
	f.vipPort, f.listener, f.pool = made.VIPPort, made.Listeners[0], made.Pools[0]
	f.group = f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "group"})
	f.sg = f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "used", Rules: []openstack.SecurityRule{{Protocol: "tcp", From: 80, To: 80, Prefix: "10.0.0.0/24"}}})
	f.port = f.AddPort(openstack.PortSpec{Network: f.network, Groups: []string{f.sg}})
	f.floatingIP = f.AddFloatingIP(openstack.FloatingIPSpec{Network: f.external, Port: f.port, Description: "of the port"})
	f.freeIP = f.AddFloatingIP(openstack.FloatingIPSpec{Network: f.external, Description: "free"})
	f.client = f.open(t, nil)
	ctx := bounded(t)
	pools, err := f.client.LoadBalancer().PoolsByLoadBalancer(ctx, f.lb)
	must(t, err)
	f.member, f.hm = pools[0].Members[0], pools[0].MonitorID
	rules, err := f.client.Network().SecurityGroupRules(ctx, f.sg)
	must(t, err)
	for _, r := range rules {
		if r.RemotePrefix != "" {
			f.rule = r.ID
		}
	}

	return f
}

// addLB adds an ACTIVE load balancer with one listener, pool, member and health monitor.
func (f *lbFixture) addLB(name string, tags ...string) string {
	return f.AddLoadBalancer(openstack.LoadBalancerSpec{
		Name: name, Subnet: f.subnet, Tags: tags, Listeners: []openstack.ListenerSpec{{
			Name: "listener_0_" + name, Protocol: "TCP", Port: 80, Tags: tags,
			Pool: &openstack.LBPoolSpec{
				Name: "pool_0_" + name, SourceIP: true, Monitor: "TCP", MonitorName: "monitor_0_" + name,
				Members: []openstack.LBMemberSpec{{
					Name: "node-1", Address: "10.0.0.201", Port: 30080, Subnet: f.subnet, MonitorPort: 10256,
					Settings: map[string]any{"weight": 5, "backup": true},
				}},
			},
		}},
	})
}

// sent checks the last request of an operation: its query and its body.
func (f *lbFixture) sent(t *testing.T, reason, op, query, body string) {
	t.Helper()
	all := f.Requests(op)
	if len(all) == 0 {
		t.Errorf("%s: no call of %s", reason, op)

		return
	}
	last := all[len(all)-1]
	if got := last.Query.Encode(); got != query {
		t.Errorf("%s: query = %q, want %q", reason, got, query)
	}
	var got, want any
	must(t, json.Unmarshal(last.Body, &got))
	must(t, json.Unmarshal([]byte(body), &want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: body: %s", reason, diff)
	}
}
