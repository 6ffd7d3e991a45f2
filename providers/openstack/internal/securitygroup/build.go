package securitygroup

import (
	"cmp"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// Given is what a group depends on besides the Service.
type Given struct {
	// Servers are the IDs of the servers of Nodes, by the names of the Nodes. The server of
	// a Node that is not in it is not known.
	Servers map[string]string
	// Subnets are the IDs of the subnets of members, by the names of the Nodes. Without an
	// entry it is that of the Request; if the Request detects subnets it is not known.
	Subnets map[string]string
	// Current are the IDs of the subnets of members that stay, which keep them whatever is
	// wanted.
	Current []string
	// VIPSubnet is the ID of the subnet of the VIP, empty if it is not known. The traffic
	// to members without a subnet comes from there.
	VIPSubnet string
	// Prefixes are the CIDRs of subnets by their IDs. A subnet that is not in it cannot be
	// read.
	Prefixes map[string]netip.Prefix
}

// Node is a Node behind the load balancer.
type Node struct {
	Name string
	// Server is the ID of its server, empty if it is not known.
	Server  string
	Address netip.Addr
	// Subnet is the ID of the subnet of its member, empty if it is not known.
	Subnet string
}

// Desired is the security group of a Service as it should be.
type Desired struct {
	Names request.Names
	// Rules are sorted.
	Rules []Rule
	// Nodes are those whose ports have the group, sorted by name.
	Nodes []Node
	// RulesOverQuota means that rules have exceeded a quota: others are removed before they are added.
	RulesOverQuota bool
	// KeepPorts means that other ports keep the group: some Nodes are not known yet.
	KeepPorts bool
	// unreadSubnets are the IDs of subnets whose CIDR a rule needs and nothing shows, and
	// unread the names of Nodes whose subnet is not known although a rule needs it.
	unreadSubnets, unread []string
}

// Build returns the group that a Service needs. It has these rules:
//
//	protocol and port                       from
//	each node port                          the subnets of the members, or the ranges of
//	                                        clients if the provider keeps source addresses
//	TCP health check node port, if set      the subnets of the members
func Build(r *request.Request, resolved *request.Resolved, given Given) *Desired {
	d := &Desired{Names: r.Names, Nodes: nodesOf(r, resolved, given)}
	var subnets []netip.Prefix
	if resolved.MemberSources == nil || r.HealthCheckNodePort != 0 {
		subnets = d.readSubnets(subnetIDs(r, given, d.Nodes), given.Prefixes)
	}
	sources := resolved.MemberSources
	if sources == nil {
		sources = subnets
	}
	var rules []Rule
	for _, port := range resolved.Ports {
		if port.NodePort == 0 {
			continue
		}
		for _, source := range sources {
			rules = append(rules, allow(string(port.Protocol), port.NodePort, source))
		}
	}
	if r.HealthCheckNodePort != 0 {
		for _, subnet := range subnets {
			rules = append(rules, allow(string(v1.ProtocolTCP), r.HealthCheckNodePort, subnet))
		}
	}
	d.Rules = sortRules(rules)

	return d
}

// nodesOf returns the Nodes that are members, which the provider may restrict; without a
// node port all Nodes of the Service.
func nodesOf(r *request.Request, resolved *request.Resolved, given Given) []Node {
	targets := r.Members
	for _, port := range resolved.Ports {
		if port.NodePort != 0 {
			targets = lists.Map(port.Members, func(m request.Member) request.Target { return m.Target })

			break
		}
	}
	nodes := lists.Map(targets, func(t request.Target) Node {
		subnet := given.Subnets[t.Node]
		if subnet == "" {
			subnet = commonSubnet(r, given)
		}

		return Node{Name: t.Node, Server: given.Servers[t.Node], Address: t.Address, Subnet: subnet}
	})
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })

	return nodes
}

// commonSubnet returns the ID of the subnet of all members that have none of their own. It
// is empty if the subnet of each Node is to be detected.
func commonSubnet(r *request.Request, given Given) string {
	if r.MemberSubnet.Detect {
		return ""
	}

	return cmp.Or(r.MemberSubnet.ID, given.VIPSubnet)
}

// subnetIDs returns the IDs of the subnets that traffic to the members comes from, sorted.
// That of a Node is empty if it is not known.
func subnetIDs(r *request.Request, given Given, nodes []Node) map[string][]string {
	users := map[string][]string{}
	for _, id := range given.Current {
		users[id] = nil
	}
	if common := commonSubnet(r, given); common != "" {
		users[common] = nil
	}
	for _, node := range nodes {
		users[node.Subnet] = append(users[node.Subnet], node.Name)
	}

	return users
}

// readSubnets returns the CIDRs of subnets, given with the Nodes in them, and stores what is
// not known.
func (d *Desired) readSubnets(users map[string][]string, prefixes map[string]netip.Prefix) []netip.Prefix {
	var found []netip.Prefix
	for id, nodes := range users {
		prefix, ok := prefixes[id]
		switch {
		case id == "":
			d.unread = append(d.unread, nodes...)
		case ok && prefix.IsValid():
			found = append(found, prefix)
		default:
			d.unreadSubnets = append(d.unreadSubnets, id)
		}
	}
	d.unread, d.unreadSubnets = plan.Sorted(d.unread), plan.Sorted(d.unreadSubnets)

	return found
}
