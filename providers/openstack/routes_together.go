package openstack

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
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
			d := &division{send: t.send, refused: map[client.Route]error{}}
			if d.change(ctx, all) == nil {
				j.router, j.refused = d.router, d.refused
			}
		}
	}
	for _, row := range rows {
		if err := j.refused[row]; err != nil {
			return nil, err
		}
	}

	return j.router, nil
}

// division finds the routes that Neutron refuses among many: its error names them in a text
// alone. One of 200 costs at most 17 requests.
type division struct {
	send func(ctx context.Context, rows []client.Route) (*client.Router, error)
	// router is that after the last change, nil without one.
	router  *client.Router
	refused map[client.Route]error
	// full is the refusal of a route for which the router has no room, nor for any other one.
	full error
}

// change makes the change for some routes, by halves if it is refused. Any other failure is
// an error.
func (d *division) change(ctx context.Context, rows []client.Route) error {
	err := d.full
	if err == nil {
		var router *client.Router
		if router, err = d.send(ctx, rows); err == nil {
			d.router = router

			return nil
		}
	}
	if !isRefused(err) {
		return err
	}
	if len(rows) == 1 {
		d.refused[rows[0]] = err
		if errors.Is(err, apierr.ErrQuota) {
			d.full = err
		}

		return nil
	}
	half := len(rows) / 2
	if err := d.change(ctx, rows[:half]); err != nil {
		return err
	}

	return d.change(ctx, rows[half:])
}
