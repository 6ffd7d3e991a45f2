package routes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	cloudprovider "k8s.io/cloud-provider"
)

// mutant is a provider that is wrong in one way.
type mutant struct {
	build build
	// message is part of the failure of a case that catches it.
	message string
	// caughtBy are the cases that must catch it.
	caughtBy []string
}

// routesWith replaces some methods; a nil function leaves the method to the correct
// provider.
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

// replacing builds a provider with other methods than those of the correct one.
func replacing(change func(w *routesWith, correct *provider)) build {
	return build{routes: func(correct *provider) cloudprovider.Routes {
		w := &routesWith{Routes: correct}
		change(w, correct)

		return w
	}}
}

// faulty builds a provider with other settings.
func faulty(change func(s *provider)) build { return build{faulty: change} }

// listing builds a provider that lists other routes.
func listing(change func(routes []*cloudprovider.Route) []*cloudprovider.Route) build {
	return replacing(func(w *routesWith, correct *provider) {
		w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
			routes, err := correct.ListRoutes(ctx, cluster)
			if err == nil {
				routes = change(routes)
			}

			return routes, err
		}
	})
}

// creating builds a provider with another CreateRoute.
func creating(create func(ctx context.Context, correct *provider, route *cloudprovider.Route) error) build {
	return replacing(func(w *routesWith, correct *provider) {
		w.create = func(ctx context.Context, route *cloudprovider.Route) error { return create(ctx, correct, route) }
	})
}

// deleting builds a provider with another DeleteRoute.
func deleting(remove func(ctx context.Context, correct *provider, route *cloudprovider.Route) error) build {
	return replacing(func(w *routesWith, correct *provider) {
		w.remove = func(ctx context.Context, route *cloudprovider.Route) error { return remove(ctx, correct, route) }
	})
}

// allMutants returns all of them by name.
func allMutants() map[string]mutant {
	all := map[string]mutant{}
	for _, group := range []map[string]mutant{lifecycleMutants(), staleMutants(), failureMutants(), pageMutants(), faultMutants()} {
		maps.Copy(all, group)
	}

	return all
}

func lifecycleMutants() map[string]mutant {
	const (
		lifecycle, lifecycle6, both = "a route is created, listed and deleted", "an IPv6 route is created, listed and deleted", "routes of both families exist together"
		names, many                 = "names of routes never change", "routes are created and deleted many at once"
		unknown, malformed          = "a route to an unknown node is an error and creates nothing", "a route with a malformed destination is an error and creates nothing"
	)
	var listed atomic.Int32

	return map[string]mutant{
		"lists nothing": {
			listing(func([]*cloudprovider.Route) []*cloudprovider.Route { return nil }), "not as wanted", []string{lifecycle},
		},
		"lists nil": {
			listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route { return append(routes, nil) }), "is nil", []string{lifecycle},
		},
		"lists black holes": {listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route {
			for _, route := range routes {
				route.Blackhole = true
			}

			return routes
		}), "black hole", []string{lifecycle}},
		"IPv4 alone": {creating(func(ctx context.Context, correct *provider, route *cloudprovider.Route) error {
			if strings.Contains(route.DestinationCIDR, ":") {
				return errors.New("no IPv6")
			}

			return correct.CreateRoute(ctx, "", "", route)
		}), "no IPv6", []string{lifecycle6, both}},
		"one name for all": {listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route {
			for _, route := range routes {
				route.Name = "route"
			}

			return routes
		}), "used twice", []string{names}},
		"numbers its routes": {listing(func(routes []*cloudprovider.Route) []*cloudprovider.Route {
			for _, route := range routes {
				route.Name += string(rune('a' + listed.Add(1)%26))
			}

			return routes
		}), "differ", []string{names}},
		"what is there is an error": {
			faulty(func(s *provider) { s.strict = true }), "", []string{"a route created twice exists once", "deleting a route that does not exist succeeds"},
		},
		"takes any node": {faulty(func(s *provider) { s.guesses = true }), "is no error", []string{unknown}},
		"takes any destination": {
			faulty(func(s *provider) { s.trusting = true }), "is no error", []string{malformed},
		},
		"writes into the route": {creating(func(ctx context.Context, correct *provider, route *cloudprovider.Route) error {
			defer func() { route.Name = "mine" }()

			return correct.CreateRoute(ctx, "", "", route)
		}), "changed the route", []string{lifecycle}},
		"lists for every route": {
			faulty(func(s *provider) { s.everyCall = true }), "the budget is", []string{many},
		},
		"reads every route": {replacing(func(w *routesWith, correct *provider) {
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				routes, err := correct.ListRoutes(ctx, cluster)
				for range routes {
					_, _ = correct.cloud.list(ctx)
				}

				return routes, err
			}
		}), "the budget is", []string{"listing many routes writes nothing and costs few calls"}},
		"fails for an odd route": {
			faulty(func(s *provider) { s.strictList = true }), "is to no node",
			[]string{"routes of others are left alone", "the route of a node that left is listed and deleted"},
		},
		"deletes odd routes": {replacing(func(w *routesWith, correct *provider) {
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				correct.cloud.Lock()
				correct.cloud.routes = slices.DeleteFunc(correct.cloud.routes, func(r entry) bool { return r.target == "sim://99999999" })
				correct.cloud.Unlock()

				return correct.ListRoutes(ctx, cluster)
			}
		}), "decoys changed", []string{"routes of others are left alone"}},
	}
}
