package pending

import (
	"errors"
	"fmt"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// look is what one read shows of a load balancer. The status is DELETED for one that does
// not exist, and has no meaning with an error.
type look struct {
	status client.ProvisioningStatus
	err    error
}

// wait is one wait for a load balancer. All but done is guarded by the lock of its Waiter.
type wait struct {
	id string
	// judge reports whether a look ends the wait, and with which error.
	judge func(*wait, look) (over bool, err error)
	begun time.Time
	// kind is what it is for. Nothing is to be done after a deletion.
	kind kind
	// looked means that there was a look.
	looked bool
	// changing means that a look has shown the change under way.
	changing bool
	// before is the status that the look before has shown, empty if it failed.
	before client.ProvisioningStatus
	// latest is the error of the wait if no further look ends it.
	latest error
	// done has room for the result, so that it is sent even if the caller has left.
	done chan error
}

// see takes a look into account, and reports whether it ends the wait. The result is sent.
func (t *wait) see(l look) (over bool) {
	t.looked = true
	over, err := t.judge(t, l)
	if over {
		t.done <- err

		return true
	}
	t.before, t.latest = l.status, ErrPending
	if l.err != nil {
		t.before, t.latest = "", fmt.Errorf("%w, as far as is known: %w", ErrPending, l.err)
	}
	t.changing = t.changing || l.err == nil && l.status.IsPending()

	return false
}

// patience is how long a wait may last if there are n of them. A worker that waits for a
// change has more to do at its end, which would be found out anew later: it waits for a
// fifth of the limit at least. Nothing follows a deletion.
func (t *wait) patience(limit time.Duration, n time.Duration) time.Duration {
	if t.kind == forDeletion {
		return limit / (n * n)
	}

	return max(limit/n, limit/leastShare)
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
