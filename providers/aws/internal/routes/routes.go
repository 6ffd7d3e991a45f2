package routes

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/route"
)

// routeTimeout bounds listing, making or deleting routes.
const routeTimeout = client.ListTimeout

// Config is what Routes depend on.
type Config struct {
	Cluster cluster.ID
	VPC     string
	// TableID is the route table; if it is empty, the one of the cluster is
	// used.
	TableID string
	// SelfName and SelfID are the Node that this process runs on and its
	// instance. Both are empty if that is not known.
	SelfName, SelfID string
	// Inventory has the instances of the cluster.
	Inventory *inventory.Inventory
	// Nodes returns the Nodes of the cluster, which are found by their instances. It is
	// nil until there are informers.
	Nodes func() *nodeindex.Index
	// InstanceOf returns the EC2 instance of a Node, by name.
	InstanceOf func(ctx context.Context, nodeName string) (*inventory.Instance, error)
	// Clock is the real one if it is nil.
	Clock clock.Clock
}

// Routes are the routes to the pods of Nodes in the route table of the cluster.
type Routes struct {
	config Config
	api    API
	table  *cache.Value[*types.RouteTable]
	// attachments finds the instances of routes that are described without
	// them.
	attachments *attachments
	guard       route.Guard

	mu sync.Mutex
	// forwarding are the instances that were enabled to forward since routes
	// were last listed.
	forwarding sets.Set[string]
}

// API are the calls in use for routes.
type API interface {
	client.Instances
	client.Network
	client.Routes
}

var _ cloudprovider.Routes = (*Routes)(nil)

// New returns the routes in the table of a cluster.
func New(config Config, api API) *Routes {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	r := &Routes{
		config: config, api: api,
		attachments: newAttachments(api, config.Inventory.Peek, config.Clock),
		forwarding:  sets.New[string](),
	}
	r.table = cache.NewValue(r.readTable, cache.Options{TTL: tableAge, Timeout: routeTimeout})

	return r
}

// ListRoutes returns the routes of the table to instances, and black holes.
//
//	the route leads to                      listed as
//	an instance with a Node                 a route to the Node, even while it is stopped
//	another instance                        a route to the instance's ID
//	an instance that is gone, nowhere       a black hole
//	a gateway, even one that is gone        -
//	an interface of no instance             -
//
// The instance is the one that EC2 returns with the route, or the one that the
// route's network interface is attached to.
//
// It returns an error until the Nodes are known, so that no route is deleted
// because of missing data.
func (r *Routes) ListRoutes(ctx context.Context, clusterName string) ([]*cloudprovider.Route, error) {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	nodes := r.config.Nodes()
	if !nodes.HasSynced() {
		return nil, fmt.Errorf("list routes: the nodes are not known yet: %w", apierr.ErrUnavailable)
	}
	table, err := r.table.GetWithin(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	r.begin()
	ids, err := r.instanceIDs(ctx, table)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	names, err := r.namesWithoutID(ctx, nodes, ids)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	var list []*cloudprovider.Route
	for i := range table.Routes {
		entry := &table.Routes[i]
		cidr, ok := destination(entry)
		if !ok {
			continue
		}
		route := &cloudprovider.Route{Name: clusterName + "-" + cidr.String(), DestinationCIDR: cidr.String()}
		id := ids[i]
		name := cmp.Or(nodeOn(nodes, id, cidr), names[id])
		switch {
		case name != "":
			route.TargetNode = apitypes.NodeName(name)
		case leadsToGateway(entry):
			continue
		case entry.State == types.RouteStateBlackhole:
			route.Blackhole = true
		case id != "":
			route.TargetNode = apitypes.NodeName(id)
		default:
			continue
		}
		list = append(list, route)
	}

	return list, nil
}

// begin drops the state of writes since routes were last listed.
func (r *Routes) begin() {
	r.guard.Listed()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forwarding.Clear()
}

// CreateRoute creates a route to a Node's instance. A route to another
// instance, or to one that is gone, is replaced.
func (r *Routes) CreateRoute(ctx context.Context, _, _ string, route *cloudprovider.Route) error {
	if err := r.create(ctx, route); err != nil {
		return fmt.Errorf("create route to %s on node %s: %w", route.DestinationCIDR, route.TargetNode, err)
	}

	return nil
}

func (r *Routes) create(ctx context.Context, route *cloudprovider.Route) error {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	cidr, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return apierr.Mark(apierr.ErrInvalid, err)
	}
	i, err := r.config.InstanceOf(ctx, string(route.TargetNode))
	if err != nil {
		return err
	}
	to := targetOf(i)
	if err := r.forward(ctx, to); err != nil {
		return err
	}

	return r.guard.Create(ctx, cidr, route.TargetNode, func(ctx context.Context) error {
		if err := r.upsert(ctx, cidr, to); err != nil {
			return err
		}
		if to.eni != "" {
			r.attachments.keep(map[string]string{to.eni: to.instance})
		}

		return nil
	})
}

// DeleteRoute deletes a route that was listed. A route that is gone counts as
// deleted; one whose target was changed since it was listed is a different one,
// and stays.
func (r *Routes) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	if err := r.remove(ctx, route); err != nil {
		return fmt.Errorf("delete route to %s: %w", route.DestinationCIDR, err)
	}

	return nil
}

func (r *Routes) remove(ctx context.Context, route *cloudprovider.Route) error {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	cidr, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return apierr.Mark(apierr.ErrInvalid, err)
	}
	table, err := r.table.Get(ctx)
	if err != nil {
		return err
	}

	return r.guard.Delete(ctx, cidr, route.TargetNode, func(ctx context.Context) error {
		return r.deleteRoute(ctx, aws.ToString(table.RouteTableId), cidr)
	})
}
