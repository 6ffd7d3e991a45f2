package securitygroup

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// portOf returns a port of a server with an address in the subnet "four" and some groups.
func portOf(id, server, addr string, groups ...string) *client.Port {
	return &client.Port{ID: id, DeviceID: server, FixedIPs: []client.FixedIP{{SubnetID: "four", Address: addr}}, SecurityGroups: groups}
}

// inOrder is the group of webRequest as it should be.
func inOrder() *Observed {
	rule := func(id, protocol string, port int) *client.SecurityGroupRule {
		return &client.SecurityGroupRule{
			ID: id, Direction: "ingress", EtherType: "IPv4", Protocol: protocol, PortMin: new(port), PortMax: new(port), RemotePrefix: "10.0.0.0/16",
		}
	}

	return &Observed{
		Group:   &client.SecurityGroup{ID: "g", Name: groupName},
		Rules:   []*client.SecurityGroupRule{rule("r1", "tcp", 30080), rule("r2", "udp", 30053)},
		Members: []*client.Port{portOf("p1", "s1", "10.0.1.1", "g"), portOf("p2", "s2", "10.0.2.2", "g")},
		Ports:   map[string][]*client.Port{},
	}
}

// TestDiff is the plan for each way in which a group differs.
func TestDiff(t *testing.T) {
	t.Parallel()
	off := false
	for name, test := range map[string]struct {
		reason string
		change func(o *Observed, r *request.Request, given *Given)
		want   string
	}{
		"in order": {reason: "nothing is to be done"},
		"no group": {
			reason: "a new group has rules from the start",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				o.Ports["s1"], o.Ports["s2"] = o.Members[:1], o.Members[1:]
				o.Group, o.Members, o.Rules = nil, nil, nil
			},
			want: `create security group NAME, description "Security Group for default/web Service LoadBalancer in cluster kubernetes"
add to security group NAME the rules tcp 30080 from 10.0.0.0/16, udp 30053 from 10.0.0.0/16
add security group NAME to the ports of node-1, node-2
remove from security group NAME the rules that it has from the start
`,
		},
		"no group, no Nodes": {
			reason: "the group is ready for the first Node",
			change: func(o *Observed, r *request.Request, _ *Given) {
				*o, r.Members = Observed{}, nil
			},
			want: `create security group NAME, description "Security Group for default/web Service LoadBalancer in cluster kubernetes"
add to security group NAME the rules tcp 30080 from 10.0.0.0/16, udp 30053 from 10.0.0.0/16
remove from security group NAME the rules that it has from the start
`,
		},
		"rules": {
			reason: "missing rules are created before others go",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				o.Rules[0].PortMin, o.Rules[0].PortMax = new(1), new(2)
				o.Rules = append(o.Rules, &client.SecurityGroupRule{ID: "r3", Direction: "egress", EtherType: "IPv4"})
			},
			want: "add to security group NAME (g) the rules tcp 30080 from 10.0.0.0/16\n" +
				"remove from security group NAME (g) the rules egress any to 0.0.0.0/0, tcp 1-2 from 10.0.0.0/16\n",
		},
		"Node joins": {
			reason: "its port gets the group",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				o.Members = o.Members[:1]
				o.Ports["s2"] = []*client.Port{portOf("p2", "s2", "10.0.2.2"), portOf("p3", "s2", "10.0.2.3")}
			},
			want: "add security group NAME (g) to the ports of node-2\n",
		},
		"Node leaves": {
			reason: "its port loses the group",
			change: func(_ *Observed, r *request.Request, _ *Given) { r.Members = r.Members[:1] },
			want:   "remove security group NAME (g) from the ports p2\n",
		},
		"all Nodes leave": {
			reason: "no port has the group",
			change: func(_ *Observed, r *request.Request, _ *Given) { r.Members = nil },
			want:   "remove security group NAME (g) from the ports p1, p2\n",
		},
		"another port": {
			reason: "the address of the Node has moved to another port of its server",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				o.Members[1].FixedIPs[0].Address = "10.0.2.9"
				o.Ports["s2"] = []*client.Port{o.Members[1], portOf("p3", "s2", "10.0.2.2")}
			},
			want: "add security group NAME (g) to the ports of node-2\nremove security group NAME (g) from the ports p2\n",
		},
		"port of another server": {
			reason: "the address of the Node was given to another server",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				o.Members[1].DeviceID = "other"
				o.Ports["s2"] = []*client.Port{portOf("p3", "s2", "10.0.2.2")}
			},
			want: "add security group NAME (g) to the ports of node-2\nremove security group NAME (g) from the ports p2\n",
		},
		"older read": {
			reason: "the port already has the group: one of two reads is older",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				o.Ports["s2"], o.Members = o.Members[1:], o.Members[:1]
			},
		},
		"subnet of the member": {
			reason: "of two ports with the address only the one in the subnet gets traffic",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				elsewhere := portOf("p3", "s2", "10.0.2.2")
				elsewhere.FixedIPs[0].SubnetID = "other"
				o.Ports["s2"], o.Members = []*client.Port{elsewhere, portOf("p2", "s2", "10.0.2.2")}, o.Members[:1]
			},
			want: "add security group NAME (g) to the ports of node-2\n",
		},
		"routed": {
			reason: "the subnet of the members is another one than that of the Nodes",
			change: func(o *Observed, r *request.Request, _ *Given) {
				r.MemberSubnet.ID = "other"
				o.Rules[0].RemotePrefix, o.Rules[1].RemotePrefix = "10.9.0.0/16", "10.9.0.0/16"
			},
		},
		"two ports, subnet not known": {
			reason: "both may get traffic",
			change: func(o *Observed, r *request.Request, given *Given) {
				r.MemberSubnet = request.MemberSubnet{Detect: true}
				given.Subnets = map[string]string{"node-1": "four"}
				twin := portOf("p3", "s2", "10.0.2.2")
				o.Ports["s2"] = []*client.Port{o.Members[1], twin}
			},
			want: "add security group NAME (g) to the ports of node-2\n",
		},
		"no port security": {
			reason: "groups do not apply to the port",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				port := portOf("p2", "s2", "10.0.2.2")
				port.PortSecurity = &off
				o.Ports["s2"], o.Members = []*client.Port{port}, o.Members[:1]
			},
		},
		"subport": {
			reason: "its device is not the server; its address in the subnet is unique",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				o.Members[1].DeviceID, o.Members[1].DeviceOwner = "", ownerSubport
			},
		},
		"new subport": {
			reason: "it is in the trunk of the server",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				port := portOf("p3", "", "10.0.2.2")
				port.DeviceOwner = ownerSubport
				o.Ports["s2"], o.Members = []*client.Port{portOf("p2", "s2", "10.0.9.9"), port}, o.Members[:1]
			},
			want: "add security group NAME (g) to the ports of node-2\n",
		},
		"IPv6 in another form": {
			reason: "addresses are compared as addresses",
			change: func(o *Observed, r *request.Request, _ *Given) {
				r.Members[1].Address = netip.MustParseAddr("fd00::2")
				o.Members[1].FixedIPs[0].Address = "fd00:0:0::0002"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, resolved, given := webRequest()
			o := inOrder()
			if test.change != nil {
				test.change(o, r, given)
			}
			for i := range resolved.Ports {
				resolved.Ports[i].Members = lists.Map(r.Members, func(t request.Target) request.Member { return request.Member{Target: t} })
			}
			check(t, test.reason, strings.ReplaceAll(test.want, "NAME", groupName), Diff(o, Build(r, resolved, *given)).String())
		})
	}
}

// TestNothingIsTakenAwayOnADoubt (OS-LB-11) adds what is known to be missing, and only that,
// as long as anything is not known: here one port and one rule are too many.
func TestNothingIsTakenAwayOnADoubt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason   string
		change   func(o *Observed, r *request.Request, given *Given)
		plan     string
		gap      string
		warnings []service.Reason
	}{
		"nothing": {
			reason: "all is known",
			plan: "remove security group NAME (g) from the ports p9\n" +
				"remove from security group NAME (g) the rules egress any to 0.0.0.0/0\n",
		},
		"server": {
			reason: "the Node has no provider ID yet, which is nothing for a user",
			change: func(o *Observed, _ *request.Request, given *Given) {
				delete(given.Servers, "node-2")
				o.Rules = o.Rules[1:]
			},
			plan: "add to security group NAME (g) the rules tcp 30080 from 10.0.0.0/16\n",
			gap:  "the servers of nodes are not known: node-2",
		},
		"port": {
			reason: "the address is a floating IP",
			change: func(o *Observed, _ *request.Request, _ *Given) {
				o.Members = append(o.Members[:1], o.Members[2:]...)
				o.Ports = map[string][]*client.Port{"s2": {portOf("p2", "s2", "10.0.7.7")}}
			},
			gap: "no port of the project has the address of nodes: node-2", warnings: []service.Reason{NotAdded},
		},
		"no port": {
			reason: "an administrator has made the port, which others are not kept for",
			change: func(o *Observed, _ *request.Request, _ *Given) { o.Members = append(o.Members[:1], o.Members[2:]...) },
			plan: "remove security group NAME (g) from the ports p9\n" +
				"remove from security group NAME (g) the rules egress any to 0.0.0.0/0\n",
			warnings: []service.Reason{NotAdded},
		},
		"subnet": {
			reason: "its port was not found, or its server",
			change: func(_ *Observed, r *request.Request, given *Given) {
				r.MemberSubnet = request.MemberSubnet{Detect: true}
				given.Subnets = map[string]string{"node-1": "four"}
			},
			gap: "the subnets of nodes are not known: node-2",
		},
		"subnet of a deleted server": {
			reason: "it has no ports any more, and the Node goes soon",
			change: func(o *Observed, r *request.Request, given *Given) {
				r.MemberSubnet = request.MemberSubnet{Detect: true}
				given.Subnets = map[string]string{"node-1": "four", "node-2": ""}
				o.Members = append(o.Members[:1], o.Members[2:]...)
				o.Ports = nil
			},
			plan: "remove security group NAME (g) from the ports p9\n" +
				"remove from security group NAME (g) the rules egress any to 0.0.0.0/0\n",
			warnings: []service.Reason{NotAdded},
		},
		"subport": {
			reason: "without its subnet, the address may be that of another port",
			change: func(o *Observed, r *request.Request, given *Given) {
				r.MemberSubnet = request.MemberSubnet{Detect: true}
				given.Subnets = map[string]string{"node-1": "four"}
				o.Members[1].DeviceID, o.Members[1].DeviceOwner = "", ownerSubport
			},
			gap:      "the subnets of nodes are not known: node-2; no port of the project has the address of nodes: node-2",
			warnings: []service.Reason{NotAdded},
		},
		"CIDR": {
			reason: "a project cannot read a subnet of another one that is not shared",
			change: func(_ *Observed, _ *request.Request, given *Given) { delete(given.Prefixes, "four") },
			gap:    "subnets cannot be read: four", warnings: []service.Reason{SubnetUnreadable},
		},
		"new group": {
			reason: "its rules from the start stay as well",
			change: func(o *Observed, _ *request.Request, given *Given) {
				*o = Observed{Ports: map[string][]*client.Port{"s1": {portOf("p1", "s1", "10.0.1.1")}}}
				delete(given.Servers, "node-2")
			},
			plan: `create security group NAME, description "Security Group for default/web Service LoadBalancer in cluster kubernetes"
add to security group NAME the rules tcp 30080 from 10.0.0.0/16, udp 30053 from 10.0.0.0/16
add security group NAME to the ports of node-1
`,
			gap: "the servers of nodes are not known: node-2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, resolved, given := webRequest()
			o := inOrder()
			o.Members = append(o.Members, portOf("p9", "s9", "10.0.9.9", "g"))
			o.Rules = append(o.Rules, &client.SecurityGroupRule{ID: "r3", Direction: "egress", EtherType: "IPv4"})
			if test.change != nil {
				test.change(o, r, given)
			}
			d := Build(r, resolved, *given)
			check(t, test.reason, strings.ReplaceAll(test.plan, "NAME", groupName), Diff(o, d).String())
			gaps, warnings := Incomplete(o, d)
			var text []string
			for _, gap := range gaps {
				text = append(text, gap.Text)
			}
			check(t, test.reason, test.gap, strings.Join(text, "; "))
			var reasons []service.Reason
			for _, w := range warnings {
				reasons = append(reasons, w.Reason)
			}
			check(t, test.reason, test.warnings, reasons)
		})
	}
}

// TestPlansOfManyNodes are short.
func TestPlansOfManyNodes(t *testing.T) {
	t.Parallel()
	r, resolved, given := webRequest()
	o := inOrder()
	for i := range 1000 {
		o.Members = append(o.Members, portOf(fmt.Sprintf("port-%04d", i), "s9", "10.0.9.9", "g"))
	}
	check(t, "plan", "remove security group "+groupName+" (g) from the ports port-0000, port-0001, port-0002, port-0003, port-0004 and 995 more\n",
		Diff(o, Build(r, resolved, *given)).String())
}
