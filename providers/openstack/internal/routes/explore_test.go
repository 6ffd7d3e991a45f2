package routes

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestReplacementInterrupted (OS-ROUTE-5, OS-ROUTE-6): a route that is replaced, since the
// address of its Node has changed, ends in the same state whichever of its calls fails, and
// whatever that of the next process: one route, and one pair.
func TestReplacementInterrupted(t *testing.T) {
	t.Parallel()
	for name, without := range map[string][]string{"atomic": nil, "rewrite": {"extraroute-atomic"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				explorer := &explore.Explorer{
					Begin:  func(testing.TB, int) explore.Run { return replacement(t, without) },
					Faults: explore.Faults(),
				}
				for _, kind := range explore.Injections() {
					explorer.Sweep(t, kind, explore.Spread{Points: profile.Of(1, 0, 0)})
				}
				explorer.InjectPairs(t, rand.New(rand.NewPCG(1, 2)), profile.Of(1, 8, 8))
			})
		})
	}
}

// replacement prepares a route to an address that its Node no longer has.
func replacement(t *testing.T, without []string) explore.Run {
	t.Helper()
	r := newRouting(t, 1, openstack.Options{InMemory: true}, without...)
	r.mustCreate(routeTo(1))
	r.AddPort(openstack.PortSpec{Network: r.NetworkOf(r.router), IPs: []string{"10.9.0.77"}})
	r.change(1, func(n *v1.Node) { n.Status.Addresses[1].Address = "10.9.0.77" })
	r.list()

	return explore.Run{
		Cloud:   r,
		Operate: func(ctx context.Context) error { return r.routes.CreateRoute(ctx, "east", "", routeTo(1)) },
		Next: []explore.Process{{
			Operate: func(ctx context.Context) error { return r.pass(ctx, r.start()) }, //nolint:contextcheck // the fixture has the context
			Recover: func() {
				process := r.start()
				for range 5 {
					if err := r.pass(bounded(t), process); err != nil {
						t.Error(err)
					}
				}
				routes := r.RouterRoutes(r.router)
				if len(routes) != 1 || routes[0] != [2]string{rangeOf(1), "10.9.0.77"} {
					t.Errorf("routes %v", routes)
				}
			},
		}},
	}
}

// pass does what the route controller does for the range of the first Node.
func (r *routing) pass(ctx context.Context, process *Routes) error {
	listed, err := process.ListRoutes(ctx, "east")
	if err != nil {
		return err
	}
	wanted := routeTo(1)
	missing := true
	var all error
	for _, route := range listed {
		if route.TargetNode == wanted.TargetNode {
			missing = false
		} else {
			all = errors.Join(all, process.DeleteRoute(ctx, "east", route))
		}
	}
	if missing {
		all = errors.Join(all, process.CreateRoute(ctx, "east", "", &cloudprovider.Route{TargetNode: wanted.TargetNode, DestinationCIDR: wanted.DestinationCIDR}))
	}

	return all
}
