// Package sim is an in-memory cloud for the tests of the conformance suites: it
// has machines, fails as a whole or in single calls, and counts calls. Each suite
// adds what its own providers need.
//
// It is no test cloud for a provider: those speak the real protocol.
package sim

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
)

// InjectFailure implements [conformance.Cloud].
func (c *Cloud) InjectFailure(t testing.TB, failure conformance.Failure) {
	t.Helper()
	c.Lock()
	defer c.Unlock()
	if c.failing != nil {
		t.Fatal("the cloud fails already")
	}
	c.failure, c.failing = failure, make(chan struct{})
}

// InjectFault implements [conformance.MutableCloud].
func (c *Cloud) InjectFault(t testing.TB, i explore.Injection) (hits func() int) {
	t.Helper()
	c.Lock()
	defer c.Unlock()
	if c.fault != nil {
		t.Fatal("there is a fault already")
	}
	injected := &fault{Injection: i}
	c.fault = injected

	return func() int {
		c.Lock()
		defer c.Unlock()

		return injected.hits
	}
}

// ClearFaults implements [conformance.Cloud].
func (c *Cloud) ClearFaults(testing.TB) {
	c.Lock()
	defer c.Unlock()
	c.fault = nil
	if c.failing != nil {
		close(c.failing)
		c.failing = nil
	}
}
