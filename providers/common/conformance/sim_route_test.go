package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// simRoute is a route of the cloud in memory. One to a machine that is gone or
// off is a black hole.
type simRoute struct{ cidr, target string }

func (r simRoute) String() string { return fmt.Sprintf("route to %s by %s", r.cidr, r.target) }

func (c *simCloud) SetNodes(_ testing.TB, nodes []*v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = slices.Clone(nodes)
}

func (c *simCloud) Routes() []CloudRoute {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []CloudRoute
	for _, route := range c.routes {
		if slices.Contains(c.planted, route.cidr) {
			continue
		}
		seen := CloudRoute{CIDR: route.cidr}
		if c.machineOf(route.target) != nil {
			seen.ProviderID = route.target
		}
		all = append(all, seen)
	}

	return all
}

// Plant makes routes to a gateway and to a machine that is no Node.
func (c *simRouteCloud) Plant(testing.TB) (describe func() []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.routes = append(c.routes, simRoute{"0.0.0.0/0", "gateway"}, simRoute{"192.168.0.0/16", "sim://99999999"})

	return c.plant("0.0.0.0/0", "192.168.0.0/16")
}

// simRouteSeen is a route as it is listed.
type simRouteSeen struct {
	simRoute
	blackhole bool
}

// routeList reads all routes.
func (c *simCloud) routeList(ctx context.Context) (seen []simRouteSeen, err error) {
	err = c.call(ctx, false, func() error {
		for _, route := range c.routes {
			m := c.machineOf(route.target)
			seen = append(seen, simRouteSeen{route, m == nil && route.target != "gateway"})
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}

	return seen, nil
}

// changeRoute makes a route, or removes it when it is to that target still. One
// that is there cannot be made.
func (c *simCloud) changeRoute(ctx context.Context, route simRoute, change string) error {
	err := c.call(ctx, true, func() error {
		i := slices.IndexFunc(c.routes, func(r simRoute) bool {
			return r.cidr == route.cidr && !slices.Contains(c.planted, r.cidr)
		})
		switch {
		case change == "create" && i >= 0:
			return apierr.Mark(apierr.ErrConflict, errConflict)
		case change == "create":
			c.routes = append(c.routes, route)
		case i < 0:
			return apierr.Mark(apierr.ErrNotFound, errMissing)
		case change == "replace":
			c.routes[i] = route
		case route.target == "" || c.routes[i].target == route.target:
			c.routes = slices.Delete(c.routes, i, i+1)
		}

		return nil
	})
	if err != nil {
		return fmt.Errorf("%s route: %w", change, err)
	}

	return nil
}

// simRoutes are the routes of a provider over the cloud in memory.
type simRoutes struct {
	cloud   *simCloud
	timeout time.Duration
	// What can be wrong with it.
	deaf      bool // does not hear that its caller gave up
	strict    bool // fails for a route that is there, or not there
	narrow    bool // lists routes to Nodes only
	fussy     bool // fails to list when there is an odd route
	blind     bool // deletes whatever route there is
	guesses   bool // takes any node for one that is not known
	nomad     bool // routes to stopped machines are black holes
	trusting  bool // takes any destination
	stays     bool // leaves a route where it is
	everyCall bool // lists before each change
}

var _ cloudprovider.Routes = (*simRoutes)(nil)

// begin gives a call its deadline.
func (s *simRoutes) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.deaf {
		return context.WithoutCancel(ctx), func() {}
	}

	return context.WithTimeout(ctx, s.timeout)
}

// nodes are the Nodes as an informer has them.
func (s *simRoutes) nodes() []*v1.Node {
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()

	return slices.Clone(s.cloud.nodes)
}

func (s *simRoutes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	ctx, cancel := s.begin(ctx)
	defer cancel()
	seen, err := s.cloud.routeList(ctx)
	if err != nil {
		return nil, err
	}
	nodes := s.nodes()
	var routes []*cloudprovider.Route
	for _, r := range seen {
		if r.target == "gateway" {
			continue
		}
		route := &cloudprovider.Route{
			Name: cluster + "-" + r.cidr, DestinationCIDR: r.cidr, Blackhole: r.blackhole, TargetNode: types.NodeName(r.target),
		}
		known := false
		for _, node := range nodes {
			if node.Spec.ProviderID == r.target {
				route.TargetNode, known = types.NodeName(node.Name), true
			}
		}
		if !known && s.fussy {
			return nil, fmt.Errorf("the route to %s is to no node", r.cidr)
		}
		if s.nomad && s.stopped(r.target) {
			route.Blackhole = true
		}
		if known || !s.narrow {
			routes = append(routes, route)
		}
	}

	return routes, nil
}

// stopped says that a machine is there and off.
func (s *simRoutes) stopped(id string) bool {
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	m := s.cloud.machineOf(id)

	return m != nil && m.power != On
}

// target gives the machine of a node.
func (s *simRoutes) target(name types.NodeName) (string, error) {
	for _, node := range s.nodes() {
		if node.Name == string(name) || s.guesses {
			return node.Spec.ProviderID, nil
		}
	}

	return "", fmt.Errorf("the node %q is not known", name)
}

func (s *simRoutes) CreateRoute(ctx context.Context, _, _ string, route *cloudprovider.Route) error {
	ctx, cancel := s.begin(ctx)
	defer cancel()
	if _, err := netip.ParsePrefix(route.DestinationCIDR); err != nil && !s.trusting {
		return fmt.Errorf("create route: %w", err)
	}
	target, err := s.target(route.TargetNode)
	if err != nil {
		return fmt.Errorf("create route: %w", err)
	}
	if s.everyCall {
		if _, err := s.cloud.routeList(ctx); err != nil {
			return err
		}
	}
	wanted := simRoute{route.DestinationCIDR, target}
	err = s.cloud.changeRoute(ctx, wanted, "create")
	if !errors.Is(err, apierr.ErrConflict) || s.strict {
		return err
	}
	if s.stays {
		return nil
	}

	return s.cloud.changeRoute(ctx, wanted, "replace")
}

func (s *simRoutes) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	ctx, cancel := s.begin(ctx)
	defer cancel()
	target, err := s.target(route.TargetNode)
	if err != nil {
		target = string(route.TargetNode) // a machine without Node
		for _, m := range s.machinesNamed(target) {
			target = m
		}
	}
	if s.blind {
		target = ""
	}
	err = s.cloud.changeRoute(ctx, simRoute{route.DestinationCIDR, target}, "delete")
	if errors.Is(err, apierr.ErrNotFound) && !s.strict {
		return nil
	}

	return err
}

// machinesNamed are the IDs of the machines with a name.
func (s *simRoutes) machinesNamed(name string) []string {
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	var ids []string
	for _, m := range s.cloud.machines {
		if m.ref.NodeName == name {
			ids = append(ids, m.ref.ProviderID)
		}
	}

	return ids
}

// simRouteSuite is the suite of a provider over this cloud.
func simRouteSuite(build simBuild) RouteSuite {
	return RouteSuite{
		Provider: "sim",
		NewCloud: func(t testing.TB) RouteCloud { return &simRouteCloud{newSimCloud(t, build)} },
		Budget:   RouteBudget{Routes: 20, List: 1, Create: 1},
		Timeout:  build.timeout,
		Patience: build.patience,
	}
}

// newRoutes builds the routes of a provider.
func (b simBuild) newRoutes(c *simCloud) cloudprovider.Routes {
	s := &simRoutes{cloud: c, timeout: b.timeout}
	if b.careless != nil {
		b.careless(s)
	}
	if b.routes != nil {
		return b.routes(s)
	}

	return s
}
