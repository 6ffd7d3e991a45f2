package aws

import (
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// refusalAge is how long instances that AWS did not accept are left out when nodes
// come and go. Afterwards, and by whatever looks at everything, they are tried
// again.
const refusalAge = 5 * time.Minute

// refused are the instances that AWS did not accept for a load balancer. It is not
// changed once it is kept. The zero value is empty.
type refused struct {
	list  []change.Refusal
	since time.Time
}

// recent returns the instances that are not to be tried again yet.
func (r refused) recent() refused {
	if time.Since(r.since) >= refusalAge {
		return refused{}
	}
	return r
}

// add returns the instances with more of them.
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

// withoutQuota returns the instances that AWS refuses themselves.
func (r refused) withoutQuota() refused {
	list := slices.DeleteFunc(slices.Clone(r.list), func(one change.Refusal) bool { return one.Quota })
	return refused{list: list, since: r.since}
}

// leaveOut returns instances of which those that a target group cannot have are
// not registered, but stay if they are.
func (r refused) leaveOut(next request.Instances, group string) request.Instances {
	var ids []string
	for _, one := range r.list {
		if one.TargetGroup == group {
			ids = append(ids, one.IDs...)
		}
	}
	return next.Keep(ids)
}

// warnings are those for the user.
func (r refused) warnings() []service.Warning {
	var list []service.Warning
	for _, one := range r.list {
		list = append(list, one.Warning())
	}
	return list
}
