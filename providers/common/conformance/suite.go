package conformance

import (
	"fmt"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// Suite is what a provider brings: its test cloud and what it declares.
type Suite struct {
	// Provider is the provider's name and the scheme of its providerIDs.
	Provider string
	// NewCloud makes a test cloud without instances, which ends with the test.
	NewCloud func(t testing.TB) Cloud
	// Malformed are providerIDs that the provider must refuse: its own scheme
	// around what can be no instance. At least one is needed.
	Malformed []string
	// Respell gives other spellings of a canonical providerID that the provider
	// accepts. Nil means that there are none.
	Respell func(providerID string) []string
	// Without declares what this cloud does not have.
	Without Capabilities
	// Budget limits the number of cloud calls.
	Budget Budget
	// Timeout is how long the connected provider may take for one answer by
	// its own settings when the cloud is silent. The default is 30 s, that of
	// instance.Options; a provider connected with less makes the suite faster.
	Timeout time.Duration
	// Patience is how long the provider may take to notice what happened in
	// the cloud, its back-off after an outage included. The default is 30 s.
	Patience time.Duration
	// Memory is how long the connected provider may go on with what the cloud
	// told it before: the age of its lists, the time until it notices that a
	// feed ended, the pause after a failed question. An outage lasts twice as
	// long. The default is 10 s.
	Memory time.Duration
	// Serial runs one case after the other, for a test cloud that cannot exist
	// several times in a process.
	Serial bool
}

// Capabilities are the parts of the suite that not every cloud can take. Set in
// Suite.Without, they leave out the cases that need them.
type Capabilities struct {
	// Suspend: instances can be suspended.
	Suspend bool
	// SystemUUID: a Node without providerID is found by its system UUID alone.
	SystemUUID bool
	// NodeName: a Node without providerID is found by its name alone.
	NodeName bool
	// Twins: the cloud allows two instances with one node name.
	Twins bool
	// ColdStart: the provider can be connected while the cloud is broken.
	ColdStart bool
	// Throttling: the cloud may ask for fewer calls.
	Throttling bool
	// Sessions: the cloud has sessions that must be ended. The provider then
	// has Close(context.Context) error, and the test cloud lists them as
	// [SessionCounter].
	Sessions bool
}

// Budget is how many cloud calls the provider may make for a number of nodes,
// whatever that number is.
type Budget struct {
	// Nodes is their number; the default is 100.
	Nodes int
	// Initialize limits connecting to the cloud and describing every node for
	// the first time, 20 at a time.
	Initialize int
	// Steady limits describing every node once more.
	Steady int
	// Lifecycle limits asking for every node whether it exists and whether it
	// is shut down.
	Lifecycle int
}

// Cloud is a test cloud in the terms that all clouds share. Everything but
// Connect works whether the cloud is broken or not.
type Cloud interface {
	// Connect makes the provider and starts it the way the binary does, and
	// does not wait for the cloud to answer. The provider ends with the test.
	Connect(t testing.TB) cloudprovider.Interface

	// Create makes a running instance and says what its Node would: the
	// canonical providerID, the system UUID and the name that kubelet would
	// register it with. All three are filled in.
	Create(t testing.TB, m Machine) instance.Ref
	// Delete removes an instance for good, without a trace.
	Delete(t testing.TB, ref instance.Ref)
	// SetPower changes the power of an instance and returns when it has
	// changed. An instance that was switched on is as it was when created.
	SetPower(t testing.TB, ref instance.Ref, power Power)

	// Break makes the cloud fail from now on, open connections included; Heal
	// ends that, if it is so. The cloud is broken in one way at a time.
	Break(t testing.TB, failure Failure)
	Heal(t testing.TB)

	// Calls is the number of calls that the cloud got so far, of whatever
	// kind, answered or not. Only long polls are not counted: calls that the
	// cloud answers when something has changed.
	Calls() int
}

// SessionCounter is a test cloud that can list its sessions.
type SessionCounter interface {
	// Sessions is the number of sessions open now.
	Sessions() int
}

// Machine is what an instance is made of.
type Machine struct {
	// Name is the instance's name, valid as the name of a Node.
	Name string
	// IPs are the addresses in the instance's network, IPv4.
	IPs []string
	// IPv6 are further addresses there, which only cases about IPv6 routes need.
	IPv6 []string
}

// Power is what runs of an instance.
type Power int

// The powers an instance can have.
const (
	On Power = iota
	Off
	Suspended
)

// Failure is a way in which a cloud can be broken.
type Failure int

// The ways in which a cloud can be broken.
const (
	// Unreachable: connections are refused.
	Unreachable Failure = iota
	// Hanging: connections are taken, and nothing is ever answered.
	Hanging
	// Refusing: the credentials are not accepted, and sessions are ended.
	Refusing
	// Throttling: every call is answered with the wish for fewer of them.
	Throttling
)

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
	}

	return fmt.Sprintf("Failure(%d)", int(f))
}

// Defaults of [Suite] and [Budget].
const (
	defaultTimeout  = 30 * time.Second
	defaultPatience = 30 * time.Second
	defaultMemory   = 10 * time.Second
	defaultNodes    = 100
)

// prepare checks the suite and fills in what is not set.
func (s Suite) prepare() (Suite, error) {
	switch {
	case s.Provider == "":
		return s, fmt.Errorf("set Suite.Provider")
	case s.NewCloud == nil:
		return s, fmt.Errorf("set Suite.NewCloud")
	case len(s.Malformed) == 0:
		return s, fmt.Errorf("set Suite.Malformed")
	case s.Budget.Initialize == 0:
		return s, fmt.Errorf("set Suite.Budget")
	}
	if s.Respell == nil {
		s.Respell = func(string) []string { return nil }
	}
	if s.Timeout == 0 {
		s.Timeout = defaultTimeout
	}
	if s.Patience == 0 {
		s.Patience = defaultPatience
	}
	if s.Memory == 0 {
		s.Memory = defaultMemory
	}
	if s.Budget.Nodes == 0 {
		s.Budget.Nodes = defaultNodes
	}

	return s, nil
}
