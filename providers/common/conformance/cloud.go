package conformance

import (
	"fmt"
	"net/http"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// Cloud is a test cloud. Everything but Connect works during a failure, too.
type Cloud interface {
	// Connect makes the provider and starts it the way the binary does, and does
	// not wait for the cloud to respond. The provider ends with the test.
	Connect(t testing.TB) cloudprovider.Interface

	// Create makes a running instance and returns what its Node would have: the
	// canonical providerID, the system UUID and the name that kubelet would
	// register it with. All three are filled in.
	Create(t testing.TB, m Machine) instance.Ref
	// Delete removes an instance for good, without a trace.
	Delete(t testing.TB, ref instance.Ref)
	// SetPower changes the power of an instance and returns when it has changed.
	// An instance that was switched on is as it was when created.
	SetPower(t testing.TB, ref instance.Ref, power Power)

	// InjectFailure makes the cloud fail from now on, open connections included.
	// There is at most one failure at a time.
	InjectFailure(t testing.TB, failure Failure)
	// ClearFaults ends the failure and the injected faults, if there are any.
	ClearFaults(t testing.TB)

	// Calls is the number of calls that the cloud received so far, of whatever
	// kind, whether it responded or not. Long polls are not counted: calls that
	// the cloud responds to when something has changed.
	Calls() int
}

// MutableCloud is a test cloud in which providers create and change resources.
// Everything but ConnectAs works during a failure, too, and returns the cloud as
// it is, never as it was.
type MutableCloud interface {
	Cloud

	// ConnectAs is [Cloud].Connect for a cluster, whose name is also the
	// clusterName in all calls. Several providers may be connected at a time, of
	// one cluster or of several. All machines belong to every cluster.
	ConnectAs(t testing.TB, cluster string) cloudprovider.Interface

	// InjectFault makes some of the calls fail from now on, until ClearFaults. The
	// function returns how many have failed so far. Calls are numbered as Calls
	// counts them.
	InjectFault(t testing.TB, i explore.Injection) (hits func() int)

	// Writes is the number of calls so far that could change something in the
	// cloud, whether they did or not.
	Writes() int

	// Resources describes all that providers have created and not deleted, of
	// whatever kind, each in one line and in order: load balancers and every part
	// of them, groups, rules, addresses, tags on what was there before, routes.
	// Nothing in it is random, so that equal operations in two test clouds have
	// equal lines.
	Resources() []string
}

// SessionCounter is a test cloud that can list its sessions.
type SessionCounter interface {
	// Sessions is the number of sessions open now.
	Sessions() int
}

// Machine is the specification of an instance.
type Machine struct {
	// Name is the instance's name, valid as the name of a Node.
	Name string
	// IPs are the addresses in the instance's network, IPv4.
	IPs []string
	// IPv6 are further addresses there, which only cases about IPv6 routes need.
	IPv6 []string
}

// Power is the power state of an instance.
type Power int

// The power states of an instance.
const (
	On Power = iota
	Off
	Suspended
)

// Failure is a way in which the whole cloud fails.
type Failure int

// The ways in which a cloud fails.
const (
	// Unreachable: connections are refused.
	Unreachable Failure = iota
	// Hanging: connections are accepted, and there is never a response.
	Hanging
	// Refusing: the credentials are not accepted, and sessions are ended.
	Refusing
	// Throttling: every response asks for fewer calls.
	Throttling
	// ProxyNotFound, ProxyOK and ProxyBadGateway: a proxy responds to every call in
	// place of the cloud, with an HTML page and the status of Page.
	ProxyNotFound
	ProxyOK
	ProxyBadGateway
)

// Failures returns all of them.
func Failures() []Failure {
	return []Failure{Unreachable, Hanging, Refusing, Throttling, ProxyNotFound, ProxyOK, ProxyBadGateway}
}

// Page returns the HTTP status of the page that a proxy responds with in place of
// the cloud, 0 for other failures. Such a response is apierr.ErrUnavailable, whatever
// its status is.
func (f Failure) Page() (status int) {
	switch f {
	case ProxyNotFound:
		return http.StatusNotFound
	case ProxyOK:
		return http.StatusOK
	case ProxyBadGateway:
		return http.StatusBadGateway
	case Unreachable, Hanging, Refusing, Throttling:
	}

	return 0
}

// String is the failure as part of a case's name.
func (f Failure) String() string {
	switch f {
	case Unreachable:
		return "unreachable"
	case Hanging:
		return "hanging"
	case Refusing:
		return "refusing the login"
	case Throttling:
		return "throttling"
	case ProxyNotFound, ProxyOK, ProxyBadGateway:
		return fmt.Sprintf("behind a proxy that responds %d", f.Page())
	}

	return fmt.Sprintf("Failure(%d)", int(f))
}
