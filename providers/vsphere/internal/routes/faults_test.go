package routes_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestEveryCallFails (VS-NSXT-7, VS-ROUTE-3, VS-ROUTE-6): whatever the manager responds to any one call, the route controller
// has the same in the end. The conformance suite ends processes.
func TestEveryCallFails(t *testing.T) {
	t.Parallel()
	n, moved := node("node-1", "192.0.2.1"), node("node-1", "192.0.2.9")
	sync := func(f *fixture, n *v1.Node, wanted bool) error { // as the route controller does
		f.SetNodes(f, []*v1.Node{n})
		list, err := f.routes.ListRoutes(f.Context(), cluster)
		if err != nil {
			return err
		}
		switch {
		case wanted && len(list) == 0:
			return f.create(n)
		case !wanted && len(list) > 0:
			return f.routes.DeleteRoute(f.Context(), cluster, &cloudprovider.Route{Name: id, TargetNode: "node-1", DestinationCIDR: pods})
		}

		return nil
	}
	operations := map[string]struct {
		before, after *v1.Node
		wanted        bool
		hop           []any
	}{
		"create": {nil, n, true, hops("192.0.2.1")}, "correct": {n, moved, true, hops("192.0.2.9")}, "delete": {n, n, false, nil},
	}
	for name, op := range operations {
		for _, code := range [][2]int{{429, 0}, {500, 607}, {503, 0}, {412, 0}, {400, 500087}, {400, 500030}, {400, 500045}, {0, 0}, {1, 0}} {
			for call := 1; call <= 5; call++ {
				t.Run(fmt.Sprintf("%s/%d-%d/call %d", name, code[0], code[1], call), func(t *testing.T) {
					t.Parallel()
					simulate(t, func(f *fixture) {
						if op.before != nil {
							f.must(sync(f, op.before, true))
						}
						fault := nsxt.Fault(code[0], code[1])
						if code[0] < http.StatusOK {
							fault = []simserver.Fault{simserver.Drop(), simserver.DropResponse()}[code[0]]
						}
						f.Interceptor().Inject(simserver.Any, simserver.Nth(call), fault)
						var err error
						for range 10 {
							if err = sync(f, op.after, op.wanted); err == nil {
								break
							}
							time.Sleep(10 * time.Second)
						}
						f.must(err)
						var got []any
						if o, ok := f.Get(path); ok && o["marked_for_delete"] != true {
							hop, _ := o["next_hops"].([]any)
							got = hops(fmt.Sprint(hop[0].(map[string]any)["ip_address"])) //nolint:forcetypeassert // of the simulated API
						}
						if diff := cmp.Diff(op.hop, got); diff != "" {
							f.Errorf("next hops (-want +got):\n%s", diff)
						}
					})
				})
			}
		}
	}
}
