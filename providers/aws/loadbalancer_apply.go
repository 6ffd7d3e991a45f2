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
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

const (
	// operationTimeout bounds each operation on the load balancer of a Service.
	operationTimeout = 5 * time.Minute
	// retryLater is when the service controller tries again to delete what is in
	// use.
	retryLater = 30 * time.Second
)

// deletedAt is when deletion of the Service was requested, zero if it was not.
func (t task) deletedAt() time.Time {
	if t.service.DeletionTimestamp == nil {
		return time.Time{}
	}
	return t.service.DeletionTimestamp.Time
}

// env returns what the steps of a plan are applied with.
func (l *loadBalancer) env() *change.Env {
	return &change.Env{EC2: l.EC2, ELB: l.ELB, ELBV2: l.NLB, Wait: l.Tuning.Wait, Limits: &l.limits}
}

// apply applies a plan.
func (l *loadBalancer) apply(ctx context.Context, t task, env *change.Env, steps change.Plan) error {
	return service.Apply(ctx, t.operation(), steps, env, l.Step)
}

// ensure turns the load balancer of a Service into the desired one, and returns
// its hostname. Warnings are about the Service, and become Events together with
// those of the plan.
func (l *loadBalancer) ensure(ctx context.Context, t task, warnings []service.Warning) (string, error) {
	l.synced.forget(t.request.Name)
	o, err := l.observe(ctx, t)
	if err != nil {
		return "", err
	}
	d, err := build(t, o)
	if err != nil {
		return "", err
	}
	d.Nodes.Lost = l.lost.of(t.request.Name, o.Groups)
	withheld := d.withhold(t, o)
	l.needs.Put(d.Nodes, d.Incomplete == nil && !d.Nodes.AddOnly)
	steps, targetGroups, err := diff(t, o, d, l.meetNeeds(t, o))
	if err != nil {
		return "", err
	}
	if d.Incomplete != nil || nothingKnown(t, o.Facts.Unknown) {
		withheld = withheld || len(steps.Removals()) > 0
		steps = steps.Additions()
	}
	steps = append(steps, l.recheck(t, o, d, steps)...)
	env := l.env()
	failure := l.apply(ctx, t, env, steps)
	warnings = slices.Concat(warnings, d.Warnings, env.Warnings())
	l.services.Report(t.service, warnings)
	err = errors.Join(failure, d.Incomplete)
	if err == nil && !withheld && env.Complete() {
		l.synced.put(t, o, d, targetGroups, env)
	}
	if leavesGaps(failure) {
		err = l.services.Incomplete(t.operation(), d.gaps(o, env, withheld, failure), err)
	}
	if errors.Is(err, securitygroup.ErrInUse) {
		err = api.NewRetryError(err.Error(), retryLater)
	}
	return t.hostname(o, env), err
}

// hostname returns that of the load balancer, which may be new.
func (t task) hostname(o *observed, env *change.Env) string {
	if o.has(t.request.Kind) {
		return o.hostname(t.request.Kind)
	}
	key := classic.HostnameKey(t.request.Name)
	if t.request.Kind == request.Network {
		key = network.HostnameKey(t.request.Name)
	}
	hostname, _ := env.IDs.Get(key) // if there is none, the next run has it
	return hostname
}

// remove deletes all that was created for a Service. Its load balancer counts as
// deleted, for others that need the same rules, once AWS has accepted that.
func (l *loadBalancer) remove(ctx context.Context, t task) error {
	o, err := l.observeAll(ctx, t)
	if err != nil {
		return err
	}
	d := buildDeletion(t, o)
	d.Nodes.Lost = l.lost.of(t.request.Name, o.Groups)
	env, sync := l.env(), l.nodeSync(t, o)
	afterwards := func(ctx context.Context, env *change.Env, needs securitygroup.Needs) error {
		l.deleting.Store(t.request.Name, nil)
		defer l.deleting.Delete(t.request.Name)
		l.needs.Forget(t.request.Name)
		l.lost.forget(t.request.Name)
		return sync(ctx, env, needs)
	}
	steps := diffDeletion(t, o, d, sync, afterwards)
	if err = l.apply(ctx, t, env, steps); err == nil && len(steps) == 0 {
		err = l.confirmAbsent(ctx, t)
	}
	l.services.Report(t.service, slices.Concat(d.Warnings, env.Warnings()))
	return err
}
