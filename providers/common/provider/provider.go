// Package provider describes a cloud provider to the binary that links it: what
// it is called, which keys its cloud-config has, what it can do. The provider
// itself is made by the global factory map of k8s.io/cloud-provider, by name.
package provider

import (
	"context"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/app"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// Descriptor is what a provider package exports beside registering its factory.
type Descriptor struct {
	// Name is the name the factory is registered under.
	Name string
	// Summary names the cloud in a few words.
	Summary string
	// Capabilities lists every part of the cloud provider interface, supported
	// or not, in the order it is shown.
	Capabilities []Capability

	// Decode checks a cloud-config whole, offline, with the environment applied
	// as the factory would; an unknown name in a strict file is an error. It is
	// called with nil where there is no file.
	Decode func(file *config.File, scope config.Scope) config.Problems
	// Explain lists the effective settings of a file that Decode found without
	// errors.
	Explain func(file *config.File) []config.Setting
	// Prove logs in with a cloud-config, and finds in the cloud what it names and the
	// instances of the Nodes. It changes nothing, ends its sessions, and shares the limits
	// of refused logins with the cloud that runs in this process. The error is what the
	// cloud refused, unless it is [Unanswered].
	Prove func(ctx context.Context, candidate Candidate) (Proof, error)

	// ServiceSyncs is how many Services are synced at once by default. Zero means the default
	// of [config.Controllers].
	ServiceSyncs int32
	// AddFlags adds the provider's own command-line flags. Nil means none.
	AddFlags func(flags *pflag.FlagSet)
	// Controllers are the provider's own controllers by name. They are
	// registered whatever provider is chosen and must skip themselves where
	// the cloud is not theirs.
	Controllers map[string]app.ControllerInitFuncConstructor
	// ControllersOffByDefault names those of them that run only on request.
	ControllersOffByDefault []string

	// Reference is for the generated reference pages.
	Reference Reference
}

// Capability is one thing a provider can or cannot do.
type Capability struct {
	Name      string
	Supported bool
	// Note is what a user should know, above all why it is not supported.
	Note string
}

// Closer is a cloud that holds sessions or changes something in the cloud. Close ends
// the sessions and rejects new ones; once it has returned nil, nothing is changed any
// more. It is called once, before the process exits.
type Closer interface {
	Close(ctx context.Context) error
}

// Writer is a Closer that changes something in the cloud. LastWrite returns when it last
// did, or the zero time. A cloud may return what was before a write for some seconds
// after it, which only the process that has made the write takes into account.
type Writer interface {
	Closer
	LastWrite() time.Time
}

// ServiceSyncer is a cloud that has workers of the service controller wait for it.
// SetServiceWorkers sets how many there are. It is called before the controllers start.
type ServiceSyncer interface {
	SetServiceWorkers(n int)
}

// ClusterNamer is a cloud that uses the name of the cluster outside of calls that have it.
// SetClusterName sets the flag --cluster-name. It is called before Initialize.
type ClusterNamer interface {
	SetClusterName(name string)
}

// NodeRequeuer is a cloud that notices when Nodes can be initialized which it
// could not describe before. SetNodeRequeue sets the function that queues a
// Node of this name for initialization at once; it returns without waiting. It
// is called before the controllers start, and again with leader migration.
type NodeRequeuer interface {
	SetNodeRequeue(requeue func(nodeName string))
}
