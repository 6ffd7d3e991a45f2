package change

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
)

// Write sends a change of a load balancer or of a part of it, and waits until the load
// balancer is ACTIVE again.
//
//	Octavia                             then
//	accepts it                          wait; the errors are those of [pending.Waiter.Active]
//	refuses it, the load balancer is    wait, and send it again
//	being changed (409)
//	refuses it for another reason       that error; 409 can be about a pool in ERROR
//	may have applied it                 that error: it must be read what there is
//
// If the load balancer cannot be changed, each further Write of the plan returns that error
// at once: steps that do not depend on each other would wait one after the other.
func (e *Env) Write(ctx context.Context, loadBalancer string, send func(context.Context) error) error {
	if err := e.send(ctx, loadBalancer, send); err != nil {
		return err
	}

	return e.settle(ctx, loadBalancer)
}

// Create sends the request that creates a load balancer, which it stores, and waits until it is ACTIVE.
func (e *Env) Create(ctx context.Context, send func(context.Context) (*client.LoadBalancerInfo, error)) error {
	made, err := send(ctx)
	if err != nil {
		return err
	}
	e.Created = made
	e.wrote(made.ID)
	shown, err := e.Waiter.Created(ctx, made.ID)
	if shown != nil {
		e.Created = shown
	}

	return e.settled(made.ID, err)
}

// Delete sends the request that deletes a load balancer, and waits until it is gone. One that
// is gone already is no error. If others are changing it, the error is a [pending.ErrPending]:
// it may be one then that must not be deleted, as one that another Service uses.
func (e *Env) Delete(ctx context.Context, loadBalancer string, send func(context.Context) error) error {
	err := e.blockedBy(loadBalancer)
	if errors.Is(err, pending.ErrGone) {
		return nil
	}
	if err != nil && !errors.Is(err, pending.ErrFailed) { // a deletion is what is left
		return err
	}
	e.wrote(loadBalancer)
	if err = send(ctx); isPending(err) || isPartPending(err) {
		return e.block(loadBalancer, fmt.Errorf("%w: %w", pending.ErrPending, err))
	}
	if err == nil {
		err = e.Waiter.Gone(ctx, loadBalancer)
		e.wrote(loadBalancer)
	}

	return err
}

// maxRepeated is for how long a change is sent again that Octavia refuses since others change the load
// balancer.
const maxRepeated = 20 * time.Second

// send sends a change once the load balancer can be changed. It gives up after a
// while: others may change the load balancer again and again.
func (e *Env) send(ctx context.Context, loadBalancer string, send func(context.Context) error) error {
	if err := e.blockedBy(loadBalancer); err != nil {
		return err
	}
	partly := false
	for began := time.Now(); ; {
		e.wrote(loadBalancer)
		err := send(ctx)
		if err == nil || !isPending(err) && (partly || !isPartPending(err)) {
			return err
		}
		partly = partly || isPartPending(err)
		if time.Since(began) >= maxRepeated {
			return e.block(loadBalancer, fmt.Errorf("%w: %w", pending.ErrPending, err))
		}
		if err := e.settle(ctx, loadBalancer); err != nil {
			return err
		}
	}
}

// isPending reports whether Octavia has refused a change because the load balancer is not
// ACTIVE. Nothing was applied then.
func isPending(err error) bool {
	conflict, ok := client.ConflictOf(err)

	return ok && conflict.Kind == client.KindLoadBalancer && conflict.Reason == client.ReasonImmutable
}

// isPartPending reports whether Octavia has refused a change because a part of the load
// balancer is not ACTIVE. It looks at some parts first, also while the load balancer is
// pending (octavia: api/v2/controllers/health_monitor.py).
func isPartPending(err error) bool {
	conflict, ok := client.ConflictOf(err)

	return ok && conflict.Kind != client.KindLoadBalancer && conflict.Reason == client.ReasonImmutable
}

// settle waits until a load balancer is ACTIVE.
func (e *Env) settle(ctx context.Context, loadBalancer string) error {
	return e.settled(loadBalancer, e.Waiter.Active(ctx, loadBalancer))
}

// settled takes the result of a wait into account.
func (e *Env) settled(loadBalancer string, err error) error {
	defer e.wrote(loadBalancer)
	if errors.Is(err, pending.ErrPending) || errors.Is(err, pending.ErrFailed) || errors.Is(err, pending.ErrGone) {
		return e.block(loadBalancer, err)
	}

	return err
}

// block stores why a load balancer cannot be changed, and returns it.
func (e *Env) block(loadBalancer string, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.blocked == nil {
		e.blocked = map[string]error{}
	}
	e.blocked[loadBalancer] = err

	return err
}

// blockedBy returns why a load balancer cannot be changed, nil if it can be.
func (e *Env) blockedBy(loadBalancer string) error {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.blocked[loadBalancer]
}

func (e *Env) wrote(loadBalancer string) {
	if e.Wrote != nil {
		e.Wrote(loadBalancer)
	}
}
