package instance

import (
	"cmp"
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// Defaults of [Options].
const (
	DefaultMinAge      = 5 * time.Minute
	DefaultTimeout     = 30 * time.Second
	DefaultStepTimeout = 8 * time.Second
	DefaultNegativeTTL = 10 * time.Second
)

// maxTracked is how many nodes are tracked at most for each purpose: more
// than a cluster has, and about 3 MiB.
const maxTracked = 1 << 14

// Options configure a [V2]. Only Provider is required.
type Options struct {
	// Provider is the provider's name and the scheme of its providerIDs.
	Provider string
	// DeleteByName lets a Node without providerID be reported gone. The
	// Source's Confirm then looks for its name and system UUID.
	DeleteByName bool
	// KeepMissing makes every Node exist, also one whose instance is missing.
	KeepMissing bool
	// DeletionLimit is how many Nodes may be gone within ten minutes, 0 for any number. Nil
	// means the default: the greater of 20 and 20 % of Nodes.
	DeletionLimit *int32
	// Nodes returns how many Nodes the cluster has. It calls no API. Nil means that this
	// is not known.
	Nodes func() int
	// MinAge is the age below which a Node is not reported gone, because its
	// instance may not be visible yet, unless the instance is certainly gone.
	// A Node without an age counts as young.
	MinAge time.Duration
	// Timeout bounds one call of the framework, with all that the Source does
	// for it.
	Timeout time.Duration
	// StepTimeout bounds each call of the Source that is made in the background
	// by the first attempt for a Node that waits to be initialized. A cloud that is
	// slow gets twice the time at each further attempt, up to Timeout.
	StepTimeout time.Duration
	// NegativeTTL is how long after a Confirm that found nothing the same Ref
	// is not confirmed again; its result serves all callers meanwhile. A failed
	// Confirm counts for a quarter of it.
	NegativeTTL time.Duration
	// EvidenceSince returns the time since which every Lookup queries the
	// present account or server. An instance that was found earlier is no
	// evidence that the configuration names the right one. It must return at
	// once. Nil is for a provider whose account or server never changes.
	EvidenceSince func() time.Time
	// Metrics reports whether an instance of a Node was found, and which Nodes are held back. Nil means no
	// metric.
	Metrics *metrics.Recorder
	// Clock is the source of time; by default it is the real one.
	Clock clock.PassiveClock
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	o.MinAge = cmp.Or(o.MinAge, DefaultMinAge)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.StepTimeout = cmp.Or(o.StepTimeout, DefaultStepTimeout)
	o.NegativeTTL = cmp.Or(o.NegativeTTL, DefaultNegativeTTL)
	if o.Nodes == nil {
		o.Nodes = func() int { return 0 }
	}
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})

	return o
}

// V2 is the InstancesV2 of every provider. It is safe for concurrent use.
type V2 struct {
	source    Source
	opts      Options
	events    *events
	confirmed *confirmations
	foreign   *recent[nodeKey]
	kept      *recent[keptKey]
	found     *evidence
	// unproven has the Nodes that were kept moments ago for want of evidence.
	unproven *recent[nodeKey]
	guard    *guard
	waiting  *waiting
}

var _ cloudprovider.InstancesV2 = (*V2)(nil)

// New makes the InstancesV2 over a provider's Source.
func New(source Source, opts Options) *V2 {
	opts = opts.withDefaults()

	return &V2{
		source:    source,
		opts:      opts,
		events:    newEvents(opts.Clock),
		confirmed: newConfirmations(source, opts),
		foreign:   newRecent[nodeKey](maxTracked),
		kept:      newRecent[keptKey](maxTracked),
		found:     newEvidence(opts),
		unproven:  newRecent[nodeKey](maxTracked),
		guard:     newGuard(opts),
		waiting:   newWaiting(opts.Clock),
	}
}

// SetRecorder sets the recorder for its warnings on Nodes, which is known
// only when the cloud is initialized. Without one, or with nil, none is made.
func (v *V2) SetRecorder(recorder record.EventRecorder) { v.events.setRecorder(recorder) }

// Decisions returns the last Nodes that were gone or held back, the oldest first.
func (v *V2) Decisions() []Decision { return v.guard.decisions() }

// InstanceExists is false without an error only where it is certain that the
// Node's instance is gone; the framework then deletes the Node. Nodes of other
// clouds exist.
func (v *V2) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	ref, ours, err := v.identify(ctx, node)
	if err != nil {
		return false, err
	}
	if !ours {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, v.opts.Timeout)
	defer cancel()

	result := v.lookup(ctx, ref)
	gone := result.gone
	if result.IsAbsent() {
		if v.keptUnconfirmed(ctx, node, ref, gone) {
			return true, nil
		}
		result = v.confirm(ctx, ref)
		gone = gone || result.gone
	}
	if result.IsAbsent() {
		return v.existsMissing(ctx, node, ref, gone, result)
	}
	if _, err := result.Get(); err != nil {
		return false, v.report(node, fmt.Errorf("find instance %s: %w", ref, err))
	}
	v.guard.found(node)

	return true, nil
}

// InstanceShutdown is true only where the cloud reports that the instance is
// stopped. A missing instance is not, and Nodes of other clouds are not.
func (v *V2) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	ref, ours, err := v.identify(ctx, node)
	if err != nil || !ours {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, v.opts.Timeout)
	defer cancel()

	result := v.lookup(ctx, ref)
	if result.IsAbsent() {
		return false, nil
	}
	found, err := result.Get()
	if err != nil {
		return false, v.report(node, fmt.Errorf("find instance %s: %w", ref, err))
	}
	state := found.State()
	if state == Unknown {
		return false, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("determine whether instance %s is shut down: its state is not known", ref))
	}

	return state == Stopped, nil
}

// InstanceMetadata describes the Node's instance. For a Node of another cloud
// the result makes the framework do nothing: nil while it is not initialized,
// and empty afterwards. A Node that cannot be initialized because the cloud does
// not respond is queued again once it does, see [V2.Run].
func (v *V2) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	ref, ours, err := v.identify(ctx, node)
	if err != nil {
		return nil, err
	}
	if !ours {
		return untouched(node), nil
	}
	var metadata *cloudprovider.InstanceMetadata
	if Initialized(node) {
		metadata, err = v.metadataNow(ctx, node, ref)
	} else {
		metadata, err = v.uninitializedMetadata(ctx, node, ref)
	}
	if err != nil {
		return nil, v.report(node, err)
	}

	return metadata, nil
}

// lookup queries the Source's shared data for one Ref.
func (v *V2) lookup(ctx context.Context, ref Ref) Result {
	return v.found.note(v.source.Lookup(ctx, ref))
}

// confirm looks up one Ref in the cloud itself, or returns the result of
// moments ago.
func (v *V2) confirm(ctx context.Context, ref Ref) Result {
	return v.found.note(v.confirmed.get(ctx, ref))
}

// report records an error on the Node if it was marked for that, and returns
// it.
func (v *V2) report(node *v1.Node, err error) error {
	v.events.warn(node, err)

	return err
}
