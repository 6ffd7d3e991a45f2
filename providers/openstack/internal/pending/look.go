package pending

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// maxHang is the part of the limit that a read lasts at most.
const maxHang = 10

// look is what one read shows of a load balancer. The status is DELETED for one that does
// not exist, and has no meaning with an error.
type look struct {
	status client.ProvisioningStatus
	shown  *client.LoadBalancerInfo
	err    error
}

// look reads a load balancer. A read that hangs must not use up the time that is left of the wait.
func (w *Waiter) look(ctx context.Context, id string, left time.Duration) look {
	ctx, cancel := context.WithTimeout(ctx, min(left, w.options.Limit/maxHang))
	defer cancel()
	switch lb, err := w.api.GetLoadBalancer(ctx, id); {
	case errors.Is(err, apierr.ErrNotFound):
		return look{status: client.ProvisioningDeleted}
	case err != nil:
		return look{err: err}
	default:
		return look{status: lb.Provisioning, shown: lb}
	}
}

// wait is one wait, with what its looks have shown so far.
type wait struct {
	id string
	// short is its limit while there is no room for a longer wait.
	short time.Duration
	// ends reports whether a look ends the wait, and with which error.
	ends func(*wait, look) (bool, error)
	// changing means that a look has shown the change under way.
	changing bool
	// before is the status that the look before has shown, empty if it failed.
	before client.ProvisioningStatus
	// latest is the error of the wait if no further look ends it.
	latest error
	// shown is the load balancer as the last look has shown it.
	shown *client.LoadBalancerInfo
}

// see takes a look into account that has not ended the wait.
func (t *wait) see(l look) {
	t.before, t.latest = l.status, ErrPending
	if l.err != nil {
		t.before, t.latest = "", fmt.Errorf("%w, as far as is known: %w", ErrPending, l.err)
	}
	t.changing = t.changing || l.err == nil && l.status.IsPending()
}

// isCertain reports whether a look shows what ends the work on a load balancer, and an old
// state of the database cannot show it: the one before has shown it, too, or the change
// under way.
func (t *wait) isCertain(l look) bool { return t.changing || t.before == l.status }

// active ends the wait for a load balancer to be ACTIVE.
//
//	ACTIVE               end
//	ERROR                ErrFailed
//	DELETED, no such     ErrGone, if it is certain
//	any other            -
//	error for good       that error
//	any other error      -
func (t *wait) active(l look) (bool, error) {
	switch {
	case l.err != nil:
		return isFinal(l.err), l.err
	case l.status == client.ProvisioningActive:
		return true, nil
	case l.status == client.ProvisioningError:
		return true, ErrFailed
	case l.status.IsDeleted():
		return t.isCertain(l), ErrGone
	default:
		return false, nil
	}
}

// gone ends the wait for a load balancer to be deleted.
//
//	DELETED, no such     end
//	ERROR                ErrFailed, if it is certain: it may be what was deleted
//	any other            -
//	error for good       that error
//	any other error      -
func (t *wait) gone(l look) (bool, error) {
	switch {
	case l.err != nil:
		return isFinal(l.err), l.err
	case l.status.IsDeleted():
		return true, nil
	case l.status == client.ProvisioningError:
		return t.isCertain(l), ErrFailed
	default:
		return false, nil
	}
}

// isFinal reports whether a look failed in a way that the next one would, too.
func isFinal(err error) bool {
	return errors.Is(err, apierr.ErrDenied) || errors.Is(err, apierr.ErrInvalid) || errors.Is(err, client.ErrClosed)
}
