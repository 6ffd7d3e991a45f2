package tagging

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// suspicious is how many instances EC2 refuses in a row until the tags, or a
	// permission to write them, are the likely cause.
	suspicious = 3
	// firstProbe is the first delay for all instances until one is tried; it
	// doubles up to longestProbe.
	firstProbe   = time.Second
	longestProbe = time.Minute
)

// refusals distinguishes a refusal of the tags from a refusal of an instance,
// for which EC2 has the same error codes:
//
//	EC2 refuses                       the cause is       then
//	one or two instances in a row     the instance       it is tried again by itself
//	three instances in a row          likely the tags    all wait, one at a time is tried
//
// An instance that was not refused before is tried first, so one that can be tagged
// does not wait for those that cannot. The first success ends the wait of all. It is
// safe for concurrent use.
type refusals struct {
	// after queues an item again after a delay.
	after func(item, time.Duration)

	mu sync.Mutex
	// code is the error code of the refusals in a row, inRow their instances.
	code  string
	inRow sets.Set[string]
	// before contains the items that EC2 has refused and not accepted since.
	before sets.Set[item]

	// backoff is zero unless all items wait. waiting contains the items that
	// wait, and probe the one that is tried when it is due.
	backoff time.Duration
	waiting sets.Set[item]
	probe   item
	due     time.Time
}

func newRefusals(after func(item, time.Duration)) *refusals {
	return &refusals{after: after, inRow: sets.New[string](), before: sets.New[item](), waiting: sets.New[item]()}
}

// isRefusal reports whether an error may be due to the tags: EC2 refuses an
// existing instance without naming it.
func isRefusal(instance string, err error) bool {
	return err != nil && !apierr.Has[*undecidedError](err) && !apierr.Has[*refusedError](err) &&
		perInstance(err) && !inventory.Named(err).Has(instance)
}

// holds reports whether an item must wait. It is queued again then.
func (r *refusals) holds(work item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.backoff == 0 {
		return false
	}
	if work == r.probe {
		if left := time.Until(r.due); left > 0 {
			r.after(work, left) // it was queued for another reason

			return true
		}
		r.waiting.Delete(work)
		r.backoff = min(2*r.backoff, longestProbe)
		r.schedule()

		return false
	}
	r.waiting.Insert(work)
	switch {
	case r.probe == (item{}):
		r.schedule()
	case r.before.Has(r.probe) && !r.before.Has(work):
		r.probe = work
		r.after(work, time.Until(r.due))
	}

	return true
}

// refused records a refusal. It reports whether the item must wait like all
// others, and whether the wait begins now.
func (r *refusals) refused(work item, instance string, err error) (waits, begins bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before.Insert(work)
	if r.backoff == 0 {
		if code := client.Code(err); code != r.code {
			r.code = code
			r.inRow.Clear()
		}
		if r.inRow.Insert(instance); r.inRow.Len() < suspicious {
			return false, false
		}
		r.backoff, begins = firstProbe, true
	}
	r.waiting.Insert(work)
	if r.probe == (item{}) {
		r.schedule()
	}

	return true, begins
}

// accepted records an item whose instance has the tags now, and returns the
// items that no longer need to wait.
func (r *refusals) accepted(work item) []item {
	r.mu.Lock()
	defer r.mu.Unlock()
	released := r.waiting.UnsortedList()
	r.waiting.Clear()
	r.inRow.Clear()
	r.before.Delete(work)
	r.backoff, r.probe = 0, item{}

	return released
}

// forget drops an item that is no longer needed.
func (r *refusals) forget(work item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting.Delete(work)
	r.before.Delete(work)
	if r.backoff > 0 && work == r.probe {
		r.schedule()
	}
}

// schedule chooses the next item to try, if there is any: one that was not
// refused before comes first.
func (r *refusals) schedule() {
	r.probe = item{}
	for work := range r.waiting {
		if r.probe = work; !r.before.Has(work) {
			break
		}
	}
	if r.probe != (item{}) {
		r.due = time.Now().Add(r.backoff)
		r.after(r.probe, r.backoff)
	}
}
