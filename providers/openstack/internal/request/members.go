package request

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// readMembers selects the Nodes with the labels, and their addresses.
func (p *parser) readMembers(nodes []*v1.Node) {
	r := p.request
	selector := p.textOrEmpty(AnnotationNodeSelector, p.settings.NodeSelector)
	selected := service.SelectNodes(nodes, labels(selector))
	members, warnings := targets(selected, r.Family)
	r.Members, r.DetectFrom = members, members
	p.warnings = append(p.warnings, warnings...)
	if len(selected) == 0 && len(nodes) > 0 {
		p.warn(NoNodeSelected, "The load balancer has no members: no node has the labels %s", selector)
		r.DetectFrom, _ = targets(nodes, r.Family)
	}
}

// targets returns the Nodes that have an address, sorted by name. Octavia refuses two
// members with the same address: the first Node gets it.
func targets(nodes []*v1.Node, family address.Family) ([]Target, []service.Warning) {
	sorted := slices.SortedFunc(slices.Values(nodes), func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	users := make(map[netip.Addr]bool, len(nodes))
	found := slices.Grow([]Target(nil), len(nodes))
	var without, same []string
	for _, node := range sorted {
		switch addr := balancedAddress(node, family); {
		case !addr.IsValid():
			without = append(without, node.Name)
		case users[addr]:
			same = append(same, node.Name)
		default:
			users[addr] = true
			found = append(found, Target{Node: node.Name, Address: addr})
		}
	}
	kind := strings.TrimSpace(string(family) + " address")

	return found, slices.Concat(
		service.SkippedNodes(without, "they have no "+kind+" that others can reach"),
		service.SkippedNodes(same, "other nodes have the same address"),
	)
}

// balancedAddress returns the address under which the load balancer reaches a Node: the
// first internal one of the family, else the first external one, of any family if it is
// empty. It is the zero Addr if there is none.
func balancedAddress(node *v1.Node, family address.Family) netip.Addr {
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range node.Status.Addresses {
			if a.Type != kind {
				continue
			}
			addr, err := address.Parse(a.Address)
			if err == nil && address.Usable(addr) && (family == "" || address.FamilyOf(addr) == family) {
				return addr
			}
		}
	}

	return netip.Addr{}
}
