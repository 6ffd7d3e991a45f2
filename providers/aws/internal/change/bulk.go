package change

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Bulk is a call about several instances, which AWS carries out for all of them
// or for none.
type Bulk[T any] struct {
	// Call makes the call for some of the items.
	Call func(ctx context.Context, items []T) error
	// ID returns the ID of the instance of an item.
	ID func(item T) string
	// Refused are the error codes that concern single items, Quota those that
	// concern the number of items, in addition to codes whose names show it.
	Refused, Quota []string
	// Page is the maximum number of items in one call, zero for no limit.
	Page int
}

// Outcome is the result of a Bulk for its items.
type Outcome struct {
	// Accepted is the number of items that AWS accepted.
	Accepted int
	// Refused are the IDs of the instances that AWS rejects, by reason.
	Refused map[string][]string
	// Excess are the IDs of the instances that exceed a quota, QuotaReason is
	// AWS's message about it.
	Excess      []string
	QuotaReason string
	// Cause is the last error about items that were refused or exceed a quota.
	Cause error
}

// Do makes the call for all items that AWS accepts. It returns errors that
// concern neither items nor quotas.
//
//	AWS rejects        then
//	named instances    the call is repeated without them
//	others             the call is made for each half of the items
//	for a quota        half of the items are tried, then half of what may fit
func (b Bulk[T]) Do(ctx context.Context, items []T) (Outcome, error) {
	if len(items) == 0 {
		return Outcome{}, nil
	}
	run := &bulkRun[T]{Bulk: b, out: Outcome{Refused: map[string][]string{}}}
	for page := range slices.Chunk(items, cmp.Or(b.Page, len(items))) {
		if err := run.send(ctx, page); err != nil {
			return run.out, err
		}
	}

	return run.out, nil
}

// bulkRun is one run of a Bulk.
type bulkRun[T any] struct {
	Bulk[T]
	out Outcome
	// full is set when not even one item of a page fits into a quota.
	full bool
}

func (r *bulkRun[T]) send(ctx context.Context, items []T) error {
	for len(items) > 0 {
		if r.full {
			r.exceed(items)

			return nil
		}
		err := r.Call(ctx, items)
		switch {
		case err == nil:
			r.out.Accepted += len(items)

			return nil
		case r.isQuota(err):
			return r.fill(ctx, items, err)
		case !r.isRefusal(err):
			return err
		}
		rest := r.refuse(items, err)
		if len(rest) == len(items) {
			half := len(items) / 2
			if err := r.send(ctx, items[:half]); err != nil {
				return err
			}
			rest = items[half:]
		}
		items = rest
	}

	return nil
}

// fill makes the call for as many items as a quota permits: fewer than bound.
// The number of calls is logarithmic.
func (r *bulkRun[T]) fill(ctx context.Context, items []T, cause error) error {
	r.out.Cause, r.out.QuotaReason = cause, message(cause)
	before := r.out.Accepted
	for bound := len(items); bound > 1 && len(items) > 0; {
		n := min(bound/2, len(items))
		err := r.Call(ctx, items[:n])
		switch {
		case err == nil:
			r.out.Accepted += n
			items, bound = items[n:], bound-n
		case r.isRefusal(err):
			rest := r.refuse(items[:n], err)
			if len(rest) == n {
				bound = n
			}
			items = slices.Concat(rest, items[n:])
		case r.isQuota(err):
			bound = n
		default:
			return err
		}
	}
	r.exceed(items)
	r.full = r.out.Accepted == before

	return nil
}

// exceed drops items because of a quota.
func (r *bulkRun[T]) exceed(items []T) {
	r.out.Excess = append(r.out.Excess, lists.Map(items, r.ID)...)
}

// refuse drops the items that an error names, or the only one there is, and
// returns the others.
func (r *bulkRun[T]) refuse(items []T, err error) []T {
	r.out.Cause = err
	named := instanceIDs.FindAllString(rawMessage(err), -1)
	reason := message(err)

	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		refused := len(items) == 1 || slices.Contains(named, r.ID(item))
		if refused {
			r.out.Refused[reason] = append(r.out.Refused[reason], r.ID(item))
		}

		return refused
	})
}

func (r *bulkRun[T]) isRefusal(err error) bool { return slices.Contains(r.Refused, client.Code(err)) }

// isQuota reports whether an error means that there are too many items.
func (r *bulkRun[T]) isQuota(err error) bool {
	return !r.isRefusal(err) && (slices.Contains(r.Quota, client.Code(err)) || IsQuota(err))
}

// IsQuota reports whether an error is about a quota for resources, not for
// calls.
func IsQuota(err error) bool {
	code := client.Code(err)

	return !errors.Is(err, apierr.ErrThrottled) && (strings.HasPrefix(code, "TooMany") || strings.HasSuffix(code, "LimitExceeded"))
}

// instanceIDs matches the ID of an instance in a text, idList a list of IDs.
var (
	instanceIDs = regexp.MustCompile(`\bi-[0-9a-f]+\b`)
	idList      = regexp.MustCompile(`['"]?\bi-[0-9a-f]+\b['"]?(,? *['"]?\bi-[0-9a-f]+\b['"]?)*`)
)

// message returns AWS's message without the instances, which differ from run to
// run.
func message(err error) string {
	return strings.TrimSuffix(strings.TrimSpace(idList.ReplaceAllString(rawMessage(err), "…")), ".")
}

func rawMessage(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorMessage()
	}

	return err.Error()
}

// Refusals returns the instances that were dropped. The name of a target group
// is empty for a classic load balancer.
func (o Outcome) Refusals(balancer, group string) []Refusal {
	var list []Refusal
	for _, reason := range slices.Sorted(maps.Keys(o.Refused)) {
		list = append(list, Refusal{LoadBalancer: balancer, TargetGroup: group, IDs: o.Refused[reason], Reason: reason})
	}
	if len(o.Excess) > 0 {
		list = append(list, Refusal{LoadBalancer: balancer, TargetGroup: group, IDs: o.Excess, Quota: true, Reason: o.QuotaReason})
	}

	return list
}
