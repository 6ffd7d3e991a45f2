package vsphere

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// every lets each nth call have an effect.
func every(n int32, effect simserver.Fault) simserver.Fault {
	var calls atomic.Int32

	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if calls.Add(1)%n == 0 {
			effect(w, r, apply)

			return
		}
		apply.ServeHTTP(w, r)
	}
}

// TestDroppedCalls: a network that loses every few calls delays Nodes, and nothing
// is left in the vCenter by calls whose responses were lost.
func TestDroppedCalls(t *testing.T) {
	t.Parallel()
	for _, n := range []int32{3, 4, 5} {
		for what, effect := range map[string]simserver.Fault{"calls": simserver.Drop(), "responses": simserver.DropResponse()} {
			t.Run(fmt.Sprintf("every %d of %s", n, what), func(t *testing.T) {
				t.Parallel()
				vcenter := startVCenter(t, one(sim.Fleet("node", 20)...))
				vcenter.Inject(simserver.Any, simserver.Always(), every(n, effect))
				c := connect(t, configOf(vcenter))
				initialize(t, c, vcenter)
				vcenter.Clear()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				if err := c.Close(ctx); err != nil {
					t.Error(err)
				}
				if left := vcenter.Sessions(); len(left) > 0 {
					t.Errorf("%d sessions are left: %+v", len(left), left)
				}
			})
		}
	}
}

// startVCenter starts a simulated vCenter.
func startVCenter(t *testing.T, spec sim.VCenterSpec) *sim.VCenter {
	t.Helper()
	fleet, err := sim.Start(sim.Spec{VCenters: []sim.VCenterSpec{spec}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})

	return fleet.VCenters()[0]
}

// configOf is the cloud-config for one simulated vCenter.
func configOf(vc *sim.VCenter) string {
	return fmt.Sprintf("[Global]\nuser = %q\npassword = %q\n%s", vc.User(), vc.Password(), section(vc.Name(), vc))
}

// initialize describes the Nodes of all VMs, each as often as its queue does.
func initialize(t *testing.T, c *cloud, vc *sim.VCenter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	var all sync.WaitGroup
	for _, vm := range vc.VMs() {
		all.Go(func() {
			node := kubetest.Node(vm.Name(), kubetest.ProviderID(id(vm)), kubetest.Tainted())
			for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
				_, err := c.instances.InstanceMetadata(ctx, node)
				if err == nil {
					return
				}
				if ctx.Err() != nil {
					t.Errorf("%s: %v", vm.Name(), err)

					return
				}
				time.Sleep(pause)
			}
		})
	}
	all.Wait()
	t.Logf("%d Nodes in %s with %d calls and %d polls", len(vc.VMs()), time.Since(began).Round(time.Millisecond), vc.Total(), vc.Polls())
}
