package loadbalancers

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// chosen returns the Nodes that are members of all pools, by their addresses of each family that is in use. Each has its
// own choice: few Nodes may have addresses of one.
func (in input) chosen(p parts) map[address.Family][]request.Member {
	ips, families := sets.New[netip.Addr](), sets.New(in.request.Families...)
	for _, pool := range p.own[policy.Pools] {
		ips.Insert(pool.MemberIPs.All()...)
	}
	for _, server := range p.own[policy.VirtualServers] {
		if ip, err := netip.ParseAddr(server.IPAddress); err == nil {
			families.Insert(address.FamilyOf(ip))
		}
	}
	all := map[address.Family][]request.Member{}
	for family := range families {
		members := in.request.Members[family]
		all[family], _ = targets.Choose(in.subset, members, func(m request.Member) string { return m.Node },
			func(m request.Member) bool { return ips.Has(m.IP) }, targets.Limit{})
	}

	return all
}
