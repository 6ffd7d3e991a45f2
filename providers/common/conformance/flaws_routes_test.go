package conformance

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	cloudprovider "k8s.io/cloud-provider"
)

// routesWith makes some calls by itself; a nil function leaves the call to the
// whole provider.
type routesWith struct {
	cloudprovider.Routes
	list   func(ctx context.Context) ([]*cloudprovider.Route, error)
	create func(ctx context.Context, route *cloudprovider.Route) error
	remove func(ctx context.Context, route *cloudprovider.Route) error
}

func (w *routesWith) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	if w.list != nil {
		return w.list(ctx)
	}

	return w.Routes.ListRoutes(ctx, cluster)
}

func (w *routesWith) CreateRoute(ctx context.Context, cluster, hint string, route *cloudprovider.Route) error {
	if w.create != nil {
		return w.create(ctx, route)
	}

	return w.Routes.CreateRoute(ctx, cluster, hint, route)
}

func (w *routesWith) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	if w.remove != nil {
		return w.remove(ctx, route)
	}

	return w.Routes.DeleteRoute(ctx, cluster, route)
}

// routing builds a provider with other calls; whole is the right one.
func routing(change func(w *routesWith, whole *simRoutes)) simBuild {
	return simBuild{routes: func(whole *simRoutes) cloudprovider.Routes {
		w := &routesWith{Routes: whole}
		change(w, whole)

		return w
	}}
}

// carelessly builds a provider that works in another way.
func carelessly(change func(s *simRoutes)) simBuild { return simBuild{careless: change} }

// listing builds a provider that lists something else.
func listing(change func(routes []*cloudprovider.Route) []*cloudprovider.Route) simBuild {
	return routing(func(w *routesWith, whole *simRoutes) {
		w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
			routes, err := whole.ListRoutes(ctx, ourCluster)
			if err == nil {
				routes = change(routes)
			}

			return routes, err
		}
	})
}

// creating builds a provider with another CreateRoute.
func creating(create func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route) error) simBuild {
	return routing(func(w *routesWith, whole *simRoutes) {
		w.create = func(ctx context.Context, route *cloudprovider.Route) error { return create(ctx, whole, route) }
	})
}

// deleting builds a provider with another DeleteRoute.
func deleting(remove func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route) error) simBuild {
	return routing(func(w *routesWith, whole *simRoutes) {
		w.remove = func(ctx context.Context, route *cloudprovider.Route) error { return remove(ctx, whole, route) }
	})
}

// routeFlaws are all of them, by name.
func routeFlaws() map[string]flaw {
	all := map[string]flaw{}
	for _, group := range []map[string]flaw{routeLifeFlaws(), routeStaleFlaws(), routeOutageFlaws(), routeDisturbedFlaws()} {
		maps.Copy(all, group)
	}

	return all
}

func routeLifeFlaws() map[string]flaw {
	const (
		lives, lives6, both = "a route is made, listed and deleted", "an IPv6 route is made, listed and deleted", "routes of both families live together"
		names, many         = "names of routes never change", "routes are made and deleted many at once"
		unknown, malformed  = "a route to an unknown node is an error and makes nothing", "a route with a malformed destination is an error and makes nothing"
	)
	var listed atomic.Int32

	return map[string]flaw{
		"lists nothing": {
			listing(func([]*cloudprovider.Route) []*cloudprovider.Route { return nil }), "not as wanted", []string{lives},
		},
		"lists nil": {
			listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route { return append(routes, nil) }), "is nil", []string{lives},
		},
		"lists black holes": {listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route {
			for _, route := range routes {
				route.Blackhole = true
			}

			return routes
		}), "black hole", []string{lives}},
		"IPv4 alone": {creating(func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route) error {
			if strings.Contains(route.DestinationCIDR, ":") {
				return errors.New("no IPv6")
			}

			return whole.CreateRoute(ctx, "", "", route)
		}), "no IPv6", []string{lives6, both}},
		"one route for each node": {listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route {
			slices.SortFunc(routes, func(x, y *cloudprovider.Route) int {
				return cmp.Or(cmp.Compare(x.TargetNode, y.TargetNode), cmp.Compare(x.DestinationCIDR, y.DestinationCIDR))
			})

			return slices.CompactFunc(routes, func(x, y *cloudprovider.Route) bool { return x.TargetNode == y.TargetNode })
		}), "passes settle", []string{both}},
		"one name for all": {listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route {
			for _, route := range routes {
				route.Name = "route"
			}

			return routes
		}), "there twice", []string{names}},
		"numbers its routes": {listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route {
			for _, route := range routes {
				route.Name += string(rune('a' + listed.Add(1)%26))
			}

			return routes
		}), "differ", []string{names}},
		"what is there is an error": {
			carelessly(func(s *simRoutes) { s.strict = true }), "", []string{"a route made twice is there once", "deleting a route that is not there succeeds"},
		},
		"takes any node": {carelessly(func(s *simRoutes) { s.guesses = true }), "is no error", []string{unknown}},
		"takes any destination": {
			carelessly(func(s *simRoutes) { s.trusting = true }), "is no error", []string{malformed},
		},
		"writes into the route": {creating(func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route) error {
			defer func() { route.Name = "mine" }()

			return whole.CreateRoute(ctx, "", "", route)
		}), "changed the route", []string{lives}},
		"lists for every route": {
			carelessly(func(s *simRoutes) { s.everyCall = true }), "the budget is", []string{many},
		},
		"loses routes under load": {lossy(), "not as wanted", []string{many}},
		"asks for every route": {routing(func(w *routesWith, whole *simRoutes) {
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				routes, err := whole.ListRoutes(ctx, ourCluster)
				for range routes {
					_, _ = whole.cloud.routeList(ctx)
				}

				return routes, err
			}
		}), "the budget is", []string{"listing many routes writes nothing and costs few calls"}},
		"fails for an odd route": {
			carelessly(func(s *simRoutes) { s.fussy = true }), "is to no node",
			[]string{"routes of others are left alone", "the route of a node that left is listed and goes"},
		},
		"deletes odd routes": {routing(func(w *routesWith, whole *simRoutes) {
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				whole.cloud.mu.Lock()
				whole.cloud.routes = slices.DeleteFunc(whole.cloud.routes, func(r simRoute) bool { return r.target == "sim://99999999" })
				whole.cloud.mu.Unlock()

				return whole.ListRoutes(ctx, ourCluster)
			}
		}), "what was planted changed", []string{"routes of others are left alone"}},
	}
}

// lossy builds a provider that writes the whole table that it has read, so that
// the last of several writers wins.
func lossy() simBuild {
	return creating(func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route) error {
		whole.cloud.mu.Lock()
		table := slices.Clone(whole.cloud.routes)
		whole.cloud.mu.Unlock()
		if err := whole.CreateRoute(ctx, "", "", route); err != nil {
			return err
		}
		whole.cloud.mu.Lock()
		defer whole.cloud.mu.Unlock()
		made := whole.cloud.routes[len(whole.cloud.routes)-1]
		table = append(table, made)
		whole.cloud.routes = table

		return nil
	})
}
