// Package scenario provides the environment of the demo and the benchmarks: a
// simulated cloud of one provider with machines in it, a control plane that
// their nodes join, and the binary as a process between the two.
//
// A provider takes part by an entry in [Providers]; neither the demo nor the
// benchmarks name any provider.
package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// Provider describes one provider.
type Provider struct {
	// Name is what the cloud-config calls it.
	Name string
	// Demo starts a cloud with five machines that differ from each other.
	Demo func() (Cloud, error)
	// Fleet starts a cloud with n machines that takes latency for each call.
	Fleet func(n int, latency time.Duration) (Cloud, error)
	// Budget is what nodes may cost.
	Budget Budget
	// LoadBalancers are the kinds that a Service can request, the usual one
	// first. Where there are any, the clouds are each a [ServiceCloud].
	LoadBalancers []LoadBalancer
}

// LoadBalancer is a kind of load balancer.
type LoadBalancer struct {
	// Name is what people call the kind, in one word.
	Name string
	// Annotations are those with which a Service requests it.
	Annotations map[string]string
	// Shares is the kind whose load balancer it uses, empty for one of its own. SharedBy is
	// the annotation of that Service which it has, too.
	Shares, SharedBy string
	// Create is how many calls one with two ports and three nodes may cost, once
	// there has been another.
	Create int
}

// Budget is how many calls to one cloud are allowed, long polls not counted.
type Budget struct {
	// Initialize up to 5000 nodes.
	Initialize int
	// Steady is for five minutes in which nothing happens to 1000 nodes.
	Steady int
	// Lifecycle is for one look at 100 nodes that are not ready and exist.
	Lifecycle int
	// Services is how long 100 Services may take that are created at once, where
	// each takes the cloud 5 s.
	Services time.Duration
}

// Cloud is a simulated cloud that runs. Machines and their nodes have the same
// names.
type Cloud interface {
	// Description describes in a line what runs where.
	Description() string
	// Config is the cloud-config for this cloud.
	Config() string
	// Environment has the variables, as NAME=value, that are needed besides.
	Environment() []string
	// Machines lists all machines.
	Machines() []Machine
	// Calls counts the calls since the start.
	Calls() Calls
	// Replace deletes the oldest n machines and adds as many new ones, and returns both.
	Replace(n int) (deleted, added []Machine, err error)
	// SetPower switches a machine on or off.
	SetPower(name string, on bool) error
	// SetReachable makes the cloud's API reachable for its clients, or unreachable.
	SetReachable(reachable bool) error
	// Close ends the cloud.
	Close() error
}

// Shared is a Cloud that several clusters can share.
type Shared interface {
	Cloud
	// AddForeign adds n machines that are no nodes. Machines does not list them.
	AddForeign(n int) error
}

// ServiceCloud is a Cloud that has load balancers for Services.
type ServiceCloud interface {
	Cloud
	// Made lists what clients have made there and not taken away again, a line
	// for each thing.
	Made() []string
	// Writes counts the calls since the start that may change something.
	Writes() Calls
	// SetProvisioning makes every load balancer take so long to be created.
	SetProvisioning(d time.Duration)
}

// Machine is a machine of a simulated cloud.
type Machine struct {
	// Node is how its kubelet registers it.
	Node controlplane.NodeSpec
	// The rest is what its node is to have in the end.
	ProviderID, Zone, Region, Address string
}

// Providers lists the providers that have a simulated cloud.
func Providers() []Provider {
	return []Provider{awsProvider(), openstackProvider(), vsphereProvider()}
}

// Find returns a provider by name. The error lists the names.
func Find(name string) (Provider, error) {
	var names []string
	for _, p := range Providers() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}

	return Provider{}, fmt.Errorf("unknown provider %q, use one of: %s", name, strings.Join(names, ", "))
}

// Check complains about everything that a node lacks to be the machine's.
func (m Machine) Check(node *v1.Node) error {
	var errs []error
	want := func(what, want, got string) {
		if want != got {
			errs = append(errs, fmt.Errorf("its %s is %q, want %q", what, got, want))
		}
	}
	want("providerID", m.ProviderID, node.Spec.ProviderID)
	want("zone", m.Zone, node.Labels[v1.LabelTopologyZone])
	want("region", m.Region, node.Labels[v1.LabelTopologyRegion])
	internal := v1.NodeAddress{Type: v1.NodeInternalIP, Address: m.Address}
	if !slices.Contains(node.Status.Addresses, internal) {
		errs = append(errs, fmt.Errorf("its addresses %v lack InternalIP %s", node.Status.Addresses, m.Address))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("node %s: %w", node.Name, err)
	}

	return nil
}

// Calls are calls to a cloud by operation.
type Calls struct {
	// Counted are those that budgets are about.
	Counted map[string]int
	// Polls are those that wait for something to happen.
	Polls map[string]int
}

// Total is the number of calls without polls.
func (c Calls) Total() int { return sum(c.Counted) }

// TotalPolls is the number of polls.
func (c Calls) TotalPolls() int { return sum(c.Polls) }

// Since returns the calls that are new since an earlier look.
func (c Calls) Since(earlier Calls) Calls {
	return Calls{Counted: since(c.Counted, earlier.Counted), Polls: since(c.Polls, earlier.Polls)}
}

// String lists the counted calls by name.
func (c Calls) String() string {
	var list []string
	for _, op := range slices.Sorted(maps.Keys(c.Counted)) {
		list = append(list, fmt.Sprintf("%s %d", op, c.Counted[op]))
	}

	return strings.Join(list, ", ")
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}

	return total
}

func since(now, earlier map[string]int) map[string]int {
	fresh := map[string]int{}
	for op, n := range now {
		if n > earlier[op] {
			fresh[op] = n - earlier[op]
		}
	}

	return fresh
}
