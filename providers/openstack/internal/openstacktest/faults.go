package openstacktest

import (
	"net/http"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// InjectFault implements explore.Cloud.
func (c *Cloud) InjectFault(_ testing.TB, i explore.Injection) (hits func() int) {
	return c.InjectInstead(i, FaultOf(i))
}

// InjectInstead makes the calls of an injection fail in another way than its fault does, and
// returns how many have failed so far.
func (c *Cloud) InjectInstead(i explore.Injection, fault simserver.Fault) (hits func() int) {
	return Inject(c.Interceptor(), i, fault)
}

// Inject makes the calls of an injection that an interceptor serves fail, and returns how
// many have failed so far.
func Inject(interceptor *simserver.Interceptor, i explore.Injection, fault simserver.Fault) (hits func() int) {
	when := simserver.From(i.First)
	if i.Once {
		when = simserver.Nth(i.First)
	}

	return interceptor.Inject(simserver.Any, when, fault).Hits
}

// ClearFaults implements explore.Cloud.
func (c *Cloud) ClearFaults(testing.TB) { c.Interceptor().Clear() }

// Calls implements explore.Cloud.
func (c *Cloud) Calls() int { return c.Interceptor().Total() }

// FaultOf returns what the cloud does with a call that gets a fault.
func FaultOf(i explore.Injection) simserver.Fault {
	switch i.Fault {
	case explore.Throttled:
		return openstack.Throttled("")
	case explore.Failed:
		return openstack.Error(http.StatusInternalServerError, "HTTPInternalServerError", "Request Failed: internal server error while processing your request.")
	case explore.Dropped:
		return simserver.Drop()
	case explore.Lost:
		return simserver.DropResponse()
	case explore.Killed, explore.KilledLate:
	}

	return simserver.Kill(i.Kill, i.Fault.Applied())
}
