package client_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// writeCase is a write and what it sends. In the body, $x stands for an ID of the fixture.
type writeCase struct {
	op, query, body string
	call            func(ctx context.Context, f *lbFixture) error
}

func (f *lbFixture) replace(text string) string {
	return strings.NewReplacer(
		"$network", f.network, "$subnet", f.subnet, "$external", f.external, "$listener", f.listener, "$pool", f.pool,
		"$port", f.port, "$vip", f.vipPort, "$group", f.group, "$sg", f.sg, "$lb", f.lb,
	).Replace(text)
}

// fullLB is a load balancer with all that the provider sends.
func fullLB(f *lbFixture) client.LoadBalancerCreate {
	return client.LoadBalancerCreate{
		Name: "new", Description: "d", Provider: "amphora", VIPAddress: "10.0.0.77", VIPSubnetID: f.subnet, VIPNetworkID: f.network,
		Tags: []string{"x", "y"},
		Listeners: []client.ListenerCreate{
			{
				Name: "l0", Protocol: "TCP", Port: 80, ConnectionLimit: new(-1), AllowedCIDRs: []string{"192.0.2.0/24"}, Tags: []string{"x"},
				TimeoutClientData: new(1), TimeoutMemberConnect: new(2), TimeoutMemberData: new(3), TimeoutTCPInspect: new(0),
				DefaultPool: &client.PoolCreate{
					Name: "p0", Protocol: "PROXY", Algorithm: "ROUND_ROBIN", Persistence: &client.SessionPersistence{Type: "SOURCE_IP"},
					Members: []client.MemberSpec{{Name: "n", Address: "10.0.0.4", Port: 30080, SubnetID: f.subnet, MonitorPort: new(9)}},
					Monitor: &client.MonitorCreate{
						Name: "m0", Type: "HTTP", Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 2,
						HTTPMethod: "GET", URLPath: "/healthz", ExpectedCodes: "200",
					},
				},
			},
			{
				Name: "l1", Protocol: "HTTP", Port: 81, InsertHeaders: map[string]string{"X-Forwarded-For": "true"},
				DefaultPool: &client.PoolCreate{Name: "p1", Protocol: "HTTP", Algorithm: "SOURCE_IP"},
			},
		},
	}
}

const fullLBBody = `{"loadbalancer": {
	"name": "new", "description": "d", "provider": "amphora", "vip_address": "10.0.0.77", "vip_subnet_id": "$subnet", "vip_network_id": "$network",
	"tags": ["x", "y"], "listeners": [
		{"name": "l0", "protocol": "TCP", "protocol_port": 80, "connection_limit": -1, "allowed_cidrs": ["192.0.2.0/24"], "tags": ["x"],
		 "timeout_client_data": 1, "timeout_member_connect": 2, "timeout_member_data": 3, "timeout_tcp_inspect": 0,
		 "default_pool": {
			"name": "p0", "protocol": "PROXY", "lb_algorithm": "ROUND_ROBIN", "session_persistence": {"type": "SOURCE_IP"},
			"members": [{"name": "n", "address": "10.0.0.4", "protocol_port": 30080, "subnet_id": "$subnet", "monitor_port": 9}],
			"healthmonitor": {"name": "m0", "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 1, "max_retries_down": 2,
				"http_method": "GET", "url_path": "/healthz", "expected_codes": "200"}}},
		{"name": "l1", "protocol": "HTTP", "protocol_port": 81, "insert_headers": {"X-Forwarded-For": "true"},
		 "default_pool": {"name": "p1", "protocol": "HTTP", "lb_algorithm": "SOURCE_IP"}}]}}`

// without drops the object that a call returns.
func without[T any](_ T, err error) error { return err }

// octaviaWrites are writes of Octavia on the load balancer of the fixture. Each fits it as
// it is.
func octaviaWrites() map[string]writeCase {
	return map[string]writeCase{
		"CreateFull": {"octavia.CreateLoadBalancer", "", fullLBBody, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreateLoadBalancer(ctx, fullLB(f)))
		}},
		"CreateEmpty": {"octavia.CreateLoadBalancer", "", `{"loadbalancer": {"name": "new", "vip_network_id": "$network"}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreateLoadBalancer(ctx, client.LoadBalancerCreate{Name: "new", VIPNetworkID: f.network}))
		}},
		"UpdateLB": {"octavia.UpdateLoadBalancer", "", `{"loadbalancer": {"name": "n", "description": "", "tags": ["x"]}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().UpdateLoadBalancer(ctx, f.lb, client.LoadBalancerUpdate{Name: client.Set("n"), Description: client.Set(""), Tags: client.Set([]string{"x"})}))
		}},
		"UpdateLBNoTags": {"octavia.UpdateLoadBalancer", "", `{"loadbalancer": {"tags": []}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().UpdateLoadBalancer(ctx, f.lb, client.LoadBalancerUpdate{Tags: client.Set([]string(nil))}))
		}},
		"CreateListener": {"octavia.CreateListener", "", `{"listener": {"loadbalancer_id": "$lb", "name": "l", "protocol": "UDP", "protocol_port": 53, "connection_limit": 4, "tags": ["t"]}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreateListener(ctx, f.lb, client.ListenerCreate{Name: "l", Protocol: "UDP", Port: 53, ConnectionLimit: new(4), Tags: []string{"t"}}))
		}},
		"CreateListenerWithPool": {"octavia.CreateListener", "", `{"listener": {"loadbalancer_id": "$lb", "protocol": "TCP", "protocol_port": 81, "default_pool_id": "$pool"}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreateListener(ctx, f.lb, client.ListenerCreate{Protocol: "TCP", Port: 81, DefaultPoolID: f.pool}))
		}},
		"UpdateListener": {
			"octavia.UpdateListener", "",
			`{"listener": {"name": "n", "description": "d", "connection_limit": 7, "default_pool_id": "$pool", "insert_headers": {}, "allowed_cidrs": ["192.0.2.0/24"],
			  "timeout_client_data": 1, "timeout_member_connect": 2, "timeout_member_data": 3, "timeout_tcp_inspect": 4, "tags": ["t"]}}`,
			func(ctx context.Context, f *lbFixture) error {
				return without(f.client.LoadBalancer().UpdateListener(ctx, f.listener, client.ListenerUpdate{
					Name: client.Set("n"), Description: client.Set("d"), ConnectionLimit: client.Set(7), DefaultPoolID: client.Set(f.pool),
					InsertHeaders: client.Set(map[string]string(nil)), AllowedCIDRs: client.Set([]string{"192.0.2.0/24"}), TimeoutClientData: client.Set(1),
					TimeoutMemberConnect: client.Set(2), TimeoutMemberData: client.Set(3), TimeoutTCPInspect: client.Set(4), Tags: client.Set([]string{"t"}),
				}))
			},
		},
		"UpdateListenerNulls": {"octavia.UpdateListener", "", `{"listener": {"default_pool_id": null, "default_tls_container_ref": null, "allowed_cidrs": [], "tags": []}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().UpdateListener(ctx, f.listener, client.ListenerUpdate{
				DefaultPoolID: client.SetNull[string](), TLSContainerRef: client.SetNull[string](), AllowedCIDRs: client.Set([]string{}), Tags: client.Set([]string{}),
			}))
		}},
		"DeleteListener": {"octavia.DeleteListener", "", "", func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().DeleteListener(ctx, f.listener)
		}},
		"CreatePool": {"octavia.CreatePool", "", `{"pool": {"loadbalancer_id": "$lb", "name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "session_persistence": {"type": "SOURCE_IP"}, "tags": ["t"]}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreatePool(ctx, f.lb, client.PoolCreate{Name: "p", Protocol: "TCP", Algorithm: "ROUND_ROBIN", Persistence: &client.SessionPersistence{Type: "SOURCE_IP"}, Tags: []string{"t"}}))
		}},
		"UpdatePool": {"octavia.UpdatePool", "", `{"pool": {"name": "p", "description": "d", "lb_algorithm": "LEAST_CONNECTIONS", "session_persistence": {"type": "SOURCE_IP"}, "tags": []}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().UpdatePool(ctx, f.pool, client.PoolUpdate{
				Name: client.Set("p"), Description: client.Set("d"), Algorithm: client.Set("LEAST_CONNECTIONS"), Persistence: client.Set(client.SessionPersistence{Type: "SOURCE_IP"}), Tags: client.Set([]string{}),
			}))
		}},
		"UpdatePoolNull": {"octavia.UpdatePool", "", `{"pool": {"session_persistence": null}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().UpdatePool(ctx, f.pool, client.PoolUpdate{Persistence: client.SetNull[client.SessionPersistence]()}))
		}},
		"DeletePool": {"octavia.DeletePool", "", "", func(ctx context.Context, f *lbFixture) error { return f.client.LoadBalancer().DeletePool(ctx, f.pool) }},
		"UpdateMembers": {
			"octavia.UpdateMembers", "",
			`{"members": [{"name": "n", "address": "10.0.0.201", "protocol_port": 30080, "subnet_id": "$subnet", "weight": 0, "backup": false, "admin_state_up": false, "monitor_port": 1, "monitor_address": "10.0.0.9", "tags": []}, {"address": "10.0.0.5", "protocol_port": 1}]}`,
			func(ctx context.Context, f *lbFixture) error {
				return f.client.LoadBalancer().UpdateMembers(ctx, f.pool, []client.MemberSpec{
					{Name: "n", Address: "10.0.0.201", Port: 30080, SubnetID: f.subnet, Weight: new(0), Backup: new(false), AdminUp: new(false), MonitorPort: new(1), MonitorAddress: "10.0.0.9", Tags: []string{}},
					{Address: "10.0.0.5", Port: 1},
				})
			},
		},
		"NoMembers": {"octavia.UpdateMembers", "", `{"members": []}`, func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().UpdateMembers(ctx, f.pool, nil)
		}},
		"AddMembers": {"octavia.UpdateMembers", "additive_only=true", `{"members": [{"address": "10.0.0.5", "protocol_port": 1}]}`, func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().AddMembers(ctx, f.pool, []client.MemberSpec{{Address: "10.0.0.5", Port: 1}})
		}},
		"CreateMember": {"octavia.CreateMember", "", `{"member": {"name": "m", "address": "10.0.0.6", "protocol_port": 2, "subnet_id": "$subnet"}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreateMember(ctx, f.pool, client.MemberSpec{Name: "m", Address: "10.0.0.6", Port: 2, SubnetID: f.subnet}))
		}},
		"DeleteMember": {"octavia.DeleteMember", "", "", func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().DeleteMember(ctx, f.pool, f.member)
		}},
		"UpdateMonitor": {"octavia.UpdateHealthMonitor", "", `{"healthmonitor": {"name": "m", "delay": 9, "timeout": 8, "max_retries": 7, "max_retries_down": 6, "tags": ["t"]}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().UpdateHealthMonitor(ctx, f.hm, client.MonitorUpdate{
				Name: client.Set("m"), Delay: client.Set(9), Timeout: client.Set(8), MaxRetries: client.Set(7), MaxRetriesDown: client.Set(6), Tags: client.Set([]string{"t"}),
			}))
		}},
		"DeleteMonitor": {"octavia.DeleteHealthMonitor", "", "", func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().DeleteHealthMonitor(ctx, f.hm)
		}},
		"DeleteCascade": {"octavia.DeleteLoadBalancer", "cascade=true", "", func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().DeleteLoadBalancer(ctx, f.lb, true)
		}},
	}
}

// neutronWrites are writes of Neutron.
func neutronWrites() map[string]writeCase {
	return map[string]writeCase{
		"CreateFloatingIP": {"neutron.CreateFloatingIP", "", `{"floatingip": {"floating_network_id": "$external", "port_id": "$vip", "description": "d"}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().CreateFloatingIP(ctx, client.FloatingIPCreate{NetworkID: f.external, PortID: f.vipPort, Description: "d"}))
		}},
		"Associate": {"neutron.UpdateFloatingIP", "", `{"floatingip": {"port_id": "$vip"}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().AssociateFloatingIP(ctx, &client.FloatingIP{ID: f.freeIP}, f.vipPort, ""))
		}},
		"Disassociate": {"neutron.UpdateFloatingIP", "", `{"floatingip": {"port_id": null}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().DisassociateFloatingIP(ctx, f.floatingIP))
		}},
		"DeleteFloatingIP": {"neutron.DeleteFloatingIP", "", "", func(ctx context.Context, f *lbFixture) error {
			return f.client.Network().DeleteFloatingIP(ctx, f.floatingIP)
		}},
		"CreateGroup": {"neutron.CreateSecurityGroup", "", `{"security_group": {"name": "new", "description": "d"}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().CreateSecurityGroup(ctx, "new", "d"))
		}},
		"DeleteGroup": {"neutron.DeleteSecurityGroup", "", "", func(ctx context.Context, f *lbFixture) error {
			return f.client.Network().DeleteSecurityGroup(ctx, f.group)
		}},
		"CreateRules": {
			"neutron.CreateSecurityGroupRule", "",
			`{"security_group_rules": [
				{"security_group_id": "$group", "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 1, "port_range_max": 2, "remote_ip_prefix": "10.0.0.0/24"},
				{"security_group_id": "$group", "direction": "ingress", "ethertype": "IPv6", "protocol": "udp"}]}`,
			func(ctx context.Context, f *lbFixture) error {
				return without(f.client.Network().CreateSecurityGroupRules(ctx, []client.SecurityGroupRule{
					{GroupID: f.group, Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortMin: new(1), PortMax: new(2), RemotePrefix: "10.0.0.0/24"},
					{GroupID: f.group, Direction: "ingress", EtherType: "IPv6", Protocol: "udp"},
				}))
			},
		},
		"DeleteRule": {"neutron.DeleteSecurityGroupRule", "", "", func(ctx context.Context, f *lbFixture) error {
			return f.client.Network().DeleteSecurityGroupRule(ctx, f.rule)
		}},
		"PortGroups": {"neutron.UpdatePort", "", `{"port": {"security_groups": ["$group", "$sg"]}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().UpdateSecurityGroups(ctx, f.port, []string{f.group, f.sg}, nil))
		}},
		"NoPortGroups": {"neutron.UpdatePort", "", `{"port": {"security_groups": []}}`, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.Network().UpdateSecurityGroups(ctx, f.port, nil, nil))
		}},
	}
}

func allWrites() map[string]writeCase {
	all := octaviaWrites()
	maps.Copy(all, neutronWrites())

	return all
}

// Each write sends exactly what the API takes, in one call.
func TestWritesOfLoadBalancers(t *testing.T) {
	t.Parallel()
	for name, tc := range allWrites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newLBFixture(t, openstack.Options{})
			must(t, tc.call(bounded(t), f))
			f.count(t, tc.op, 1)
			if tc.body != "" {
				f.sent(t, name, tc.op, tc.query, f.replace(tc.body))
			} else if got := f.Requests(tc.op)[0]; got.Query.Encode() != tc.query || len(got.Body) != 0 {
				t.Errorf("query %q, body %q", got.Query.Encode(), got.Body)
			}
		})
	}
}

// A write whose response is lost is not sent again, and may have been applied.
func TestLostResponsesOfWrites(t *testing.T) {
	t.Parallel()
	faults := map[string]simserver.Fault{
		"ProxyTimeout": openstack.ProxyAfter(504),
		"ServiceFault": openstack.Error(500, "", "x"),
		"Unavailable":  openstack.Error(503, "", "x"),
	}
	for name, tc := range allWrites() {
		for what, fault := range faults {
			t.Run(name+what, func(t *testing.T) {
				t.Parallel()
				f := newLBFixture(t, openstack.Options{})
				f.Interceptor().Inject(tc.op, simserver.Always(), fault)
				err := tc.call(bounded(t), f)
				must(t, is(err, apierr.ErrUnavailable))
				if !client.MayBeApplied(err) {
					t.Errorf("%v may not be applied", err)
				}
				f.count(t, tc.op, 1)
			})
		}
	}
}

// What a write is about and does not exist is never an ErrNotFound, but for a deletion it
// is no error.
func TestWritesOfWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	blank := *f
	for _, id := range []*string{
		&blank.lb, &blank.listener, &blank.pool, &blank.member, &blank.hm, &blank.port, &blank.group, &blank.floatingIP,
		&blank.freeIP, &blank.rule, &blank.network, &blank.subnet, &blank.external, &blank.vipPort,
	} {
		*id = missingID
	}
	for name, tc := range allWrites() {
		if name == "CreateGroup" {
			continue // names nothing that could be missing
		}
		before := f.Interceptor().Count(tc.op)
		err := tc.call(bounded(t), &blank)
		switch {
		case strings.HasPrefix(name, "Delete"):
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err == nil || errors.Is(err, apierr.ErrNotFound) || is(err, apierr.ErrInvalid) != nil || client.MayBeApplied(err):
			t.Errorf("%s: %v, may be applied: %v", name, err, client.MayBeApplied(err))
		}
		if got := f.Interceptor().Count(tc.op) - before; got != 1 {
			t.Errorf("%s: %d calls, want 1", name, got)
		}
	}
}

// A 404 of a proxy is no proof that something is deleted.
func TestDeleteBehindBrokenProxy(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	f.Interceptor().Inject("octavia.DeleteLoadBalancer", simserver.Always(), openstack.Proxy(404, ""))
	err := f.client.LoadBalancer().DeleteLoadBalancer(bounded(t), f.lb, true)
	must(t, is(err, apierr.ErrUnavailable))
}

// What is no ID is sent nowhere: with a slash it would be another path.
func TestWritesWithoutID(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	before := len(f.Writes())
	ctx, lbs, net := bounded(t), f.client.LoadBalancer(), f.client.Network()
	for _, bad := range []string{"", "x/../y", "../" + f.lb, "not-a-uuid"} {
		calls := map[string]error{
			"UpdateLoadBalancer": without(lbs.UpdateLoadBalancer(ctx, bad, client.LoadBalancerUpdate{})), "DeleteLoadBalancer": lbs.DeleteLoadBalancer(ctx, bad, true),
			"CreateListener": without(lbs.CreateListener(ctx, bad, client.ListenerCreate{})), "UpdateListener": without(lbs.UpdateListener(ctx, bad, client.ListenerUpdate{})),
			"DeleteListener": lbs.DeleteListener(ctx, bad), "CreatePool": without(lbs.CreatePool(ctx, bad, client.PoolCreate{})),
			"UpdatePool": without(lbs.UpdatePool(ctx, bad, client.PoolUpdate{})),
			"DeletePool": lbs.DeletePool(ctx, bad), "UpdateMembers": lbs.UpdateMembers(ctx, bad, nil), "AddMembers": lbs.AddMembers(ctx, bad, nil),
			"CreateMember": without(lbs.CreateMember(ctx, bad, client.MemberSpec{})), "DeleteMemberPool": lbs.DeleteMember(ctx, bad, f.member),
			"DeleteMember": lbs.DeleteMember(ctx, f.pool, bad), "CreateHealthMonitor": without(lbs.CreateHealthMonitor(ctx, bad, client.MonitorCreate{})),
			"UpdateHealthMonitor": without(lbs.UpdateHealthMonitor(ctx, bad, client.MonitorUpdate{})), "DeleteHealthMonitor": lbs.DeleteHealthMonitor(ctx, bad),
			"CreateFloatingIP": without(net.CreateFloatingIP(ctx, client.FloatingIPCreate{NetworkID: bad})), "AssociateFloatingIP": without(net.AssociateFloatingIP(ctx, &client.FloatingIP{ID: f.freeIP}, bad, "")),
			"DisassociateFloatingIP": without(net.DisassociateFloatingIP(ctx, bad)), "DeleteFloatingIP": net.DeleteFloatingIP(ctx, bad),
			"DeleteSecurityGroup": net.DeleteSecurityGroup(ctx, bad), "DeleteSecurityGroupRule": net.DeleteSecurityGroupRule(ctx, bad),
			"CreateSecurityGroupRules": without(net.CreateSecurityGroupRules(ctx, []client.SecurityGroupRule{{GroupID: bad}})),
			"UpdateSecurityGroups":     without(net.UpdateSecurityGroups(ctx, bad, nil, nil)),
		}
		for name, err := range calls {
			if is(err, apierr.ErrInvalid) != nil || client.MayBeApplied(err) {
				t.Errorf("%s(%q): %v", name, bad, err)
			}
		}
	}
	if got := len(f.Writes()); got != before {
		t.Errorf("writes were sent: %v", f.Writes())
	}
}

// A success whose body is not the object may have been applied.
func TestUnreadableResponsesOfWrites(t *testing.T) {
	t.Parallel()
	bodies := []string{`{}`, `{"listener": null}`, `{"listener": {"id": ""}}`, `{"listener": {"id": "` + missingID + `"}}`, `{"listener": []}`, `{"list`}
	f := newLBFixture(t, openstack.Options{})
	for _, body := range bodies {
		f.Interceptor().Clear()
		f.Interceptor().Inject("octavia.UpdateListener", simserver.Always(), raw(200, body))
		err := without(f.client.LoadBalancer().UpdateListener(bounded(t), f.listener, client.ListenerUpdate{Name: client.Set("n")}))
		if !client.MayBeApplied(err) || is(err, apierr.ErrUnavailable) != nil {
			t.Errorf("response %s: %v, may be applied: %v", body, err, client.MayBeApplied(err))
		}
	}
}

// Rules that the response does not have may be there.
func TestRulesThatAreNotInTheResponse(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	f.Interceptor().Inject("neutron.CreateSecurityGroupRule", simserver.Always(), raw(201, `{"security_group_rules": []}`))
	err := neutronWrites()["CreateRules"].call(bounded(t), f)
	if !client.MayBeApplied(err) || is(err, apierr.ErrUnavailable) != nil {
		t.Errorf("%v, may be applied: %v", err, client.MayBeApplied(err))
	}
}

// Parts that are only made within a new load balancer are refused here: Octavia ignores
// them, or fails with 500.
func TestPartsOfSingleObjects(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	lbs, ctx := f.client.LoadBalancer(), bounded(t)
	must(t, is(without(lbs.CreateListener(ctx, f.lb, client.ListenerCreate{DefaultPool: &client.PoolCreate{}})), apierr.ErrInvalid))
	must(t, is(without(lbs.CreatePool(ctx, f.lb, client.PoolCreate{Members: []client.MemberSpec{{}}})), apierr.ErrInvalid))
	must(t, is(without(lbs.CreatePool(ctx, f.lb, client.PoolCreate{Monitor: &client.MonitorCreate{}})), apierr.ErrInvalid))
	f.count(t, "octavia.CreateListener", 0)
	f.count(t, "octavia.CreatePool", 0)
}
