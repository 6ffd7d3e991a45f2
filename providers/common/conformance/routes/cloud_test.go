package routes

import (
	"context"
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// entry is a route of the in-memory cloud. One to a machine that does not exist is
// a black hole.
type entry struct{ cidr, target string }

func (e entry) String() string { return fmt.Sprintf("route to %s by %s", e.cidr, e.target) }

// mark is a further resource that some mutants create for each route.
type mark string

func (m mark) String() string { return "mark " + string(m) }

// cloud is the in-memory cloud with routes.
type cloud struct {
	*sim.Cloud
	build  build
	nodes  []*v1.Node
	routes []entry
	marks  []mark
	notes  map[string]bool // of mutants
}

var _ Cloud = (*cloud)(nil)

func (c *cloud) Connect(t testing.TB) cloudprovider.Interface { return c.ConnectAs(t, cluster) }

func (c *cloud) ConnectAs(testing.TB, string) cloudprovider.Interface {
	return &sim.CloudProvider{RouteTable: c.build.provider(c)}
}

func (c *cloud) SetNodes(_ testing.TB, nodes []*v1.Node) {
	c.Lock()
	defer c.Unlock()
	c.nodes = slices.Clone(nodes)
}

func (c *cloud) Routes() []Route {
	c.Lock()
	defer c.Unlock()
	var all []Route
	for _, e := range c.routes {
		if slices.Contains(c.Decoys, e.cidr) {
			continue
		}
		route := Route{CIDR: e.cidr}
		if c.Machine(e.target) != nil {
			route.ProviderID = e.target
		}
		all = append(all, route)
	}

	return all
}

func (c *cloud) Resources() []string {
	c.Lock()
	defer c.Unlock()

	return c.describe(false)
}

// describe lists the decoys, or all other resources. The cloud is locked.
func (c *cloud) describe(decoys bool) []string {
	return c.Describe(decoys, func(add func(owner string, resource fmt.Stringer)) {
		for _, e := range c.routes {
			add(e.cidr, e)
		}
		for _, m := range c.marks {
			add("", m)
		}
	})
}

// SeedDecoys creates routes to a gateway and to a machine that is no Node.
func (c *cloud) SeedDecoys(testing.TB) (describe func() []string) {
	c.Lock()
	defer c.Unlock()
	c.routes = append(c.routes, entry{"0.0.0.0/0", "gateway"}, entry{"192.168.0.0/16", "sim://99999999"})
	c.Decoys = append(c.Decoys, "0.0.0.0/0", "192.168.0.0/16")

	return func() []string {
		c.Lock()
		defer c.Unlock()

		return c.describe(true)
	}
}

// listedRoute is a route as it is listed.
type listedRoute struct {
	entry
	blackhole bool
}

// list reads all routes.
func (c *cloud) list(ctx context.Context) (listed []listedRoute, err error) {
	err = c.Read(ctx, func() {
		for _, e := range c.routes {
			listed = append(listed, listedRoute{e, c.Machine(e.target) == nil && e.target != "gateway"})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}

	return listed, nil
}

// change creates, replaces or deletes a route, the latter only if it still has that
// target. One that exists cannot be created.
func (c *cloud) change(ctx context.Context, route entry, change string) error {
	err := c.Write(ctx, func() error {
		i := slices.IndexFunc(c.routes, func(r entry) bool {
			return r.cidr == route.cidr && !slices.Contains(c.Decoys, r.cidr)
		})
		switch {
		case change == "create" && i >= 0:
			return apierr.Mark(apierr.ErrConflict, sim.ErrExists)
		case change == "create":
			c.routes = append(c.routes, route)
		case i < 0:
			return apierr.Mark(apierr.ErrNotFound, sim.ErrMissing)
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
