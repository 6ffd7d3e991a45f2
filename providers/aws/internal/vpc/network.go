package vpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

const (
	// keepFor is how long subnets and route tables are cached. Services that
	// sync at the same time share one read; new tags take effect soon.
	keepFor = time.Minute
	// fresh is the maximum age of a result that is requested without the cache.
	fresh = 0
)

// Zoner returns availability zones by name. Zones that it does not have are
// left out.
type Zoner interface {
	Zones(ctx context.Context, names []string) (map[string]Zone, error)
}

// Network reads the subnets and route tables of one VPC. It is safe for
// concurrent use; what it returns is shared and must not be changed.
type Network struct {
	api     client.Network
	id      string
	zones   Zoner
	subnets *cache.Value[[]Subnet]
	tables  *cache.Value[[]RouteTable]
}

// NewNetwork returns the network of the VPC with this ID. It reads nothing
// before the first request.
func NewNetwork(api client.Network, id string, zones Zoner) *Network {
	n := &Network{api: api, id: id, zones: zones}
	n.subnets = cache.NewValue(n.readSubnets, cache.Options{TTL: keepFor, Timeout: client.ListTimeout})
	n.tables = cache.NewValue(n.readTables, cache.Options{TTL: keepFor, Timeout: client.ListTimeout})

	return n
}

// Discover chooses the subnets of a load balancer that names none: see
// [Choose]. If the cached subnets contain no choice, they are read again.
func (n *Network) Discover(ctx context.Context, options DiscoverOptions) ([]Subnet, error) {
	chosen, err := n.discover(ctx, options, keepFor)
	if errors.Is(err, errNoChoice) {
		return n.discover(ctx, options, fresh)
	}

	return chosen, err
}

func (n *Network) discover(ctx context.Context, options DiscoverOptions, maxAge time.Duration) ([]Subnet, error) {
	subnets, err := n.candidates(ctx, options, maxAge)
	if err != nil {
		return nil, err
	}
	// An internal load balancer can use public and private subnets.
	var tables []RouteTable
	if !options.Internal {
		if tables, err = n.tables.GetWithin(ctx, maxAge); err != nil {
			return nil, err
		}
	}
	names := lists.Map(subnets, func(subnet Subnet) string { return subnet.AvailabilityZone })
	zones, err := n.zones.Zones(ctx, plan.Sorted(names))
	// Without the permission, all zones count as usual ones.
	if err != nil && !errors.Is(err, apierr.ErrDenied) {
		return nil, fmt.Errorf("read availability zones: %w", err)
	}
	chosen, err := Choose(subnets, tables, zones, options)
	if err != nil {
		return nil, fmt.Errorf("choose subnets in %s: %w", n.id, err)
	}

	return chosen, nil
}

// candidates returns the subnets of the VPC that the cluster may use, or the
// fallback.
func (n *Network) candidates(ctx context.Context, options DiscoverOptions, maxAge time.Duration) ([]Subnet, error) {
	all, err := n.subnets.GetWithin(ctx, maxAge)
	if err != nil {
		return nil, err
	}
	usable := Usable(all, options.Cluster)
	if len(usable) > 0 || options.Fallback == "" {
		return usable, nil
	}

	return n.named(ctx, []string{options.Fallback}, maxAge)
}

// Empty reports whether the VPC has no subnet at all. EC2 returns none for a
// VPC that does not exist, without an error.
func (n *Network) Empty(ctx context.Context) (bool, error) {
	subnets, err := n.subnets.Get(ctx)

	return err == nil && len(subnets) == 0, err
}

// Named finds subnets by ID, if the items begin with "subnet-", or else by the tag
// Name: first those with an ID, then the others, each in the given order. It
// returns an error unless each is found exactly once. The cache is used if it
// contains all of them.
func (n *Network) Named(ctx context.Context, wanted []string) ([]Subnet, error) {
	return n.named(ctx, wanted, keepFor)
}

func (n *Network) named(ctx context.Context, wanted []string, maxAge time.Duration) ([]Subnet, error) {
	known, err := n.subnets.GetWithin(ctx, maxAge)
	if err != nil {
		return nil, err
	}
	if picked, err := Pick(known, wanted); err == nil {
		return picked, nil
	}
	described, err := n.readWanted(ctx, wanted)
	if err != nil {
		return nil, err
	}

	return Pick(described, wanted)
}

// DiscoverOptions are the requirements of a load balancer without the subnets
// annotation.
type DiscoverOptions struct {
	Cluster  cluster.ID
	Internal bool
	// Fallback is the ID of a subnet for a cluster that may use none. It can be
	// empty.
	Fallback string
}
