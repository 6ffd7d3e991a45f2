package change

import (
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
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
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
	// Full means that a quota was reached before.
	Full bool
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

// Do makes the call for all items that AWS accepts, see [plan.Bulk]. It returns errors that
// concern neither items nor quotas.
func (b Bulk[T]) Do(ctx context.Context, items []T) (Outcome, error) {
	done, err := plan.Bulk[T]{
		Send: b.Call, Page: b.Page, Full: b.Full, IsRefusal: b.isRefusal, IsQuota: b.isQuota,
		Names: func(err error, item T) bool {
			return b.isRefusal(err) && slices.Contains(instanceIDs.FindAllString(rawMessage(err), -1), b.ID(item))
		},
	}.Do(ctx, items)
	out := Outcome{
		Accepted: done.Accepted, Refused: map[string][]string{}, Excess: lists.Map(done.Excess, b.ID), Cause: done.Quota,
	}
	if done.Quota != nil {
		out.QuotaReason = message(done.Quota)
	}
	for _, refused := range done.Refused {
		reason := message(refused.Cause)
		out.Refused[reason], out.Cause = append(out.Refused[reason], b.ID(refused.Item)), refused.Cause
	}

	return out, err
}

func (b Bulk[T]) isRefusal(err error) bool { return slices.Contains(b.Refused, client.Code(err)) }

// isQuota reports whether an error means that there are too many items.
func (b Bulk[T]) isQuota(err error) bool {
	return !b.isRefusal(err) && (slices.Contains(b.Quota, client.Code(err)) || IsQuota(err))
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
