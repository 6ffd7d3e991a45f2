package routes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

const (
	// changeAttempts is how often a change is tried that others keep overtaking.
	changeAttempts = 6
	// changeDelay is that before the second attempt. Each further one doubles it.
	changeDelay = 50 * time.Millisecond
	// revisionAge is how long after a change of this process an older state of the router
	// is not used. The nodes of a database differ for seconds. A router that is older for
	// longer was restored from a backup.
	revisionAge = 5 * time.Minute
)

// routerAPI are the calls in use for routers.
type routerAPI interface {
	GetRouter(ctx context.Context, id string) (*client.Router, error)
	AddRoutes(ctx context.Context, router string, routes ...client.Route) (*client.Router, error)
	RemoveRoutes(ctx context.Context, router string, routes ...client.Route) (*client.Router, error)
	UpdateRoutes(ctx context.Context, router string, routes []client.Route, revision *int) (*client.Router, error)
}

// errOldState means that a state was read that a change of this process had replaced
// before, as with a database of several nodes.
var errOldState = apierr.Mark(apierr.ErrUnavailable, errors.New("the router is returned as it was before the last change"))

// read reads the router, as it is after the last changes of this process.
func (r *Routes) read(ctx context.Context) (*client.Router, error) {
	var router *client.Router
	err := repeat(ctx, isOld, func() error {
		var err error
		if router, err = r.api.GetRouter(ctx, r.config.RouterID); err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case router.Routes == nil:
			return apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("router %s is returned without routes", r.config.RouterID))
		case router.Revision != nil && *router.Revision < r.lastRevision():
			return errOldState
		}

		return nil
	})

	return router, err
}

// written records the revision of the router after a change.
func (r *Routes) written(router *client.Router, err error) error {
	if err != nil || router.Revision == nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if *router.Revision > r.lastRevision() {
		r.revision, r.changed = *router.Revision, r.config.Clock.Now()
	}

	return nil
}

// lastRevision is the revision of the router after a recent change, zero without one. Callers
// hold the lock.
func (r *Routes) lastRevision() int {
	if r.config.Clock.Since(r.changed) >= revisionAge {
		return 0
	}

	return r.revision
}

// isOvertaken reports whether a change must be made again from what is read then, because
// there was another one.
func isOvertaken(err error) bool {
	e, ok := errors.AsType[*client.Error](err)

	return ok && e.Status == http.StatusPreconditionFailed
}

// isOld reports whether an old state was read.
func isOld(err error) bool { return errors.Is(err, errOldState) }

// repeat makes attempts as long as they have an error of a kind, and returns the result of
// the last. A change of which it is not known whether it was carried out is made once
// more: it is the same change, and has no effect if it was.
func repeat(ctx context.Context, again func(error) bool, attempt func() error) error {
	delays := wait.Backoff{Duration: changeDelay, Factor: 2, Jitter: 0.5, Steps: changeAttempts}
	unclear := 0
	for n := 1; ; n++ {
		err := attempt()
		if client.MayBeApplied(err) {
			unclear++
		} else if !again(err) {
			return err
		}
		if unclear > 1 || n == changeAttempts || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(delays.Step())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()

			return err
		}
	}
}

// addRoute adds a route and returns those that it replaces and that are to be removed.
func (r *Routes) addRoute(ctx context.Context, features routeFeatures, wanted newRoute) (replaced []client.Route, err error) {
	if features.atomic {
		replaced, err = r.append(ctx, wanted)
	} else {
		err = r.rewrite(ctx, func(have []client.Route) []client.Route {
			replaced = r.replacedBy(have, wanted)

			return withRoute(have, wanted)
		})
	}
	if errors.Is(err, apierr.ErrQuota) {
		// There is no room for one more, but for another one instead.
		if replaced, full := r.exchange(ctx, wanted); full == nil {
			return replaced, nil
		}
	}

	return replaced, err
}

// append adds a route beside all others.
func (r *Routes) append(ctx context.Context, wanted newRoute) (replaced []client.Route, err error) {
	router, err := r.changeTogether(ctx, &r.additions, []client.Route{wanted.row()})
	if err != nil {
		return nil, err
	}

	return r.replacedBy(router.Routes, wanted), nil
}

func withRoute(all []client.Route, wanted newRoute) []client.Route {
	if len(routesVia(all, wanted.cidr, []netip.Addr{wanted.hop})) > 0 {
		return all
	}

	return append(slices.Clone(all), wanted.row())
}

// replacedBy returns the routes to the same destination by other next hops, apart from
// those to other Nodes with this range.
func (r *Routes) replacedBy(all []client.Route, wanted newRoute) []client.Route {
	nodes := r.nodes.Load()
	var replaced []client.Route
	for _, row := range all {
		parsed, err := parseRoute(row)
		if err != nil || parsed.cidr != wanted.cidr || parsed.hop == wanted.hop {
			continue
		}
		node := nodeAt(nodes, parsed)
		if node != nil && node.Name != wanted.node.Name && slices.Contains(podCIDRs(node), parsed.cidr) {
			continue
		}
		replaced = append(replaced, row)
	}

	return replaced
}

// exchange adds a route and removes those that it replaces, in one change. It is an error
// if there are none.
func (r *Routes) exchange(ctx context.Context, wanted newRoute) (replaced []client.Route, err error) {
	err = r.rewrite(ctx, func(have []client.Route) []client.Route {
		replaced = r.replacedBy(have, wanted)
		if len(replaced) == 0 {
			return have
		}

		return withRoute(withoutRoutes(have, replaced), wanted)
	})
	if err == nil && len(replaced) == 0 {
		return nil, fmt.Errorf("no route is replaced: %w", apierr.ErrQuota)
	}

	return replaced, err
}

// removeRoutes removes routes. Those that do not exist are no error.
func (r *Routes) removeRoutes(ctx context.Context, features routeFeatures, rows []client.Route) error {
	if features.atomic {
		_, err := r.changeTogether(ctx, &r.removals, rows)

		return err
	}

	return r.rewrite(ctx, func(have []client.Route) []client.Route { return withoutRoutes(have, rows) })
}

func withoutRoutes(all, removed []client.Route) []client.Route {
	return slices.DeleteFunc(slices.Clone(all), func(row client.Route) bool { return slices.Contains(removed, row) })
}

// rewrite replaces all routes of the router. With revisions, a change by others since the
// router was read is noticed, and it is read again.
func (r *Routes) rewrite(ctx context.Context, change func(have []client.Route) []client.Route) error {
	return r.changeRouter(ctx, func() error {
		router, err := r.read(ctx)
		if err != nil {
			return err
		}
		want := change(router.Routes)
		if slices.Equal(want, router.Routes) {
			return nil
		}

		return r.written(r.api.UpdateRoutes(ctx, r.config.RouterID, want, router.Revision))
	})
}

// changeRouter makes a change of the router, one caller at a time: Neutron itself repeats
// changes of a router that overtake each other, and six at once take it longer than one
// after the other (neutron: db/extraroute_db.py, retry_if_session_inactive).
func (r *Routes) changeRouter(ctx context.Context, change func() error) error {
	unlock, err := r.changes.Lock(ctx, r.config.RouterID)
	if err != nil {
		return err
	}
	defer unlock()

	return repeat(ctx, isOvertaken, change)
}

// changeTogether adds or removes routes, in one request with those of other callers that
// wait for the router meanwhile.
func (r *Routes) changeTogether(ctx context.Context, t *together, rows []client.Route) (router *client.Router, err error) {
	j := t.join(rows)
	err = r.changeRouter(ctx, func() error {
		if router, err = t.sendOnce(ctx, j, rows); router != nil || err != nil {
			return err
		}
		router, err = t.send(ctx, rows)

		return err
	})
	if err != nil {
		t.leave(j, rows)
	}

	return router, err
}

// add is the change of the router that adds routes.
func (r *Routes) add(ctx context.Context, rows []client.Route) (*client.Router, error) {
	router, err := r.api.AddRoutes(ctx, r.config.RouterID, rows...)

	return router, r.written(router, err)
}

// take is the change of the router that removes routes.
func (r *Routes) take(ctx context.Context, rows []client.Route) (*client.Router, error) {
	router, err := r.api.RemoveRoutes(ctx, r.config.RouterID, rows...)

	return router, r.written(router, err)
}
