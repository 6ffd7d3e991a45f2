package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

func routeStaleFlaws() map[string]flaw {
	const left, deleted = "the route of a node that left is listed and goes", "the route of an instance that was deleted is listed and goes"
	const moves, movesDeleted = "a range given to another node gets there", "a range of a deleted instance given to another node gets there"

	return map[string]flaw{
		"lists routes to Nodes alone": {carelessly(func(s *simRoutes) { s.narrow = true }), "stay for ever", []string{left, deleted}},
		"fails for a lost instance": {routing(func(w *routesWith, whole *simRoutes) {
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				routes, err := whole.ListRoutes(ctx, ourCluster)
				for _, route := range routes {
					if route.Blackhole {
						return nil, errors.New("an instance is lost")
					}
				}

				return routes, err
			}
		}), "an instance is lost", []string{deleted, movesDeleted}},
		"leaves it where it is": {
			carelessly(func(s *simRoutes) { s.stays = true }), "not as wanted",
			[]string{"deleting a route late leaves the one that took its place"},
		},
		"does not replace":         {carelessly(func(s *simRoutes) { s.strict = true }), "it is there already", []string{"deleting a route late leaves the one that took its place"}},
		"deletes by range":         {carelessly(func(s *simRoutes) { s.blind = true }), "not as wanted", []string{"deleting a route late leaves the one that took its place"}},
		"never deletes nor moves":  {stuck(), "", []string{left, deleted, moves, movesDeleted}},
		"stopped is a black hole":  {carelessly(func(s *simRoutes) { s.nomad = true }), "", []string{"the route of a stopped node settles"}},
		"stopped nodes get no way": {unstarted(), "", []string{"the route of a stopped node settles"}},
	}
}

// stuck builds a provider that leaves routes where they are.
func stuck() simBuild {
	build := deleting(func(context.Context, *simRoutes, *cloudprovider.Route) error { return nil })
	build.careless = func(s *simRoutes) { s.stays = true }

	return build
}

// unstarted builds a provider that takes away the route of a stopped node and
// never gives it back.
func unstarted() simBuild {
	return routing(func(w *routesWith, whole *simRoutes) {
		var stopped atomic.Bool
		w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
			routes, err := whole.ListRoutes(ctx, ourCluster)
			for _, route := range routes {
				if id, known := whole.target(route.TargetNode); known == nil && whole.stopped(id) {
					stopped.Store(true)
					route.Blackhole = true
				}
			}

			return routes, err
		}
		w.create = func(ctx context.Context, route *cloudprovider.Route) error {
			if stopped.Load() {
				return nil
			}

			return whole.CreateRoute(ctx, "", "", route)
		}
	})
}

// routeNames are the names of the cases that contain all the parts.
func routeNames(cases []routeCase, parts ...string) []string {
	var names []string
	for _, c := range cases {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(c.name, part) }) {
			names = append(names, c.name)
		}
	}

	return names
}

func routeOutageFlaws() map[string]flaw {
	outages := routeNames(routeOutageCases(), "then recovers")
	deaf := carelessly(func(s *simRoutes) { s.deaf = true })

	return map[string]flaw{
		"an error is an empty list": {routing(func(w *routesWith, whole *simRoutes) {
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				routes, _ := whole.ListRoutes(ctx, ourCluster)

				return routes, nil
			}
		}), "ListRoutes", outages},
		"an error is a route": {creating(func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route) error {
			_ = whole.CreateRoute(ctx, "", "", route)

			return nil
		}), "CreateRoute", outages},
		"an error is a deletion": {deleting(func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route) error {
			_ = whole.DeleteRoute(ctx, "", route)

			return nil
		}), "DeleteRoute", outages},
		"gives up for ever": {routing(func(w *routesWith, whole *simRoutes) {
			var failed atomic.Bool
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				if failed.Load() {
					return nil, errors.New("never again")
				}
				routes, err := whole.ListRoutes(ctx, ourCluster)
				failed.Store(err != nil)

				return routes, err
			}
		}), "never again", outages},
		"does not hear its caller": {deaf, "goes on after", []string{"a caller for a route that gives up is let go"}},
		"has no deadline":          {deaf, "did not return", routeNames(routeOutageCases(), "hanging")},
	}
}

// routeDisturbedFlaws are about work that is not finished.
func routeDisturbedFlaws() map[string]flaw {
	// remembering notes in the cloud what it is about to do, and does it only once.
	remembering := func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route, verb string, do func(context.Context) error) error {
		key := verb + route.DestinationCIDR
		whole.cloud.mu.Lock()
		done := whole.cloud.notes[key] != ""
		whole.cloud.notes[key] = "done"
		whole.cloud.mu.Unlock()
		if done {
			return nil
		}

		return do(ctx)
	}
	// halfway is a provider that needs two calls for a route.
	halfway := func(mark func(route *cloudprovider.Route) simRule) simBuild {
		return routing(func(w *routesWith, whole *simRoutes) {
			w.create = func(ctx context.Context, route *cloudprovider.Route) error {
				if err := whole.CreateRoute(ctx, "", "", route); err != nil {
					return err
				}

				return whole.cloud.changeRules(ctx, []simRule{mark(route)}, nil)
			}
			w.remove = func(ctx context.Context, route *cloudprovider.Route) error {
				if err := whole.DeleteRoute(ctx, "", route); err != nil {
					return err
				}

				return whole.cloud.changeRules(ctx, nil, []simRule{mark(route)})
			}
		})
	}
	mark := func(route *cloudprovider.Route) simRule {
		return simRule{"pair", v1.ProtocolTCP, 0, route.DestinationCIDR}
	}

	return map[string]flaw{
		"makes every route once": {creating(func(ctx context.Context, whole *simRoutes, route *cloudprovider.Route) error {
			return remembering(ctx, whole, route, "make ", func(ctx context.Context) error {
				return whole.CreateRoute(ctx, "", "", route)
			})
		}), "not as wanted", slices.Concat(
			routeNames(routeDisturbedCases(), "making", "throttled"), routeNames(routeDisturbedCases(), "making", "failed"),
			routeNames(routeDisturbedCases(), "making", "dropped"),
		)},
		"leaves the half of it": {halfway(mark), "not put right", routeNames(routeDisturbedCases(), "route is put right")},
	}
}
