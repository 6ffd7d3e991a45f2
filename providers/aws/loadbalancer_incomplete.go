package aws

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// The service controller tries again after as much time as the same was missing,
// within these bounds: what heals by itself is soon complete, and what a user has to
// change costs little.
const (
	retrySoon = 30 * time.Second
	retryLate = 5 * time.Minute
)

// gap is something that a load balancer lacks although no call failed, or that it
// has and its Service does not need any more. No event tells when that can change.
type gap struct {
	// key stays the same as long as the gap is the same.
	key, text string
}

// incompleteError is that a load balancer serves and has gaps. The service controller
// tries again after the time of the RetryError that it wraps.
type incompleteError struct {
	retry *api.RetryError
	cause error
}

// Error implements error.
func (e *incompleteError) Error() string { return e.retry.Error() }

// Unwrap returns the RetryError, and the cause if there is one.
func (e *incompleteError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.retry}
	}
	return []error{e.retry, e.cause}
}

// awaited returns the gaps of the instances that EC2 does not return or has not
// started yet.
func awaited(f request.Facts) []gap {
	ids := slices.Clone(f.Unknown)
	for id, instance := range f.Targets {
		if instance.State == types.InstanceStateNamePending {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ids = plan.Sorted(ids)
	return []gap{{
		key:  "instances " + strings.Join(ids, " "),
		text: "instances that EC2 does not return or that are starting: " + plan.FewCommas(ids),
	}}
}

// exceeding returns the gaps that quotas leave. Instances that AWS refuses for
// another reason are none: only another instance can take their place.
func exceeding(shortages []change.Shortage, refusals []change.Refusal) []gap {
	var gaps []gap
	for _, shortage := range shortages {
		gaps = append(gaps, gap{shortage.Subject, shortage.Message})
	}
	for _, refusal := range refusals {
		if refusal.Quota {
			gaps = append(gaps, gap{"targets of " + refusal.TargetGroup, refusal.Warning().Message})
		}
	}
	return gaps
}

// gaps returns what a run has left. Failure is the error of its plan.
func (d *desired) gaps(o *observed, env *change.Env, withheld bool, failure error) []gap {
	gaps := slices.Concat(awaited(o.Facts), exceeding(env.Shortages(), env.Refusals()))
	if ids := o.Selection.Nodes.Without; len(ids) > 0 {
		gaps = append(gaps, gap{"groups of " + strings.Join(ids, " "), "instances without a security group: " + plan.FewCommas(ids)})
	}
	if withheld {
		gaps = append(gaps, gap{"removals", "rules and security groups that the Service no longer needs stay until the security groups of all nodes are known"})
	}
	if d.Incomplete != nil {
		gaps = append(gaps, gap{"ambiguous groups", d.Incomplete.Error()})
	}
	if failure != nil {
		gaps = append(gaps, gap{"quota", failure.Error()})
	}
	return gaps
}

// incomplete returns the error about the gaps of a load balancer, nil without any.
// The service controller calls EnsureLoadBalancer at once after an error of
// UpdateLoadBalancer: that is left out if it is going to call it anyway.
func (l *loadBalancer) incomplete(t task, gaps []gap, cause error) error {
	name := t.request.Name
	if len(gaps) == 0 {
		if t.create {
			l.retries.forget(name)
		}
		return nil
	}
	var keys, texts []string
	for _, one := range gaps {
		keys, texts = append(keys, one.key), append(texts, one.text)
	}
	after := retrySoon
	switch {
	case t.create:
		after = l.retries.schedule(name, keys)
	case cause == nil && l.retries.covers(name, keys):
		return nil
	}
	text := "load balancer " + name + " is not complete and is synced again later: " + strings.Join(texts, "; ")
	return &incompleteError{retry: api.NewRetryError(text, after), cause: cause}
}

// leavesGaps reports whether an error is only about quotas, or nil.
func leavesGaps(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !leavesGaps(err) })
	}
	return err == nil || errors.Is(err, change.ErrNoRoom) || change.IsQuota(err)
}

// retries are the load balancers for which the service controller tries again, by
// name. The zero value is empty.
type retries struct {
	mu  sync.Mutex
	all map[string]retry
}

// retry is which gaps a load balancer has had since when.
type retry struct {
	keys  []string
	since time.Time
}

// schedule stores the gaps of a load balancer, and returns when to try again.
func (r *retries) schedule(name string, keys []string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.all[name]
	if !ok || !slices.Equal(known.keys, keys) {
		known = retry{keys, time.Now()}
	}
	if r.all == nil {
		r.all = map[string]retry{}
	}
	r.all[name] = known
	return min(max(time.Since(known.since), retrySoon), retryLate)
}

// covers reports whether it is tried again for the sake of all these gaps.
func (r *retries) covers(name string, keys []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.all[name]
	return ok && !slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(known.keys, key) })
}

// forget drops a load balancer that is complete or deleted.
func (r *retries) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, name)
}
