// Package faulttest injects the faults of package explore into a simulated region.
//
// It is for tests that explore operations of the AWS provider; a test of one
// fault injects it with the interceptor of the region.
package faulttest

import (
	"net/http"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Region is a simulated region with fault injection.
type Region struct {
	*sim.Cloud

	rule *simserver.Rule
}

var _ explore.Cloud = (*Region)(nil)

// New returns a region with fault injection.
func New(cloud *sim.Cloud) *Region { return &Region{Cloud: cloud} }

// InjectFault implements explore.Cloud.
func (r *Region) InjectFault(_ testing.TB, i explore.Injection) (hits func() int) {
	when := simserver.From(i.First)
	if i.Once {
		when = simserver.Nth(i.First)
	}
	r.rule = r.Interceptor().Inject(simserver.Any, when, effect(i))

	return r.rule.Hits
}

// ClearFaults implements explore.Cloud.
func (r *Region) ClearFaults(testing.TB) { r.rule.Remove() }

// Calls implements explore.Cloud.
func (r *Region) Calls() int { return r.Interceptor().Total() }

// Resources implements explore.Cloud.
func (r *Region) Resources() []string { return append([]string{r.Dump()}, r.Leaks()...) }

// effect returns what the region does with a call that gets the fault.
func effect(i explore.Injection) simserver.Fault {
	switch i.Fault {
	case explore.Throttled:
		return sim.Throttled()
	case explore.Failed:
		return sim.Error(http.StatusInternalServerError, "InternalError", "An internal error has occurred")
	case explore.Dropped:
		return simserver.Drop()
	case explore.Lost:
		return simserver.DropResponse()
	case explore.Killed, explore.KilledLate:
	}

	return simserver.Kill(i.Kill, i.Fault.Applied())
}
