package loadbalancers

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// chosen returns the Nodes that are members of all pools, by their addresses of each family.
func (in input) chosen(pools []*policy.Object) map[address.Family][]request.Member {
	ips, names, serving := sets.New[netip.Addr](), sets.New[string](), sets.New[string]()
	for _, pool := range pools {
		ips.Insert(pool.MemberIPs.All()...)
	}
	for _, members := range in.request.Members {
		for _, m := range members {
			names.Insert(m.Node)
			if ips.Has(m.IP) {
				serving.Insert(m.Node)
			}
		}
	}
	chosen := in.subset.Choose(sets.List(names), serving.Has, targets.Limit{})
	all := map[address.Family][]request.Member{}
	for family, members := range in.request.Members {
		all[family] = lists.Filter(members, func(m request.Member) bool { return chosen.Has(m.Node) })
	}

	return all
}
