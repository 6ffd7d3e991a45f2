package routes

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// together makes the changes of callers that wait for the router in one request: the route
// controller makes up to 200 calls at once, and Neutron one change of a router at a time.
type together struct {
	// send makes the change for some routes.
	send func(ctx context.Context, rows []client.Route) (*client.Router, error)

	mu sync.Mutex
	// next is what callers can still join, nil without one.
	next *joint
}

// joint is the change of several callers.
type joint struct {
	rows []client.Route // guarded by together.mu
	// sent reports whether a caller has made the change, router is the result, nil if it
	// failed, and refused are the routes that Neutron has refused. They are guarded by the
	// lock of the router.
	sent    bool
	router  *client.Router
	refused map[client.Route]error
}

// join adds the routes of a caller, who then waits for the lock of the router.
func (t *together) join(rows []client.Route) *joint {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil {
		t.next = &joint{}
	}
	t.next.rows = append(t.next.rows, rows...)

	return t.next
}

// leave takes back the routes of a caller who does not get the lock.
func (t *together) leave(j *joint, rows []client.Route) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, row := range rows {
		if i := slices.Index(j.rows, row); i >= 0 { // another caller may have the same
			j.rows = slices.Delete(j.rows, i, i+1)
		}
	}
}

// begin ends that callers join, and returns what is to be sent.
func (t *together) begin(j *joint) []client.Route {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == j {
		t.next = nil
	}

	return slices.Clone(j.rows)
}

// sendOnce makes the change of all if this is the first caller with the lock. It returns the
// router after it, and the error if the routes of this one are refused. The router is nil if the change
// failed otherwise, and if there is only one caller: then each makes its own change.
func (t *together) sendOnce(ctx context.Context, j *joint, rows []client.Route) (*client.Router, error) {
	if !j.sent {
		j.sent = true
		if all := t.begin(j); len(all) > len(rows) {
			t.sendAll(ctx, j, all)
		}
	}
	for _, row := range rows {
		if err := j.refused[row]; err != nil {
			return nil, err
		}
	}

	return j.router, nil
}

// sendAll makes the change for the routes of several callers. Neutron names those that it refuses in a
// text alone.
func (t *together) sendAll(ctx context.Context, j *joint, rows []client.Route) {
	var router *client.Router
	sent, err := plan.Bulk[client.Route]{
		Send: func(ctx context.Context, some []client.Route) error {
			changed, err := t.send(ctx, some)
			if err == nil {
				router = changed
			}

			return err
		},
		IsRefusal: isRefused,
		IsQuota:   func(err error) bool { return errors.Is(err, apierr.ErrQuota) },
	}.Do(ctx, rows)
	if err != nil {
		return
	}
	j.router, j.refused = router, map[client.Route]error{}
	for _, refused := range sent.Refused {
		j.refused[refused.Item] = refused.Cause
	}
	for _, row := range sent.Excess {
		j.refused[row] = sent.Quota
	}
}
