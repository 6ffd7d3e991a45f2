package routes

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

func staleMutants() map[string]mutant {
	const left, deleted = "the route of a node that left is listed and deleted", "the route of an instance that was deleted is listed and deleted"
	const moves, movesDeleted = "a range assigned to another node is routed there", "a range of a deleted instance assigned to another node is routed there"

	return map[string]mutant{
		"lists routes to Nodes alone": {faulty(func(s *provider) { s.narrow = true }), "stay forever", []string{left, deleted}},
		"deletes by range":            {faulty(func(s *provider) { s.blind = true }), "not as wanted", []string{"deleting a route late leaves the one that replaced it"}},
		"never deletes nor moves":     {stuck(), "", []string{left, deleted, moves, movesDeleted}},
		"stopped is a black hole":     {faulty(func(s *provider) { s.followsNode = true }), "", []string{"the route of a stopped node settles"}},
	}
}

// stuck builds a provider that never moves routes.
func stuck() build {
	build := deleting(func(context.Context, *provider, *cloudprovider.Route) error { return nil })
	build.faulty = func(s *provider) { s.stays = true }

	return build
}

func failureMutants() map[string]mutant {
	outages := harness.Select(failureCases(), "then recovers")
	endless := faulty(func(s *provider) { s.endless = true })

	return map[string]mutant{
		"an error is an empty list": {replacing(func(w *routesWith, correct *provider) {
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				routes, _ := correct.ListRoutes(ctx, cluster)

				return routes, nil
			}
		}), "ListRoutes", outages},
		"an error is a route": {creating(func(ctx context.Context, correct *provider, route *cloudprovider.Route) error {
			_ = correct.CreateRoute(ctx, "", "", route)

			return nil
		}), "CreateRoute", outages},
		"an error is a deletion": {deleting(func(ctx context.Context, correct *provider, route *cloudprovider.Route) error {
			_ = correct.DeleteRoute(ctx, "", route)

			return nil
		}), "DeleteRoute", outages},
		"gives up forever": {replacing(func(w *routesWith, correct *provider) {
			var failed atomic.Bool
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				if failed.Load() {
					return nil, errors.New("never again")
				}
				routes, err := correct.ListRoutes(ctx, cluster)
				failed.Store(err != nil)

				return routes, err
			}
		}), "never again", outages},
		"ignores cancellation": {endless, "goes on after it was canceled", []string{"a canceled call for a route returns"}},
		"has no deadline":      {endless, "did not return", harness.Select(failureCases(), "hanging")},
	}
}

// pageMutants are about pages of proxies.
func pageMutants() map[string]mutant {
	return map[string]mutant{
		"a page is a conflict": {replacing(func(w *routesWith, correct *provider) {
			w.list = func(ctx context.Context) ([]*cloudprovider.Route, error) {
				routes, err := correct.ListRoutes(ctx, cluster)
				if _, ok := errors.AsType[sim.PageError](err); ok {
					err = apierr.Mark(apierr.ErrConflict, errors.New(err.Error()))
				}

				return routes, err
			}
		}), "means conflict", harness.Select(failureCases(), "behind a proxy")},
	}
}

// faultMutants are about operations that are not finished.
func faultMutants() map[string]mutant {
	// halfway is a provider that needs two calls for a route.
	halfway := func() build {
		return replacing(func(w *routesWith, correct *provider) {
			w.create = func(ctx context.Context, route *cloudprovider.Route) error {
				if err := correct.CreateRoute(ctx, "", "", route); err != nil {
					return err
				}

				return correct.cloud.setMark(ctx, mark(route.DestinationCIDR), true)
			}
			w.remove = func(ctx context.Context, route *cloudprovider.Route) error {
				if err := correct.DeleteRoute(ctx, "", route); err != nil {
					return err
				}

				return correct.cloud.setMark(ctx, mark(route.DestinationCIDR), false)
			}
		})
	}

	return map[string]mutant{
		"leaves the half of it": {halfway(), "did not recover", harness.Select(faultCases(), "a route is recovered")},
	}
}

// setMark creates a mark, or deletes it. One that exists cannot be created.
func (c *cloud) setMark(ctx context.Context, m mark, exists bool) error {
	return c.Write(ctx, func() error {
		i := slices.Index(c.marks, m)
		switch {
		case exists && i >= 0:
			return sim.ErrExists
		case exists:
			c.marks = append(c.marks, m)
		case i >= 0:
			c.marks = slices.Delete(c.marks, i, i+1)
		}

		return nil
	})
}
