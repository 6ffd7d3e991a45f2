package loadbalancers

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// chosen returns the Nodes that are members of all pools, by their addresses of each family. Each family has its own
// choice: few Nodes may have addresses of one.
func (in input) chosen(pools []*policy.Object) map[address.Family][]request.Member {
	ips := sets.New[netip.Addr]()
	for _, pool := range pools {
		ips.Insert(pool.MemberIPs.All()...)
	}
	all := map[address.Family][]request.Member{}
	for family, members := range in.request.Members {
		all[family], _ = targets.Choose(in.subset, members, func(m request.Member) string { return m.Node },
			func(m request.Member) bool { return ips.Has(m.IP) }, targets.Limit{})
	}

	return all
}
