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
	if t.pool != nil {
		return t.pool.ID, nil
	}

	return env.IDs.Get(t.key(keyPool))
}

// writePool sends a change of the members or the health monitor of the pool.
func (t *target) writePool(ctx context.Context, env *change.Env, send func(ctx context.Context, pool string) error) error {
	id, err := t.poolID(env)
	if err != nil {
		return err
	}

	return t.write(ctx, env, func(ctx context.Context) error { return send(ctx, id) })
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
		err := write(ctx, env, loadBalancer, func(ctx context.Context) error { return env.Octavia.DeletePool(ctx, p.ID) })
		if conflict, ok := client.ConflictOf(err); ok && conflict.Reason == client.ReasonInUse {
			env.Warn(service.Warn(PoolKept, "Pool %s is not deleted: an L7 policy uses it", p.ID))

			return nil
		}

		return err
	})
}
