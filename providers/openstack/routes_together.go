package openstack

import (
	"context"
	"slices"
	"sync"

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
	// sent reports whether a caller has made the change, and router is the result, nil
	// if it failed. They are guarded by the lock of the router.
	sent   bool
	router *client.Router
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

// result returns the router after the change of all, which the first caller with the lock
// makes. It is nil if that failed, and if there is only one caller: then each makes its own
// change, so that what is refused is refused to its caller alone.
func (t *together) result(ctx context.Context, j *joint, rows []client.Route) *client.Router {
	if !j.sent {
		j.sent = true
		if all := t.begin(j); len(all) > len(rows) {
			j.router, _ = t.send(ctx, all) // the error is that of the changes that follow
		}
	}

	return j.router
}
