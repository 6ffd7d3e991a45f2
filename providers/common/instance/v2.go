package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Defaults of [Options].
const (
	DefaultMinAge      = 5 * time.Minute
	DefaultTimeout     = 30 * time.Second
	DefaultNegativeTTL = 10 * time.Second
)

// memorySize is how many nodes are remembered at most for each purpose: more
// than a cluster has, and about 3 MiB.
const memorySize = 1 << 14

// Options say how a [V2] judges. Only Provider is required.
type Options struct {
	// Provider is the provider's name and the scheme of its providerIDs.
	Provider string
	// DeleteByName lets a Node without providerID be reported gone. The
	// Source's Confirm then looks for its name and system UUID.
	DeleteByName bool
	// KeepMissing makes a missing instance an error, always: no Node is ever
	// reported gone.
	KeepMissing bool
	// MinAge is the age below which a Node is never reported gone, because its
	// instance may not be visible yet. A Node without an age counts as young.
	MinAge time.Duration
	// Timeout bounds one call of the framework, with all that the Source does
	// for it.
	Timeout time.Duration
	// NegativeTTL is how long after a Confirm without success the same Ref is
	// not confirmed again; it is an error meanwhile, never gone.
	NegativeTTL time.Duration
	// Clock tells the time; by default it is the real one.
	Clock clock.PassiveClock
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if o.MinAge == 0 {
		o.MinAge = DefaultMinAge
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.NegativeTTL == 0 {
		o.NegativeTTL = DefaultNegativeTTL
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}

	return o
}

// V2 is the InstancesV2 of every provider. It is safe for concurrent use.
type V2 struct {
	source  Source
	opts    Options
	events  *events
	asked   *recent[Ref]
	foreign *recent[nodeKey]
}

var _ cloudprovider.InstancesV2 = (*V2)(nil)

// New makes the InstancesV2 over a provider's Source.
func New(source Source, opts Options) *V2 {
	opts = opts.withDefaults()

	return &V2{
		source:  source,
		opts:    opts,
		events:  newEvents(opts.Clock),
		asked:   newRecent[Ref](memorySize),
		foreign: newRecent[nodeKey](memorySize),
	}
}

// SetRecorder gives V2 the recorder for its warnings on Nodes, which is known
// only when the cloud is initialised. Without one, or with nil, none is made.
func (v *V2) SetRecorder(recorder record.EventRecorder) { v.events.setRecorder(recorder) }

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

	answer := v.lookup(ctx, ref)
	if answer.IsAbsent() {
		if err := v.mayBeGone(node, ref); err != nil {
			return false, v.report(node, err)
		}
		answer = v.confirm(ctx, ref)
	}
	if answer.IsAbsent() {
		klog.FromContext(ctx).V(2).Info("Instance of node is gone", "node", klog.KObj(node), "instance", ref)

		return false, nil
	}
	if _, err := answer.Get(); err != nil {
		return false, v.report(node, fmt.Errorf("find instance %s: %w", ref, err))
	}

	return true, nil
}

// InstanceShutdown is true only where the cloud says that the instance is
// stopped. Nodes of other clouds are not shut down.
func (v *V2) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	ref, ours, err := v.identify(ctx, node)
	if err != nil || !ours {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, v.opts.Timeout)
	defer cancel()

	found, err := v.lookup(ctx, ref).Get()
	if err != nil {
		return false, v.report(node, fmt.Errorf("find instance %s: %w", ref, err))
	}
	state := found.State()
	if state == Unknown {
		return false, fmt.Errorf("tell whether instance %s is shut down: its state is not known now", ref)
	}

	return state == Stopped, nil
}

// InstanceMetadata describes the Node's instance. For a Node of another cloud
// the answer makes the framework do nothing: nil while it is not initialised,
// and empty afterwards.
func (v *V2) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	ref, ours, err := v.identify(ctx, node)
	if err != nil {
		return nil, err
	}
	if !ours {
		return untouched(node), nil
	}
	ctx, cancel := context.WithTimeout(ctx, v.opts.Timeout)
	defer cancel()

	answer := v.lookup(ctx, ref)
	if answer.IsAbsent() {
		answer = v.confirm(ctx, ref)
	}
	found, err := answer.Get()
	if answer.IsAbsent() {
		err = WithReason(ReasonInstanceNotFound, err)
	}
	if err != nil {
		return nil, v.report(node, fmt.Errorf("find instance %s: %w", ref, err))
	}
	metadata, err := v.describe(ctx, node, found)
	if err != nil {
		return nil, v.report(node, fmt.Errorf("describe instance %s: %w", found.ProviderID(), err))
	}

	return metadata, nil
}

// lookup asks the Source's shared knowledge about one Ref.
func (v *V2) lookup(ctx context.Context, ref Ref) Result {
	answers := v.source.Lookup(ctx, []Ref{ref})
	if len(answers) != 1 {
		return Failed(fmt.Errorf("the provider gave %d answers to one question", len(answers)))
	}

	return answers[0].living()
}

// confirm asks the cloud itself about one Ref, unless it did so a moment ago
// in vain or is doing it now.
func (v *V2) confirm(ctx context.Context, ref Ref) Result {
	now := v.opts.Clock.Now()
	if !v.asked.claim(ref, now, now.Add(v.opts.Timeout+v.opts.NegativeTTL)) {
		return Failed(errAskedRecently)
	}
	answer := v.source.Confirm(ctx, ref).living()
	if _, err := answer.Get(); err == nil {
		v.asked.drop(ref)
	} else {
		v.asked.keep(ref, v.opts.Clock.Now().Add(v.opts.NegativeTTL))
	}

	return answer
}

// Why a missing instance is no reason to ask whether it is gone.
var (
	errAskedRecently = errors.New("not in the last list, and asked for by itself only moments ago")
	errNoProviderID  = WithReason(ReasonInstanceNotFound, errors.New(
		"no instance fits the name or system UUID of this Node. Without spec.providerID it is kept: delete it if its machine is gone"))
	errKeepMissing = WithReason(ReasonInstanceNotFound, errors.New(
		"the instance is missing. The Node is kept because deleting nodes is switched off"))
)

// mayBeGone is nil if the Node may be reported gone once its instance is
// certain to be.
func (v *V2) mayBeGone(node *v1.Node, ref Ref) error {
	var err error
	age := v.opts.Clock.Since(node.CreationTimestamp.Time)
	switch {
	case ref.ProviderID == "" && !v.opts.DeleteByName:
		err = errNoProviderID
	case node.CreationTimestamp.IsZero() || age < v.opts.MinAge:
		err = fmt.Errorf("not visible yet: the node is younger than %s", v.opts.MinAge)
	case v.opts.KeepMissing:
		err = errKeepMissing
	default:
		return nil
	}

	return fmt.Errorf("find instance %s: %w", ref, err)
}

// report tells the Node's user of an error that was marked for that, and
// returns it.
func (v *V2) report(node *v1.Node, err error) error {
	v.events.warn(node, err)

	return err
}
