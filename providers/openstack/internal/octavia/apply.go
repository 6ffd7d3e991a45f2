package octavia

import (
	"context"
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
)

// The kinds of steps.
const (
	kindCreateLoadBalancer = "CreateLoadBalancer"
	kindUpdateLoadBalancer = "UpdateLoadBalancer"
	kindDeleteLoadBalancer = "DeleteLoadBalancer"
	kindCreateListener     = "CreateListener"
	kindUpdateListener     = "UpdateListener"
	kindReplaceListener    = "ReplaceListener"
	kindDeleteListener     = "DeleteListener"
	kindCreatePool         = "CreatePool"
	kindUpdatePool         = "UpdatePool"
	kindRepairPool         = "RepairPool"
	kindDeletePool         = "DeletePool"
	kindAddMembers         = "AddMembers"
	kindUpdateMembers      = "UpdateMembers"
	kindDeleteMembers      = "DeleteMembers"
	kindCreateMonitor      = "CreateHealthMonitor"
	kindUpdateMonitor      = "UpdateHealthMonitor"
	kindReplaceMonitor     = "ReplaceHealthMonitor"
	kindDeleteMonitor      = "DeleteHealthMonitor"
)

// write sends a change of a load balancer or of a part of it, and waits until it has ended.
// A load balancer that does not become ACTIVE refuses all other changes, too: the error
// ends the run.
func write(ctx context.Context, env *change.Env, loadBalancer string, send func(context.Context) error) error {
	err := env.Write(ctx, loadBalancer, send)
	if errors.Is(err, pending.ErrPending) || errors.Is(err, pending.ErrFailed) || errors.Is(err, pending.ErrGone) {
		return apierr.Mark(apierr.ErrUnavailable, err)
	}

	return err
}

// needing returns a step that runs only if other steps have stored their IDs.
func needing(step change.Step, keys ...string) change.Step {
	do := step.Do
	step.Do = func(ctx context.Context, env *change.Env) error {
		if err := require(env, keys); err != nil {
			return err
		}

		return do(ctx, env)
	}

	return step
}

func require(env *change.Env, keys []string) error {
	for _, key := range keys {
		if _, err := env.IDs.Get(key); err != nil {
			return err
		}
	}

	return nil
}

// step returns a step of the port.
func (t *target) step(kind, text string, do func(context.Context, *change.Env) error) change.Step {
	return plan.NewStep(kind, fmt.Sprintf("port %s: %s", t.port.key(), text), func(ctx context.Context, env *change.Env) error {
		return t.warnOfQuota(env, kind, do(ctx, env))
	})
}

// lacks is what a port lacks if a step fails, by the kind of the step.
var lacks = map[string]string{
	kindCreateListener: "listener", kindReplaceListener: "listener", kindCreatePool: "pool", kindRepairPool: "pool",
	kindCreateMonitor: "health monitor", kindReplaceMonitor: "health monitor",
}

// warnOfQuota warns the user of what the port lacks because of a quota.
func (t *target) warnOfQuota(env *change.Env, kind string, err error) error {
	if what, ok := lacks[kind]; ok {
		return env.WarnOfQuota(t.loadBalancer, fmt.Sprintf("%s for port %s", what, t.port.key()), err)
	}

	return err
}

// write sends a change of a part of the load balancer.
func (t *target) write(ctx context.Context, env *change.Env, send func(context.Context) error) error {
	return write(ctx, env, t.loadBalancer, send)
}

// poolID returns the ID of the pool of the port.
func (t *target) poolID(env *change.Env) (string, error) {
	id, err := env.IDs.Get(t.key(keyPool))
	if err != nil && t.pool != nil {
		return t.pool.ID, nil
	}

	return id, err
}

// isReplaced reports whether a step has replaced the pool by one that has all its members
// and its health monitor.
func (t *target) isReplaced(env *change.Env) bool {
	id, err := env.IDs.Get(t.key(keyPool))

	return err == nil && t.pool != nil && id != t.pool.ID
}

// writePool sends a change of the members or the health monitor of the pool. Octavia
// refuses it if the pool is not ACTIVE, which is the case while the load balancer is being
// changed, but also if the pool alone is in ERROR. The first is waited for; then the pool is
// repaired, and the change is sent once more.
func (t *target) writePool(ctx context.Context, env *change.Env, send func(ctx context.Context, pool string) error) error {
	id, err := t.poolID(env)
	if err != nil {
		return err
	}
	sendIt := func(ctx context.Context) error { return send(ctx, id) }
	if err = t.write(ctx, env, sendIt); !isImmutablePool(err) {
		return err
	}
	if err := t.repair(ctx, env, id); err != nil {
		return err
	}

	return t.write(ctx, env, sendIt)
}

// isImmutablePool reports whether Octavia refuses a change because of the pool, although
// the load balancer is ACTIVE.
func isImmutablePool(err error) bool {
	conflict, ok := client.ConflictOf(err)

	return ok && conflict.Kind == client.KindPool && conflict.Reason == client.ReasonImmutable
}

// deleteListener returns a step that deletes a listener.
func deleteListener(loadBalancer string, l *client.Listener) change.Step {
	text := fmt.Sprintf("delete listener %s (%s), %s/%d", l.Name, l.ID, l.Protocol, l.Port)

	return plan.NewStep(kindDeleteListener, text, func(ctx context.Context, env *change.Env) error {
		return write(ctx, env, loadBalancer, func(ctx context.Context) error { return env.Octavia.DeleteListener(ctx, l.ID) })
	})
}

// deletePool returns a step that deletes a pool with its members and its health monitor. A
// pool that an L7 policy uses stays.
func deletePool(loadBalancer string, p *Pool) change.Step {
	text := fmt.Sprintf("delete pool %s (%s)", p.Name, p.ID)

	return plan.NewStep(kindDeletePool, text, func(ctx context.Context, env *change.Env) error {
		return doDeletePool(ctx, env, loadBalancer, p.ID)
	})
}

func doDeletePool(ctx context.Context, env *change.Env, loadBalancer, id string) error {
	err := write(ctx, env, loadBalancer, func(ctx context.Context) error { return env.Octavia.DeletePool(ctx, id) })
	if conflict, ok := client.ConflictOf(err); ok && conflict.Reason == client.ReasonInUse {
		env.Warn(service.Warn(PoolKept, "Pool %s is not deleted: an L7 policy uses it", id))

		return nil
	}

	return err
}
