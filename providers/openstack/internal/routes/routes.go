package routes

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/keylock"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/route"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

const (
	// routeTimeout bounds listing, making or deleting routes.
	routeTimeout = time.Minute
	// undoTimeout bounds undoing what a failed call has changed.
	undoTimeout = 10 * time.Second
	// extensionsAge and networksAge are how long the extensions of Neutron and the
	// networks of the router are cached. The networks are also read again if an address
	// is in none of them.
	extensionsAge, networksAge = time.Hour, 24 * time.Hour
)

// Config is what Routes depend on.
type Config struct {
	// RouterID is the ID of the router.
	RouterID string
	// Servers returns the IDs of a Node's server, at most one.
	Servers func(*v1.Node) []string
	// Clock is the real one if it is nil.
	Clock clock.PassiveClock
}

// Routes are the routes to the Pods of Nodes in a Neutron router. The server of a Node
// may use the addresses of its Pods because they are an allowed address pair of its port.
//
// The pair is there before the route is made, and gone before the route is. So a route
// that is listed needs nothing else, and an operation that ended in between is called
// again.
type Routes struct {
	config   Config
	api      API
	features *cache.Value[routeFeatures]
	networks *cache.Value[[]string]
	guard    route.Guard
	// changes has the lock of the router, and that of ports without revisions.
	changes keylock.Set
	// additions and removals are the changes that wait for the router.
	additions, removals together

	nodes    atomic.Pointer[nodeindex.Index]
	recorder atomic.Pointer[record.EventRecorder]

	mu sync.Mutex
	// listed are the routes that were last listed, and count is how many the router had.
	listed map[routeKey][]client.Route
	count  int
	// revision is that of the router after the last change, and changed when that was.
	revision int
	changed  time.Time
	// incomplete are the destinations whose deletion ended between pair and route.
	incomplete sets.Set[netip.Prefix]
	refusals   refusals
	skipped    sets.Set[client.Route]
}

// API are the calls in use for routes.
type API interface {
	routerAPI
	addressPairAPI

	Extensions(ctx context.Context) (map[string]bool, error)
}

// routeKey identifies a route of the route controller: its destination, and the name of
// the Node, or the next hop of a black hole.
type routeKey struct {
	cidr   netip.Prefix
	target apitypes.NodeName
}

// routeFeatures are the extensions of Neutron that routes use.
type routeFeatures struct {
	atomic    bool // routes are added and removed one by one
	pairs     bool // ports have allowed address pairs
	revisions bool // changes are refused if there was another one
}

var (
	_ cloudprovider.Routes = (*Routes)(nil)
	_ API                  = (*client.NetworkService)(nil)
)

// New returns the routes of a router, nil if there is none.
func New(config Config, api API) *Routes {
	if config.RouterID == "" {
		return nil
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	r := &Routes{
		config: config, api: api,
		listed: map[routeKey][]client.Route{}, incomplete: sets.New[netip.Prefix](), skipped: sets.New[client.Route](),
	}
	r.refusals.clock = config.Clock
	r.additions.send, r.removals.send = r.add, r.take
	r.features = cache.NewValue(r.readFeatures, cache.Options{TTL: extensionsAge})
	r.networks = cache.NewValue(r.readNetworks, cache.Options{TTL: networksAge})

	return r
}

// readFeatures reads the extensions of Neutron. That there are no routes is an error, so
// that it is looked up again.
func (r *Routes) readFeatures(ctx context.Context) (routeFeatures, error) {
	names, err := r.api.Extensions(ctx)
	if err != nil {
		return routeFeatures{}, err
	}
	if !names[client.ExtensionExtraRoute] && !names[client.ExtensionExtraRouteAtomic] {
		return routeFeatures{}, apierr.Mark(apierr.ErrInvalid,
			fmt.Errorf("no routes with this Neutron: it has neither the extension %s nor %s", client.ExtensionExtraRoute, client.ExtensionExtraRouteAtomic))
	}

	return routeFeatures{
		atomic:    names[client.ExtensionExtraRouteAtomic],
		pairs:     names[client.ExtensionAddressPairs],
		revisions: names[client.ExtensionRevisions] && names[client.ExtensionRevisionIfMatch],
	}, nil
}

// ListRoutes returns all routes of the router.
//
//	the next hop is                           listed as
//	any address of a Node                     a route to the Node
//	another address                           a black hole, its target is the next hop
//	no address, or the destination no CIDR    -
//
// A route to another Node, or to none, is left out as long as the Node that has the
// destination as its range has no route: it is replaced when the one to this Node is
// created, and not deleted before.
//
// It returns an error until the Nodes are known, so that no route is deleted because of
// missing data.
func (r *Routes) ListRoutes(ctx context.Context, _ string) ([]*cloudprovider.Route, error) {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	nodes := r.nodes.Load()
	if !nodes.HasSynced() {
		return nil, fmt.Errorf("list routes: the nodes are not known yet: %w", apierr.ErrUnavailable)
	}
	if _, err := r.features.Get(ctx); err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	router, err := r.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	r.guard.Listed()

	return r.list(ctx, nodes, router), nil
}

// CreateRoute creates a route to a Node. Other routes to its range that lead to no Node
// with this range are removed once the new one is there.
func (r *Routes) CreateRoute(ctx context.Context, _, _ string, route *cloudprovider.Route) error {
	if err := r.create(ctx, route); err != nil {
		return fmt.Errorf("create route to %s on node %s: %w", route.DestinationCIDR, route.TargetNode, err)
	}

	return nil
}

func (r *Routes) create(ctx context.Context, route *cloudprovider.Route) error {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	cidr, err := parseCIDR(route.DestinationCIDR)
	if err != nil {
		return err
	}
	node := r.nodes.Load().Node(string(route.TargetNode))
	if node == nil {
		return apierr.Mark(apierr.ErrNotFound, errors.New("there is no such node"))
	}
	hop, err := nextHop(node, cidr)
	if err != nil {
		return err
	}
	features, err := r.features.Get(ctx)
	if err != nil {
		return err
	}
	wanted := newRoute{cidr: cidr, hop: hop, node: node}

	return r.guard.Create(ctx, cidr, route.TargetNode, func(ctx context.Context) error {
		return r.refusals.handle(r, wanted, func() error { return r.ensure(ctx, features, wanted) })
	})
}

// newRoute is a route to create.
type newRoute struct {
	cidr netip.Prefix
	hop  netip.Addr
	node *v1.Node
}

func (n newRoute) row() client.Route {
	return client.Route{Destination: n.cidr.String(), NextHop: n.hop.String()}
}

// ensure makes the pair and the route. If the route is refused, the pair is removed
// again. If it may have been made nevertheless, the pair stays.
func (r *Routes) ensure(ctx context.Context, features routeFeatures, wanted newRoute) error {
	added, err := r.addPair(ctx, features, wanted)
	if err != nil {
		return err
	}
	replaced, err := r.addRoute(ctx, features, wanted)
	if err != nil {
		if added && ctx.Err() == nil && !client.MayBeApplied(err) {
			err = errors.Join(err, r.undoPair(ctx, features, wanted))
		}

		return err
	}
	r.setIncomplete(wanted.cidr, false)
	klog.FromContext(ctx).V(2).Info("Created route", "router", r.config.RouterID, "destination", wanted.cidr, "nextHop", wanted.hop)

	return r.removeReplaced(ctx, features, wanted, replaced)
}

// undoPair removes the pair of a route that was refused.
func (r *Routes) undoPair(ctx context.Context, features routeFeatures, refused newRoute) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if err := r.removePair(ctx, features, refused.hop, refused.cidr); err != nil {
		return fmt.Errorf("undo: %w", err)
	}

	return nil
}

// removeReplaced removes routes that the new one has replaced, after their pairs.
func (r *Routes) removeReplaced(ctx context.Context, features routeFeatures, by newRoute, replaced []client.Route) error {
	if len(replaced) == 0 {
		return nil
	}
	for _, old := range replaced {
		hop, err := address.Parse(old.NextHop)
		if err != nil {
			continue // it has no port
		}
		if err := r.removePair(ctx, features, hop, by.cidr); err != nil {
			return fmt.Errorf("remove the pair of a route that it replaces: %w", err)
		}
	}
	if err := r.removeRoutes(ctx, features, replaced); err != nil {
		return fmt.Errorf("remove the routes that it replaces: %w", err)
	}

	return nil
}

// DeleteRoute deletes a route that was listed, by its next hop. A route that is gone
// counts as deleted; its pair is removed nevertheless.
func (r *Routes) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	if err := r.remove(ctx, route); err != nil {
		return fmt.Errorf("delete route to %s on node %s: %w", route.DestinationCIDR, route.TargetNode, err)
	}

	return nil
}

func (r *Routes) remove(ctx context.Context, route *cloudprovider.Route) error {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	cidr, err := parseCIDR(route.DestinationCIDR)
	if err != nil {
		return err
	}
	features, err := r.features.Get(ctx)
	if err != nil {
		return err
	}

	return r.guard.Delete(ctx, cidr, route.TargetNode, func(ctx context.Context) error {
		rows, hops, err := r.find(ctx, routeKey{cidr, route.TargetNode})
		if err != nil {
			return err
		}
		for _, hop := range hops {
			if err := r.removePair(ctx, features, hop, cidr); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
		// The Node may be back before the route is removed: then the pair must be, too.
		r.setIncomplete(cidr, true)
		if err := r.removeRoutes(ctx, features, rows); err != nil {
			return err
		}
		r.setIncomplete(cidr, false)
		klog.FromContext(ctx).V(2).Info("Deleted route", "router", r.config.RouterID, "routes", rows)

		return nil
	})
}

// find returns the routes of the router that a listed route stands for, and their next
// hops. A route that was not listed is looked for by the addresses of its Node; if there
// is none, its next hop is the one that it would have.
func (r *Routes) find(ctx context.Context, key routeKey) (rows []client.Route, hops []netip.Addr, err error) {
	r.mu.Lock()
	rows = r.listed[key]
	r.mu.Unlock()
	if len(rows) == 0 {
		router, err := r.read(ctx)
		if err != nil {
			return nil, nil, err
		}
		hops = r.hopsOf(key)
		rows = routesVia(router.Routes, key.cidr, hops)
	}
	if len(rows) == 0 {
		return nil, hops[:min(1, len(hops))], nil
	}
	hops = nil
	for _, row := range rows {
		if hop, err := address.Parse(row.NextHop); err == nil {
			hops = append(hops, hop)
		}
	}

	return rows, hops, nil
}

// setIncomplete records whether a route may be there without its pair.
func (r *Routes) setIncomplete(cidr netip.Prefix, incomplete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if incomplete {
		r.incomplete.Insert(cidr)
	} else {
		r.incomplete.Delete(cidr)
	}
}
