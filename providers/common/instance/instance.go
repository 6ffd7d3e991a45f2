// Package instance implements InstancesV2 once, for all providers. A provider
// brings a [Source]; [V2] decides what its results mean for a Node.
//
// What it promises:
//
//   - Nodes of another cloud cost no cloud call and are never changed or
//     deleted.
//   - A Node is reported gone only if every location where its instance could
//     be has confirmed that, looked up alone and uncached. Whatever is not
//     known is an error.
//   - Nil metadata never reaches an initialized Node.
//   - Metadata is the caller's own copy, and none of it can make the API server
//     reject the Node's update.
//
// What [V2] returns for a Node of this cloud:
//
//	Lookup returns     InstanceExists       InstanceShutdown  InstanceMetadata
//	found, Running     true                 false             Source.Metadata
//	found, Stopped     true                 true              Source.Metadata
//	found, Unknown     true                 error             Source.Metadata
//	Terminated/absent  see below            false             see below
//	error              error                error             error
//
// For an absent instance InstanceMetadata calls Confirm: found is as above,
// absent again is [cloudprovider.InstanceNotFound]. For InstanceExists the first
// line that fits decides:
//
//	the Node has no providerID, Options.DeleteByName is off   true
//	Options.KeepMissing                                       true
//	Confirm finds it, in any living state                     true
//	Confirm fails                                             error
//	it is neither Terminated nor Gone, and the Node is
//	younger than Options.MinAge                               true
//	no instance of any Node was found by its ID               true
//	too many Nodes were gone within ten minutes               error
//	Confirm returns absent or Terminated                      gone
//
// A Node that is kept although its instance is missing is logged once, and gets
// an Event where a user can act. One result of Confirm serves all callers while
// it is younger than Options.NegativeTTL.
//
// As long as not one instance of a Node was found by its ID, a missing instance
// proves nothing: the region, the account or the server may be the wrong one.
// Confirm is then called once in four minutes for each Node.
package instance

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// State is the power state of an instance.
type State int

// The states a Source can report.
const (
	// Unknown means that the cloud did not report the state, or too long ago.
	// An instance in this state exists; whether it is shut down is an error.
	Unknown State = iota
	// Running is also an instance on its way up or down.
	Running
	// Stopped means that it does not run and can be started again: powered off
	// or suspended.
	Stopped
	// Terminated means that the cloud still lists the instance but it will
	// never run again: it counts as absent.
	Terminated
)

// String names the state.
func (s State) String() string {
	switch s {
	case Running:
		return "Running"
	case Stopped:
		return "Stopped"
	case Terminated:
		return "Terminated"
	case Unknown:
	}

	return "Unknown"
}

// Ref is what a Node states about its instance. ProviderID is the Node's
// spec.providerID as written, or empty. The parts are used in the order of
// the fields: only a Ref without ProviderID is searched by SystemUUID and name.
// A match by those is as good as one by ID, and what it found becomes the
// Node's providerID for good when the Node is initialized; so several matches
// are an error, never a choice.
type Ref struct {
	ProviderID string
	SystemUUID string
	NodeName   string
}

// String identifies the instance in an error or a log line.
func (r Ref) String() string {
	if r.ProviderID != "" {
		return r.ProviderID
	}

	if r.SystemUUID == "" {
		return fmt.Sprintf("of node %q", r.NodeName)
	}

	return fmt.Sprintf("of node %q with system UUID %q", r.NodeName, r.SystemUUID)
}

// Instance is one machine as a Source knows it. Sources use their own type,
// which they get back in [Source.Metadata]. It is not changed once it is
// returned.
type Instance interface {
	// ProviderID is the canonical ID, never empty.
	ProviderID() string
	State() State
}

// Source is the part of InstancesV2 that each provider writes. All methods may
// be called at the same time by many goroutines, and return when their context
// ends.
type Source interface {
	// Accepts reports whether a providerID without another cloud's scheme can be
	// one of this provider: nil, or an error that describes what is wrong with
	// it. The scheme may be missing or written in another case; whether that is
	// valid is for the provider to decide. It makes no cloud call.
	Accepts(providerID string) error

	// Lookup looks up one Ref in shared data: a snapshot, a cache, a batched
	// call. An absent result may be out of date: it is confirmed before anything
	// is concluded from it. A failure of a location is an error only for a Ref
	// that might have been there. The Ref's ProviderID is empty or accepted.
	// Lookups at about the same time should share calls: each waiting Node makes
	// one of its own.
	Lookup(ctx context.Context, ref Ref) Result

	// Confirm looks up one Ref in the cloud itself, past every cache and
	// batch. Absent means that every location where the instance could be has
	// responded, and that no filter can have hidden it. An instance in state
	// [Terminated] and the result [Gone] are certain even for a Node that has
	// just been registered. The next Lookup should return what it finds.
	Confirm(ctx context.Context, ref Ref) Result

	// Metadata describes an instance that Lookup or Confirm found. It may make
	// further calls. For a Node that is [Initialized] only addresses matter:
	// what else fails must not make the call fail then. The ProviderID of the
	// result is ignored.
	Metadata(ctx context.Context, node *v1.Node, found Instance) (*cloudprovider.InstanceMetadata, error)
}

// Initialized reports whether the cloud's part of setting up the Node is done: it
// no longer carries the taint that kubelet registers it with.
func Initialized(node *v1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Key == cloudproviderapi.TaintExternalCloudProvider })
}
