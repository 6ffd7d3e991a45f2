package octavia

import (
	"context"
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// persistenceSourceIP binds clients by their address (octavia: lib/common/constants.py).
const persistenceSourceIP = "SOURCE_IP"

// persistence returns the session persistence of a pool, nil for none.
func persistence(p *DesiredPool) *client.SessionPersistence {
	if !p.KeepsAffinity {
		return nil
	}

	return &client.SessionPersistence{Type: persistenceSourceIP}
}

// create is the pool in a request, without members and health monitor.
func (p *DesiredPool) create() client.PoolCreate {
	return client.PoolCreate{
		Name: p.Name, Protocol: string(p.Protocol), Algorithm: p.Algorithm, Persistence: persistence(p), Tags: p.Tags,
	}
}

// String is the pool with its settings.
func (p *DesiredPool) String() string {
	text := fmt.Sprintf("%s, %s, %s", p.Name, p.Protocol, p.Algorithm)
	if p.KeepsAffinity {
		text += ", session persistence " + persistenceSourceIP
	}

	return text + tagText(p.Tags)
}

// createPool returns a step that creates the pool of the port. No listener uses it yet.
func (t *target) createPool() change.Step {
	return t.step(kindCreatePool, fmt.Sprintf("create pool %s", &t.port.Pool), func(ctx context.Context, env *change.Env) error {
		id, err := t.postPool(ctx, env)
		if err == nil {
			env.IDs.Set(t.key(keyPool), id)
		}

		return err
	})
}

// postPool creates the pool of the port, and returns its ID.
func (t *target) postPool(ctx context.Context, env *change.Env) (string, error) {
	var id string
	err := t.write(ctx, env, func(ctx context.Context) error {
		made, err := env.Octavia.CreatePool(ctx, t.loadBalancer, t.port.Pool.create())
		if err == nil {
			id = made.ID
		}

		return err
	})

	return id, err
}

// updatePool returns a step that changes the settings of the pool.
func (t *target) updatePool(update client.PoolUpdate, text string) change.Step {
	text = fmt.Sprintf("update pool %s (%s): %s", t.pool.Name, t.pool.ID, text)

	return t.step(kindUpdatePool, text, func(ctx context.Context, env *change.Env) error {
		if t.isReplaced(env) {
			return nil
		}

		return t.write(ctx, env, func(ctx context.Context) error {
			_, err := env.Octavia.UpdatePool(ctx, t.pool.ID, update)

			return err
		})
	})
}

// errBroken means that a pool stays in ERROR.
var errBroken = apierr.Mark(apierr.ErrConflict, errors.New("the pool is not ACTIVE although its load balancer is, and stays so when it is updated"))

// repairPool returns a step that makes a pool ACTIVE again: it is updated with the values
// that it has, and replaced if it stays as it is.
func (t *target) repairPool() change.Step {
	text := fmt.Sprintf("repair pool %s (%s), which is %s", t.pool.Name, t.pool.ID, t.pool.Provisioning)
	repair := func(ctx context.Context, env *change.Env) error {
		if err := t.repair(ctx, env, t.pool.ID); err != nil {
			return err
		}

		return t.checkPool(ctx, env)
	}

	return t.step(kindRepairPool, text, repair).OrRemove(func(ctx context.Context, env *change.Env) error {
		err := repair(ctx, env)
		if errors.Is(err, errBroken) {
			err = t.replacePool(ctx, env)
		}

		return t.warnOfQuota(env, kindRepairPool, err)
	})
}

// repair updates a pool with the name that it has. Octavia takes that from a pool which is
// not ACTIVE (octavia: api/v2/controllers/pool.py).
func (t *target) repair(ctx context.Context, env *change.Env, id string) error {
	name := t.port.Pool.Name
	if t.pool != nil && t.pool.ID == id {
		name = t.pool.Name
	}

	return t.write(ctx, env, func(ctx context.Context) error {
		_, err := env.Octavia.UpdatePool(ctx, id, client.PoolUpdate{Name: client.Set(name)})

		return err
	})
}

// checkPool returns an [errBroken] if the pool is not ACTIVE.
func (t *target) checkPool(ctx context.Context, env *change.Env) error {
	pools, err := env.Octavia.PoolsByLoadBalancer(ctx, t.loadBalancer)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if p.ID == t.pool.ID && p.Provisioning == client.ProvisioningActive {
			return nil
		}
	}

	return errBroken
}

// replacePool builds a new pool with all members and the health monitor, makes the listener
// use it, and deletes the old one.
func (t *target) replacePool(ctx context.Context, env *change.Env) error {
	fresh := &target{differ: t.differ, port: t.port, loadBalancer: t.loadBalancer, listener: t.listener, suffix: " instead of " + t.pool.ID}
	id, err := fresh.postPool(ctx, env)
	if err != nil {
		return err
	}
	env.IDs.Set(fresh.key(keyPool), id)
	if err := fresh.applyMembers(ctx, env); err != nil {
		return err
	}
	if err := fresh.applyMonitor(ctx, env); err != nil {
		return err
	}
	if t.pool == t.attached {
		if err := t.move(ctx, env, id); err != nil {
			return err
		}
	}
	env.IDs.Set(t.key(keyPool), id)

	return doDeletePool(ctx, env, t.loadBalancer, t.pool.ID)
}
