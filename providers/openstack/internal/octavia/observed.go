package octavia

import (
	"cmp"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// Observed is a load balancer with its parts, as it is.
type Observed struct {
	LoadBalancer *client.LoadBalancerInfo
	// Listeners are all of them, also those of other Services and of users, by port.
	Listeners []*client.Listener
	// Pools are all of them by their IDs, also those that no listener uses.
	Pools map[string]*Pool
	// At is when its reading began.
	At time.Time
	// Shared means that it comes from lists that many Services share, which may be older
	// than the latest change: it may only show that nothing, or only an addition, is to be
	// done.
	Shared bool
}

// KeptSubnets returns the IDs of the subnets from which members that stay get their traffic,
// sorted, as far as they are known: Octavia does not change the subnet of a member (octavia:
// api/v2/types/member.py, MemberPUT), and one without a subnet gets it from that of the VIP.
func KeptSubnets(o *Observed, d *Desired) []string {
	if o == nil {
		return nil
	}
	wanted, ids := sets.New[netip.AddrPort](), sets.New[string]()
	for _, port := range d.Ports {
		for _, m := range port.Pool.Members {
			wanted.Insert(m.pair())
		}
	}
	for _, p := range o.Pools {
		for _, m := range p.Members {
			if wanted.Has(m.pair()) && m.Full != nil {
				ids.Insert(cmp.Or(m.Full.SubnetID, o.LoadBalancer.VIPSubnetID))
			}
		}
	}

	ids.Delete("")

	return sets.List(ids)
}

// Pool is a pool with its monitor and its members.
type Pool struct {
	client.Pool

	// Unread means that Monitor and Members were not read. Such a pool is not of the
	// Service, or no listener uses it, and must not be changed.
	Unread bool
	// Monitor is nil without one.
	Monitor *client.HealthMonitor
	// Members are sorted by address and port.
	Members []Member
}

// Member is a member of a pool.
type Member struct {
	// ID is empty if the member comes from lists that many Services share.
	ID      string
	Name    string
	Address netip.Addr
	Port    int32
	// MonitorPort is 0 if health checks go to Port.
	MonitorPort int32
	// Partial means that the monitor port is not known: the member comes from a status
	// tree.
	Partial bool
	// Full has all settings of the member. It is nil if the member does not come from a
	// list of the members of its pool.
	Full *client.Member
}
