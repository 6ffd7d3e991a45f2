package aws

import (
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// refusalAge is how long instances that AWS did not accept are skipped when
// nodes join and leave. Afterwards, and in every full sync, they are retried.
const refusalAge = 5 * time.Minute

// refused are the instances that AWS did not accept for a load balancer. It is
// not changed once it is stored. The zero value is empty.
type refused struct {
	list  []change.Refusal
	since time.Time
}

// recent returns the instances that must not be retried yet.
func (r refused) recent() refused {
	if time.Since(r.since) >= refusalAge {
		return refused{}
	}

	return r
}

// add returns the instances with additional ones.
func (r refused) add(list []change.Refusal) refused {
	if len(r.list) == 0 {
		r.since = time.Now()
	}

	return refused{list: slices.Concat(r.list, list), since: r.since}
}

// among returns the refused ones of some instances, which are sorted.
func (r refused) among(ids []string) refused {
	var list []change.Refusal
	for _, one := range r.list {
		one.IDs = slices.DeleteFunc(slices.Clone(one.IDs), func(id string) bool { return !has(ids, id) })
		if len(one.IDs) > 0 {
			list = append(list, one)
		}
	}

	return refused{list: list, since: r.since}
}

// has reports whether an ID is in a sorted list.
func has(ids []string, id string) bool {
	_, found := slices.BinarySearch(ids, id)

	return found
}

// withoutQuota returns the instances that AWS rejects for another reason than a
// quota.
func (r refused) withoutQuota() refused {
	list := slices.DeleteFunc(slices.Clone(r.list), func(one change.Refusal) bool { return one.Quota })

	return refused{list: list, since: r.since}
}

// leaveOut marks the instances that a target group cannot have as not to be
// registered; they stay if they are registered.
func (r refused) leaveOut(next request.Instances, group string) request.Instances {
	var ids []string
	for _, one := range r.list {
		if one.TargetGroup == group {
			ids = append(ids, one.IDs...)
		}
	}

	return next.Keep(ids)
}

// warnings returns the warnings for the user.
func (r refused) warnings() []service.Warning {
	return lists.Map(r.list, change.Refusal.Warning)
}
