// Package route orders the changes of routes that the route controller makes at
// the same time.
//
// The controller lists the routes, and then creates those of new Nodes and deletes
// those of old ones, all concurrently. If a new Node has the pod CIDR of an old one,
// the deletion of the route to the old Node may come last and would delete the new
// route.
//
// What it promises: changes of one destination run one after the other, and a
// route that was created since the last list is not deleted as that to another
// Node. Changes of different destinations do not wait for each other.
//
// When not to use it: where a deletion names the whole route, with the next hop,
// and no new Node can have the next hop of an old one.
package route

import (
	"context"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/keylock"
)

// Guard orders changes of routes. The zero value is ready to use. It is safe for
// concurrent use.
type Guard struct {
	locks keylock.Set

	mu sync.Mutex
	// created are the Nodes that got a route since the last list, by destination.
	created map[netip.Prefix]types.NodeName
}

// Listed must be called once the routes have been read for a list: what was
// created before is in it.
func (g *Guard) Listed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.created)
}

// Create calls create for the route of a destination to a Node. It waits until
// other changes of the destination have ended, but no longer than ctx.
func (g *Guard) Create(ctx context.Context, destination netip.Prefix, to types.NodeName, create func(context.Context) error) error {
	unlock, err := g.locks.Lock(ctx, destination.Masked().String())
	if err != nil {
		return err
	}
	defer unlock()
	if err := create(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.created == nil {
		g.created = map[netip.Prefix]types.NodeName{}
	}
	g.created[destination.Masked()] = to

	return nil
}

// Delete calls del for the route of a destination that was listed as one to a
// Node, unless the route of another Node has taken its place since. It waits as
// Create does.
func (g *Guard) Delete(ctx context.Context, destination netip.Prefix, to types.NodeName, del func(context.Context) error) error {
	unlock, err := g.locks.Lock(ctx, destination.Masked().String())
	if err != nil {
		return err
	}
	defer unlock()
	g.mu.Lock()
	now, created := g.created[destination.Masked()]
	g.mu.Unlock()
	if created && now != to {
		klog.FromContext(ctx).V(4).Info("Route is not deleted: it leads elsewhere by now", "destination", destination, "node", now)

		return nil
	}

	return del(ctx)
}
