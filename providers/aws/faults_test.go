package aws

import (
	"net/http"
	"net/http/httptest"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// injectFault injects a fault into the calls of a region.
func injectFault(gate *front.Gate, i explore.Injection) *front.Rule {
	when := front.From(i.First)
	if i.Once {
		when = front.Nth(i.First)
	}
	return gate.Break(front.Any, when, faultEffect(i))
}

// faultEffect returns what the region does with a call that gets the fault.
func faultEffect(i explore.Injection) front.Effect {
	switch i.Fault {
	case explore.Throttled:
		return sim.Throttled()
	case explore.Failed:
		return sim.Error(http.StatusInternalServerError, "InternalError", "An internal error has occurred")
	case explore.Dropped:
		return front.Drop()
	case explore.Lost:
		return front.DropAnswer()
	case explore.Killed, explore.KilledLate:
	}
	return func(_ http.ResponseWriter, r *http.Request, apply http.Handler) {
		if i.Fault.Applied() {
			apply.ServeHTTP(httptest.NewRecorder(), r)
		}
		i.Kill()
		panic(http.ErrAbortHandler)
	}
}
