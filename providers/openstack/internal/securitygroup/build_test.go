package securitygroup

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// describe is the group in lines.
func (d *Desired) describe() string {
	var lines []string
	for _, rule := range d.Rules {
		lines = append(lines, rule.String())
	}
	for _, node := range d.Nodes {
		lines = append(lines, fmt.Sprintf("%s %s server %s subnet %s", node.Name, node.Address, node.Server, node.Subnet))
	}
	for _, id := range d.unreadSubnets {
		lines = append(lines, "unread subnet "+id)
	}
	for _, node := range d.unread {
		lines = append(lines, "unread subnet of "+node)
	}

	return strings.Join(lines, "\n")
}

func TestBuild(t *testing.T) {
	t.Parallel()
	const nodes4 = "node-1 10.0.1.1 server s1 subnet four\nnode-2 10.0.2.2 server s2 subnet four"
	for name, test := range map[string]struct {
		reason string
		change func(r *request.Request, resolved *request.Resolved, given *Given)
		want   string
	}{
		"subnet": {
			reason: "each node port is allowed from the subnet of the members",
			want:   "tcp 30080 from 10.0.0.0/16\nudp 30053 from 10.0.0.0/16\n" + nodes4,
		},
		"IPv6 subnet": {
			reason: "the ether type is that of the prefix",
			change: func(r *request.Request, _ *request.Resolved, _ *Given) { r.MemberSubnet.ID = "six" },
			want:   "tcp 30080 from fd00::/64\nudp 30053 from fd00::/64\n" + strings.ReplaceAll(nodes4, "four", "six"),
		},
		"health checks": {
			reason: "the health check node port is TCP, also of UDP ports",
			change: func(r *request.Request, _ *request.Resolved, _ *Given) { r.HealthCheckNodePort = 32000 },
			want:   "tcp 30080 from 10.0.0.0/16\ntcp 32000 from 10.0.0.0/16\nudp 30053 from 10.0.0.0/16\n" + nodes4,
		},
		"subnets of Nodes": {
			reason: "traffic to each member comes from its subnet",
			change: func(r *request.Request, resolved *request.Resolved, given *Given) {
				resolved.Ports = resolved.Ports[1:]
				r.MemberSubnet = request.MemberSubnet{Detect: true}
				given.Subnets = map[string]string{"node-1": "four", "node-2": "other"}
			},
			want: "tcp 30080 from 10.0.0.0/16\ntcp 30080 from 10.9.0.0/16\n" + strings.Replace(nodes4, "10.0.2.2 server s2 subnet four", "10.0.2.2 server s2 subnet other", 1),
		},
		"subnet of a Node not known": {
			reason: "its rule is missing, which must be known",
			change: func(r *request.Request, resolved *request.Resolved, given *Given) {
				resolved.Ports = resolved.Ports[1:]
				r.MemberSubnet = request.MemberSubnet{Detect: true}
				given.Subnets = map[string]string{"node-1": "four"}
			},
			want: "tcp 30080 from 10.0.0.0/16\n" + strings.Replace(nodes4, "s2 subnet four", "s2 subnet ", 1) + "\nunread subnet of node-2",
		},
		"by network": {
			reason: "members without a subnet are reached from that of the VIP",
			change: func(r *request.Request, resolved *request.Resolved, given *Given) {
				resolved.Ports = resolved.Ports[1:]
				r.MemberSubnet, given.VIPSubnet = request.MemberSubnet{}, "other"
			},
			want: "tcp 30080 from 10.9.0.0/16\n" + strings.ReplaceAll(nodes4, "four", "other"),
		},
		"by network, VIP not known": {
			reason: "nothing is known about where traffic comes from",
			change: func(r *request.Request, _ *request.Resolved, _ *Given) { r.MemberSubnet = request.MemberSubnet{} },
			want:   strings.ReplaceAll(nodes4, "four", "") + "\nunread subnet of node-1\nunread subnet of node-2",
		},
		"invisible subnet": {
			reason: "its CIDR is not known",
			change: func(r *request.Request, _ *request.Resolved, _ *Given) { r.MemberSubnet.ID = "hidden" },
			want:   strings.ReplaceAll(nodes4, "four", "hidden") + "\nunread subnet hidden",
		},
		"ranges of clients": {
			reason: "the provider keeps the addresses of clients; both families",
			change: func(_ *request.Request, resolved *request.Resolved, _ *Given) {
				resolved.MemberSources = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("::/0")}
			},
			want: "tcp 30080 from 192.0.2.0/24\ntcp 30080 from ::/0\nudp 30053 from 192.0.2.0/24\nudp 30053 from ::/0\n" + nodes4,
		},
		"ranges of clients, invisible subnet": {
			reason: "no rule needs the subnet",
			change: func(r *request.Request, resolved *request.Resolved, _ *Given) {
				r.MemberSubnet.ID, resolved.MemberSources = "hidden", []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			},
			want: "tcp 30080 from 192.0.2.0/24\nudp 30053 from 192.0.2.0/24\n" + strings.ReplaceAll(nodes4, "four", "hidden"),
		},
		"ranges of clients, health checks": {
			reason: "health checks come from the subnet",
			change: func(r *request.Request, resolved *request.Resolved, _ *Given) {
				r.HealthCheckNodePort, resolved.MemberSources = 32000, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			},
			want: "tcp 30080 from 192.0.2.0/24\ntcp 32000 from 10.0.0.0/16\nudp 30053 from 192.0.2.0/24\n" + nodes4,
		},
		"no node ports": {
			reason: "allocateLoadBalancerNodePorts is false",
			change: func(_ *request.Request, resolved *request.Resolved, _ *Given) {
				for i := range resolved.Ports {
					resolved.Ports[i].NodePort, resolved.Ports[i].Members = 0, nil
				}
			},
			want: nodes4,
		},
		"members of the provider": {
			reason: "a Node that the provider cannot have as a member needs no group",
			change: func(_ *request.Request, resolved *request.Resolved, _ *Given) {
				for i := range resolved.Ports {
					resolved.Ports[i].Members = resolved.Ports[i].Members[:1]
				}
			},
			want: "tcp 30080 from 10.0.0.0/16\nudp 30053 from 10.0.0.0/16\nnode-1 10.0.1.1 server s1 subnet four",
		},
		"no Nodes": {
			reason: "the rules are those of the subnet",
			change: func(r *request.Request, resolved *request.Resolved, _ *Given) {
				r.Members = nil
				for i := range resolved.Ports {
					resolved.Ports[i].Members = nil
				}
			},
			want: "tcp 30080 from 10.0.0.0/16\nudp 30053 from 10.0.0.0/16",
		},
		"server not known": {
			reason: "the Node has no provider ID yet",
			change: func(_ *request.Request, _ *request.Resolved, given *Given) { delete(given.Servers, "node-2") },
			want:   "tcp 30080 from 10.0.0.0/16\nudp 30053 from 10.0.0.0/16\n" + strings.Replace(nodes4, "server s2", "server ", 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, resolved, given := webRequest()
			if test.change != nil {
				test.change(r, resolved, given)
			}
			check(t, test.reason, test.want, Build(r, resolved, *given).describe())
		})
	}
}

// webRequest is a Service with two ports and two Nodes.
func webRequest() (*request.Request, *request.Resolved, *Given) {
	r := &request.Request{
		Names: namesOfService(), MemberSubnet: request.MemberSubnet{ID: "four"},
		Members: []request.Target{
			{Node: "node-1", Address: netip.MustParseAddr("10.0.1.1")}, {Node: "node-2", Address: netip.MustParseAddr("10.0.2.2")},
		},
	}
	resolved := &request.Resolved{}
	for _, port := range []request.Port{{Protocol: v1.ProtocolUDP, NodePort: 30053}, {Protocol: v1.ProtocolTCP, NodePort: 30080}} {
		p := request.ResolvedPort{Port: port}
		for _, target := range r.Members {
			p.Members = append(p.Members, request.Member{Target: target, Port: port.NodePort})
		}
		resolved.Ports = append(resolved.Ports, p)
	}

	return r, resolved, &Given{
		Servers: map[string]string{"node-1": "s1", "node-2": "s2"},
		Prefixes: map[string]netip.Prefix{
			"four": netip.MustParsePrefix("10.0.0.0/16"), "other": netip.MustParsePrefix("10.9.0.0/16"), "six": netip.MustParsePrefix("fd00::/64"),
		},
	}
}
