package vsphere

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

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
