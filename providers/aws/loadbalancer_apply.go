package aws

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

const (
	// operationTimeout bounds each operation on the load balancer of a Service.
	operationTimeout = 5 * time.Minute
	// retryLater is the delay after which the service controller retries a
	// deletion while a resource is in use.
	retryLater = 30 * time.Second
)

// env returns what the steps of a plan are applied with.
func (l *loadBalancer) env() *change.Env {
	return &change.Env{EC2: l.EC2, ELB: l.ELB, ELBV2: l.NLB, Wait: l.Tuning.Wait, Limits: l.limits}
}

// apply applies a plan.
func (l *loadBalancer) apply(ctx context.Context, in input, env *change.Env, steps change.Plan) error {
	return service.Apply(ctx, in.operation(), steps, env, l.Step)
}

// ensure turns the load balancer of a Service into the desired one, and returns
// its hostname. Warnings about the Service are reported as Events, together
// with those of the plan.
func (l *loadBalancer) ensure(ctx context.Context, in input, warnings []service.Warning) (string, error) {
	in.full = in.state.full
	*in.state = state{since: in.state.since, full: in.full, reached: in.state.reached}
	o, err := l.observe(ctx, in)
	if err != nil {
		return "", err
	}
	d, err := build(in, o)
	if err != nil {
		return "", err
	}
	d.Nodes.Lost = l.lost.of(in.request.Name, o.Groups)
	withheld := d.withhold(in, o)
	l.needs.Put(d.Nodes, d.Incomplete == nil && !d.Nodes.AddOnly && !d.Nodes.InUseOnly)
	steps, targetGroups, err := diff(in, o, d, l.meetNeeds(in, o))
	if err != nil {
		return "", err
	}
	if d.Incomplete != nil || nothingKnown(in, o.Facts.Unknown) {
		withheld = withheld || len(steps.Removals()) > 0
		steps = steps.Additions()
	}
	steps = append(steps, l.recheck(in, o, d, steps)...)
	env := l.env()
	failure := l.apply(ctx, in, env, steps)
	in.state.full = env.ListenersInTheWay
	if isOverQuota(env) {
		in.state.reached = time.Now()
	}
	warnings = slices.Concat(warnings, d.Warnings, env.Warnings(), in.overQuota())
	l.services.Report(in.service, warnings)
	err = errors.Join(failure, d.Incomplete)
	if err == nil && !withheld && env.Complete() {
		l.store(in, syncedBy(in, o, d, targetGroups, env))
	}
	if leavesGaps(failure) {
		err = l.services.Incomplete(in.operation(), d.gaps(o, env, withheld, failure), err)
	}
	if errors.Is(err, securitygroup.ErrInUse) {
		err = api.NewRetryError(err.Error(), retryLater)
	}
	if in.serves(o, env) {
		err = apierr.Mark(service.ErrServes, err)
	}

	return in.hostname(o, env), err
}

// serves reports whether the load balancer has a listener: it serves, whatever else
// failed.
func (in input) serves(o *observed, env *change.Env) bool {
	if in.request.Kind != request.Network {
		return in.hostname(o, env) != ""
	}
	_, err := env.IDs.Get(network.ListenerKey(in.request.Name))

	return err == nil || o.hasNetwork() && len(o.Network.LoadBalancer.Listeners) > 0
}

// hostname returns the hostname of the load balancer, which may be new.
func (in input) hostname(o *observed, env *change.Env) string {
	if o.has(in.request.Kind) {
		return o.hostname(in.request.Kind)
	}
	key := classic.HostnameKey(in.request.Name)
	if in.request.Kind == request.Network {
		key = network.HostnameKey(in.request.Name)
	}
	hostname, _ := env.IDs.Get(key) // if there is none, the next run has it

	return hostname
}

// remove deletes all resources of a Service. Once AWS has accepted the deletion
// of its load balancer, it counts as deleted for others that need the same
// rules.
func (l *loadBalancer) remove(ctx context.Context, in input) error {
	o, err := l.observeAll(ctx, in)
	if err != nil {
		return err
	}
	d := buildDeletion(in, o)
	d.Nodes.Lost = l.lost.of(in.request.Name, o.Groups)
	env, sync := l.env(), l.nodeSync(in, o)
	afterwards := func(ctx context.Context, env *change.Env, needs securitygroup.Needs) error {
		l.deleting.Store(in.request.Name, nil)
		defer l.deleting.Delete(in.request.Name)
		l.needs.Forget(in.request.Name)
		l.lost.forget(in.request.Name)

		return sync(ctx, env, needs)
	}
	steps := diffDeletion(in, o, d, sync, afterwards)
	if err = l.apply(ctx, in, env, steps); err == nil && len(steps) == 0 {
		err = l.confirmAbsent(ctx, in)
	}
	l.services.Report(in.service, slices.Concat(d.Warnings, env.Warnings()))

	return err
}
