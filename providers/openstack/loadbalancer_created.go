package openstack

import (
	"context"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
)

// createdAge is for how long a load balancer counts as the one that was requested: the
// virtual machines of most clouds are there by then.
const createdAge = 10 * time.Minute

// isAsCreated reports whether a load balancer that is ACTIVE now was created for the same
// request, and has all its parts, which one call shows. The settings of the parts need not
// be read then.
func (r *run) isAsCreated(ctx context.Context, id string) bool {
	if !r.state.created.take(r.input, createdAge) {
		return false
	}
	tree, err := r.Octavia.GetStatusTree(ctx, id)

	return err == nil && r.isComplete(tree)
}

// isComplete reports whether a load balancer has a listener for each port, with a pool that
// has all members and the health monitor, and none of them has failed. Where a provider does
// not have some of it, it is not.
func (r *run) isComplete(tree *client.StatusTree) bool {
	if len(tree.Listeners) != len(r.request.Ports) || tree.Provisioning != client.ProvisioningActive {
		return false
	}
	for _, listener := range tree.Listeners {
		if !isMade(listener.LBStatus) || len(listener.Pools) != 1 || !r.hasAll(&listener.Pools[0]) {
			return false
		}
	}

	return true
}

func (r *run) hasAll(pool *client.PoolStatus) bool {
	wanted, _ := r.chooseMembers(new(observed), r.request.Members)
	if !isMade(pool.LBStatus) || len(pool.Members) != len(wanted) || (pool.Monitor != nil) != (r.request.Monitor != nil) {
		return false
	}
	for _, member := range pool.Members {
		if !isMade(member.LBStatus) {
			return false
		}
	}

	return pool.Monitor == nil || isMade(pool.Monitor.LBStatus)
}

// isMade reports whether a part of a new load balancer is there. It becomes ACTIVE after
// the load balancer, and on some clouds never, although it serves.
func isMade(part client.LBStatus) bool {
	return part.Provisioning == client.ProvisioningActive || part.Provisioning == client.ProvisioningPendingCreate
}

// asCreated are the parts of a load balancer as far as they are read of one that is as it
// was requested.
func asCreated(info *client.LoadBalancerInfo) *octavia.Observed {
	return &octavia.Observed{LoadBalancer: info}
}
