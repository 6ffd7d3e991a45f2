package conformance

import (
	"fmt"
	"testing"

	cloudprovider "k8s.io/cloud-provider"
)

// MutableCloud is a test cloud in which providers make and change things.
// Everything but ConnectAs works whether the cloud is broken or not, and sees
// the cloud as it is, never as it was.
type MutableCloud interface {
	Cloud

	// ConnectAs is [Cloud].Connect for a cluster, whose name is also the
	// clusterName in all calls. Several providers may be connected at a time,
	// of one cluster or of several. All machines belong to every cluster.
	ConnectAs(t testing.TB, cluster string) cloudprovider.Interface

	// Disturb makes some of the calls go wrong from now on, until Heal.
	Disturb(t testing.TB, d Disturbance)

	// Writes is the number of calls so far that could change something in the
	// cloud, whatever became of them.
	Writes() int

	// Leftovers describes all that providers have made and not removed, of
	// whatever kind, each in one line and in order: load balancers and every
	// part of them, groups, rules, addresses, tags on what was there before,
	// routes. Nothing in it is random, so that the same work done in two test
	// clouds gives the same lines.
	Leftovers() []string
}

// Disturbance picks calls by their number, counted from 1 since it began, and
// says what becomes of them. Calls are counted as in [Cloud].Calls.
type Disturbance struct {
	// First is the number of the first call that goes wrong.
	First int
	// Only says that it is also the last; otherwise all that follow go wrong
	// too.
	Only bool
	// Fault is what happens to the call.
	Fault Fault
}

// Fault is what can happen to one call.
type Fault int

// What can happen to a call.
const (
	// Throttled: nothing is done, and the answer is the wish for fewer calls.
	Throttled Fault = iota
	// Failed: nothing is done, and the answer is an internal error of the cloud.
	Failed
	// Dropped: nothing is done, and the connection is cut.
	Dropped
	// Lost: the call is done, and the connection is cut before the answer.
	Lost
)

// String is the fault as part of a case's name.
func (f Fault) String() string {
	switch f {
	case Throttled:
		return "throttled"
	case Failed:
		return "failed"
	case Dropped:
		return "dropped"
	case Lost:
		return "lost"
	}

	return fmt.Sprintf("Fault(%d)", int(f))
}

// String is the disturbance as part of a message.
func (d Disturbance) String() string {
	if d.Only {
		return fmt.Sprintf("call %d %s", d.First, d.Fault)
	}

	return fmt.Sprintf("calls from %d on %s", d.First, d.Fault)
}
