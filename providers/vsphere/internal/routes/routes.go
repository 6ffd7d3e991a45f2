package routes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/route"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
)

const (
	// routeTimeout bounds listing, making or deleting routes, in which calls may wait for
	// those of 200 others.
	routeTimeout = 5 * time.Minute
	// interval is the time between two attempts to replace a former route, and between two
	// reads of the state of a new one. After limit, the next sync goes on.
	interval, limit = time.Second, 10 * time.Second
	// maxStale is how often a route is written in spite of concurrent changes.
	maxStale = 3
)

// errPending means that the manager has not realized a route yet.
var errPending = apierr.Mark(apierr.ErrUnavailable, errors.New("NSX-T has not realized it yet"))

// Config is what Routes depend on.
type Config struct {
	// RouterPath is the path of the tier-1 gateway.
	RouterPath string
	// Wait shortens the wait for the realized state, for tests.
	Wait plan.Wait
}

// API are the calls in use for routes.
type API interface {
	List(ctx context.Context, path string) ([]nsx.Object, error)
	Get(ctx context.Context, path string) (nsx.Object, error)
	Put(ctx context.Context, path string, o nsx.Object) (nsx.Object, error)
	Delete(ctx context.Context, path string) error
	Realization(ctx context.Context, path string) (nsx.Realization, error)
}

// Routes are the routes to the Pods of Nodes in a tier-1 gateway.
type Routes struct {
	config Config
	api    API
	nodes  atomic.Pointer[nodeindex.Index]

	mu sync.Mutex
	// outdated has the ID of a route that leads to an address which its Node no longer
	// has.
	outdated map[key]string
	// unrealized are the IDs of routes that were made and not realized in time.
	unrealized sets.Set[string]
}

// key is the destination of a route, and its Node.
type key struct {
	cidr netip.Prefix
	node string
}

var (
	_ cloudprovider.Routes = (*Routes)(nil)
	_ API                  = (*nsx.Client)(nil)
)

// New returns the routes of a gateway.
func New(config Config, api API) *Routes {
	return &Routes{config: config, api: api, outdated: map[key]string{}, unrealized: sets.New[string]()}
}

// SetInformers has the addresses of Nodes looked up.
func (r *Routes) SetInformers(factory informers.SharedInformerFactory) error {
	index, err := nodeindex.New(factory.Core().V1().Nodes().Informer(), "vsphere-route", func(*v1.Node) []string { return nil })
	if err != nil {
		return err
	}
	r.nodes.Store(index)

	return nil
}

// Prove reads the gateway and its routes. A gateway that may not be read may still have routes.
func Prove(ctx context.Context, routerPath string, api API) error {
	if _, err := api.Get(ctx, routerPath); err != nil && (!errors.Is(err, apierr.ErrDenied) || errors.Is(err, nsx.ErrLogin)) {
		return err
	}
	_, err := api.List(ctx, routerPath+"/static-routes")

	return err
}

// ListRoutes returns the routes of the cluster, by their tags.
//
//	the route                                      is listed
//	is not to a range of an existing Node          yes, and then deleted
//	leads to an address of its Node                yes
//	leads to none, and another one does            as a black hole, and then deleted
//	leads to none                                  no: creating it again corrects it
//	was made here and is not realized              no: creating it again waits for it
//	has not both tags                              no: it is not of this cluster
//
// A route to a Node without addresses of the family is listed. It returns an error until
// the Nodes are known.
func (r *Routes) ListRoutes(ctx context.Context, clusterName string) ([]*cloudprovider.Route, error) {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	nodes := r.nodes.Load()
	if !nodes.HasSynced() {
		return nil, fmt.Errorf("list routes: the nodes are not known yet: %w", apierr.ErrUnavailable)
	}
	rows, err := r.api.List(ctx, r.config.RouterPath+"/static-routes")
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	var own []ownRoute
	for _, row := range rows {
		if route, ok := parseRoute(row, clusterName); ok {
			own = append(own, route)
		}
	}

	return r.list(nodes, own), nil
}

// list returns the routes as the route controller gets them, and stores those that it is
// to create again.
func (r *Routes) list(nodes *nodeindex.Index, own []ownRoute) []*cloudprovider.Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.outdated)
	served := map[key]bool{}
	for _, o := range own {
		served[o.key()] = served[o.key()] || !r.unrealized.Has(o.id) && !o.isOutdated(nodes.Node(o.node))
	}
	var list []*cloudprovider.Route
	for _, o := range own {
		node := nodes.Node(o.node)
		listed := &cloudprovider.Route{Name: o.id, TargetNode: types.NodeName(o.node), DestinationCIDR: route.TextOf(node, o.cidr)}
		switch {
		case !o.isTo(node):
		case o.isOutdated(node) && !served[o.key()]:
			r.outdated[o.key()] = o.id

			continue
		case o.isOutdated(node):
			listed.Blackhole = true
		case r.unrealized.Has(o.id):
			continue
		}
		list = append(list, listed)
	}

	return list
}

// CreateRoute creates a route to a Node, or corrects the one that leads to an address
// which the Node no longer has. It waits some seconds until the gateway has realized it.
func (r *Routes) CreateRoute(ctx context.Context, clusterName, nameHint string, route *cloudprovider.Route) error {
	if err := r.create(ctx, clusterName, nameHint, route); err != nil {
		return fmt.Errorf("create route to %s on node %s: %w", route.DestinationCIDR, route.TargetNode, err)
	}

	return nil
}

func (r *Routes) create(ctx context.Context, clusterName, uid string, route *cloudprovider.Route) error {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	cidr, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return apierr.Mark(apierr.ErrInvalid, err)
	}
	cidr = cidr.Masked()
	hop, err := nextHopOf(route.TargetNodeAddresses, cidr)
	if err != nil {
		return err
	}
	wanted := wantedRoute{cluster: clusterName, node: string(route.TargetNode), cidr: cidr, hop: hop}
	id := cmp.Or(r.outdatedOf(key{cidr, wanted.node}), routeID(uid, cidr))
	err = r.config.Wait.Poll(ctx, interval, limit, func() (bool, error) {
		err := r.ensure(ctx, id, wanted)

		return !errors.Is(err, nsx.ErrDeleting), err
	})
	if err != nil {
		return err
	}

	return r.waitRealized(ctx, id)
}

// outdatedOf returns the ID of the route that is to be corrected, empty if there is none.
func (r *Routes) outdatedOf(at key) string {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.outdated[at]
}

func (r *Routes) path(id string) string { return r.config.RouterPath + "/static-routes/" + id }

// ensure creates a route, or corrects the one that exists.
func (r *Routes) ensure(ctx context.Context, id string, wanted wantedRoute) error {
	write, err := wanted.object(id)
	if err != nil {
		return err
	}
	for range maxStale {
		_, err := r.api.Put(ctx, r.path(id), write)
		if err == nil {
			klog.FromContext(ctx).V(2).Info("Wrote route", "id", id, "nextHop", wanted.hop)
		}
		if !errors.Is(err, nsx.ErrExists) && !errors.Is(err, nsx.ErrStale) {
			return err
		}
		exists, err := r.api.Get(ctx, r.path(id))
		if err != nil || wanted.isServedBy(exists) {
			return err
		}
		if write, err = wanted.correct(exists); err != nil {
			return err
		}
	}

	return nsx.ErrStale
}

// waitRealized waits until the gateway has realized a route. That it cannot is an error at
// once.
func (r *Routes) waitRealized(ctx context.Context, id string) error {
	err := r.config.Wait.Poll(ctx, interval, limit, func() (bool, error) {
		switch now, err := r.api.Realization(ctx, r.path(id)); {
		case err != nil:
			return false, err
		case now.State == nsx.Failed:
			return true, fmt.Errorf("NSX-T cannot realize it: %s", now.Reason)
		case now.State == nsx.Pending:
			return false, errPending
		}

		return true, nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.unrealized.Delete(id)
	} else {
		r.unrealized.Insert(id)
	}

	return err
}

// DeleteRoute deletes a route that was listed, by its ID, which no route to another Node
// has. One that is gone counts as deleted.
func (r *Routes) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	if err := r.remove(ctx, route); err != nil {
		return fmt.Errorf("delete route to %s on node %s: %w", route.DestinationCIDR, route.TargetNode, err)
	}

	return nil
}

func (r *Routes) remove(ctx context.Context, listed *cloudprovider.Route) error {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	if err := r.api.Delete(ctx, r.path(listed.Name)); err != nil {
		return err
	}
	klog.FromContext(ctx).V(2).Info("Deleted route", "id", listed.Name, "destination", listed.DestinationCIDR)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unrealized.Delete(listed.Name)

	return nil
}
