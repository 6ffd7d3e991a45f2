package octavia

import (
	"context"
	"fmt"

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
		return t.write(ctx, env, func(ctx context.Context) error {
			made, err := env.Octavia.CreatePool(ctx, t.loadBalancer, t.port.Pool.create())
			if err == nil {
				env.IDs.Set(t.key(keyPool), made.ID)
			}

			return err
		})
	})
}

// updatePool returns a step that changes the settings of the pool.
func (t *target) updatePool(update client.PoolUpdate, text string) change.Step {
	text = fmt.Sprintf("update pool %s (%s): %s", t.pool.Name, t.pool.ID, text)

	return t.step(kindUpdatePool, text, func(ctx context.Context, env *change.Env) error { return t.putPool(ctx, env, update) })
}

func (t *target) putPool(ctx context.Context, env *change.Env, update client.PoolUpdate) error {
	return t.write(ctx, env, func(ctx context.Context) error {
		_, err := env.Octavia.UpdatePool(ctx, t.pool.ID, update)

		return err
	})
}

// repairPool returns a step that updates a pool with the name that it has, which makes it ACTIVE
// again, unless it is broken for good: Octavia takes that from a pool that is not ACTIVE (octavia:
// api/v2/controllers/pool.py). It is stored that this was done.
func (t *target) repairPool() change.Step {
	text := fmt.Sprintf("repair pool %s (%s), which is %s", t.pool.Name, t.pool.ID, t.pool.Provisioning)

	return t.step(kindRepairPool, text, func(ctx context.Context, env *change.Env) error {
		err := t.putPool(ctx, env, client.PoolUpdate{Name: client.Set(t.pool.Name)})
		if err == nil {
			env.Repaired = append(env.Repaired, t.pool.ID)
		}
		if err == nil && t.pool.Provisioning == client.ProvisioningError {
			env.Lack("repaired pool "+t.pool.ID, fmt.Sprintf("port %s: pool %s was in ERROR and is looked at again", t.port.key(), t.pool.ID))
		}

		return err
	})
}
