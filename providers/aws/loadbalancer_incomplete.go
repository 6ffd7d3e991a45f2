package aws

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// awaited returns the gaps of the instances that EC2 does not return or has not
// started yet. One that it does not return for long may never come, and is none
// unless something is withheld because of it.
func awaited(f request.Facts, withheld bool) []service.Gap {
	ids := slices.Clone(f.Unknown)
	if !withheld {
		ids = lists.Without(ids, f.LongUnknown)
	}
	for id, instance := range f.Targets {
		if instance.State == types.InstanceStateNamePending {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ids = plan.Sorted(ids)

	return []service.Gap{{
		Key:  "instances " + strings.Join(ids, " "),
		Text: "instances that EC2 does not return or that are starting: " + plan.FewCommas(ids),
	}}
}

// exceeding returns the gaps that quotas leave. Instances that AWS refuses for
// another reason are none: only another instance can take their place.
func exceeding(shortages []change.Shortage, refusals []change.Refusal) []service.Gap {
	gaps := lists.Map(shortages, func(s change.Shortage) service.Gap { return service.Gap{Key: s.Subject, Text: s.Message} })
	for _, refusal := range refusals {
		if refusal.Quota {
			gaps = append(gaps, service.Gap{Key: "targets of " + refusal.TargetGroup, Text: refusal.Warning().Message})
		}
	}

	return gaps
}

// gaps returns what a run has left. Failure is the error of its plan.
func (d *desired) gaps(o *observed, env *change.Env, withheld bool, failure error) []service.Gap {
	gaps := slices.Concat(awaited(o.Facts, withheld), exceeding(env.Shortages(), env.Refusals()))
	if ids := o.Selection.Nodes.Without; len(ids) > 0 {
		gaps = append(gaps, service.Gap{Key: "groups of " + strings.Join(ids, " "), Text: "instances without a security group: " + plan.FewCommas(ids)})
	}
	if withheld {
		gaps = append(gaps, service.Gap{Key: "removals", Text: "rules and security groups that the Service no longer needs stay until the security groups of all nodes are known"})
	}
	if d.Incomplete != nil {
		gaps = append(gaps, service.Gap{Key: "ambiguous groups", Text: d.Incomplete.Error()})
	}
	if failure != nil {
		gaps = append(gaps, service.Gap{Key: "quota", Text: failure.Error()})
	}

	return gaps
}

// leavesGaps reports whether an error is only about quotas, or nil.
func leavesGaps(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !leavesGaps(err) })
	}

	return err == nil || errors.Is(err, change.ErrNoRoom) || change.IsQuota(err)
}
