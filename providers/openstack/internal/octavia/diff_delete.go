package octavia

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// DiffDelete plans to delete what a Service has in a load balancer that stays: its
// listeners with their pools, its pools that no listener uses, and last its tags. Parts
// without a tag are those of the Service only if the load balancer was made for it, and if
// they have exactly its names.
func DiffDelete(o *Observed, names request.Names, owner bool) change.Plan {
	f := newDiffer(o, &Desired{Names: names, Owner: owner})
	f.leftovers()

	return append(f.plan, Release(o, names)...)
}

// Delete plans to delete a whole load balancer: in one call, or part by part if the provider
// needs that. Octavia deletes one in ERROR in one call only.
//
// The plan waits until the load balancer is gone.
func Delete(o *Observed, cascade bool) change.Plan {
	lb := o.LoadBalancer
	var steps change.Plan
	if lb.Provisioning == client.ProvisioningError {
		cascade = true
	}
	if !cascade {
		steps = deleteParts(o)
	}
	text := fmt.Sprintf("delete load balancer %s (%s)", lb.Name, lb.ID)
	if cascade {
		text += " with all its parts"
	}
	step := plan.NewStep(kindDeleteLoadBalancer, text, func(ctx context.Context, env *change.Env) error {
		return env.Delete(ctx, lb.ID, func(ctx context.Context) error { return env.Octavia.DeleteLoadBalancer(ctx, lb.ID, cascade) })
	})

	return append(steps, step.Removal())
}

// deleteParts plans to delete listeners and pools. The listeners go before the pools, since their
// L7 policies use pools. A pool is deleted with its health monitor, whose own deletion Octavia
// refuses if the pool stays PENDING_CREATE.
func deleteParts(o *Observed) change.Plan {
	var steps change.Plan
	for _, l := range o.Listeners {
		steps = append(steps, deleteListener(o.LoadBalancer.ID, l).Removal())
	}
	for _, id := range slices.Sorted(maps.Keys(o.Pools)) {
		steps = append(steps, deletePool(o.LoadBalancer.ID, o.Pools[id]).Removal())
	}

	return steps
}
