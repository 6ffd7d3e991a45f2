// Package instance answers the framework's InstancesV2 questions once, for all
// providers. A provider brings a [Source]; [V2] decides what its answers mean
// for a Node.
//
// What it promises:
//
//   - Nodes of another cloud cost no cloud call and are never changed or
//     deleted.
//   - A Node is reported gone only when every place where its instance could be
//     has said so, asked alone and uncached. Whatever is not known is an error.
//   - Nil metadata never reaches an initialised Node.
//   - Every value handed out is the caller's own.
package instance

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// State is what the cloud says of an instance's power.
type State int

// The states a Source can report.
const (
	// Unknown means that the cloud did not say, or said it too long ago. An
	// instance in this state exists; whether it is shut down is an error.
	Unknown State = iota
	Running
	Stopped
	// Terminated means that the cloud still lists the instance but it will
	// never run again: it counts as gone.
	Terminated
)

// Ref is what a Node tells about its instance. ProviderID is the Node's
// spec.providerID as written, or empty. The parts are used in the order of
// the fields: only a Ref without ProviderID is searched by SystemUUID and name.
type Ref struct {
	ProviderID string
	SystemUUID string
	NodeName   string
}

// Instance is one machine as a Source knows it. Sources use their own type,
// which they get back in [Source.Metadata]. It is not changed once handed out.
type Instance interface {
	// ProviderID is the canonical ID, never empty.
	ProviderID() string
	State() State
}

// Result is the answer to one Ref: found, absent, or an error. The zero value
// is an error, so that a forgotten answer never looks like a missing instance.
type Result struct {
	instance Instance
	absent   bool
	err      error
}

// Source is the part of InstancesV2 that each provider writes.
type Source interface {
	// Accepts says whether a providerID without another cloud's scheme can be
	// one of this provider: nil, or an error that tells what is wrong with it.
	// It makes no cloud call.
	Accepts(providerID string) error

	// Lookup answers every Ref, in order, from shared knowledge: a snapshot, a
	// cache, a batched call. An absent answer may be out of date: it is
	// confirmed before anything is concluded from it. A failure of one place
	// makes only those Refs an error that might have been there.
	Lookup(ctx context.Context, refs []Ref) []Result

	// Confirm answers one Ref from the cloud itself, past every cache and
	// batch. Absent means that every place where the instance could be has
	// answered, and that no filter can have hidden it.
	Confirm(ctx context.Context, ref Ref) Result

	// Metadata describes an instance that Lookup or Confirm found. It may make
	// further calls. For an initialised Node only addresses matter: what else
	// fails must not make the call fail then.
	Metadata(ctx context.Context, node *v1.Node, found Instance) (*cloudprovider.InstanceMetadata, error)
}
