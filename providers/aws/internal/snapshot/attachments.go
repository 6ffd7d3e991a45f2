package snapshot

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// propagation is how long lists may lag behind writes: they show a load
// balancer that was deleted, or do not show a target group that was created.
const propagation = time.Minute

// attachments records which load balancers use which target groups, from own
// writes and reads.
type attachments struct {
	mu sync.Mutex
	// made has the time at which a listener was created that forwards to a
	// target group, by ARN, until a list shows the group. Ended has the time at
	// which a load balancer was deleted, by ARN, until no list shows it any
	// more.
	made  map[attachment]time.Time
	ended map[string]time.Time
	// users are the names of the load balancers that were last known to use a
	// target group, by its ARN, until it is deleted.
	users map[string]string
}

// attachment is the use of a target group by a load balancer.
type attachment struct{ balancer, group string }

// attach records the target groups that a listener of a load balancer forwards
// to.
func (a *attachments) attach(balancer string, actions []types.Action) {
	for _, action := range actions {
		a.use(balancer, aws.ToString(action.TargetGroupArn))
		if action.ForwardConfig == nil {
			continue
		}
		for _, group := range action.ForwardConfig.TargetGroups {
			a.use(balancer, aws.ToString(group.TargetGroupArn))
		}
	}
}

func (a *attachments) use(balancer, group string) {
	if group == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made[attachment{balancer, group}] = time.Now()
	a.record(balancer, group)
}

// seen records the target groups of a load balancer that was read.
func (a *attachments) seen(balancer string, groups []types.TargetGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, group := range groups {
		a.record(balancer, aws.ToString(group.TargetGroupArn))
	}
}

// record stores the user of a target group. The caller holds mu.
func (a *attachments) record(balancer, group string) {
	a.users[group] = NameOf(balancer)
}

// end records that a load balancer was deleted.
func (a *attachments) end(balancer string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended[balancer] = time.Now()
	maps.DeleteFunc(a.made, func(one attachment, _ time.Time) bool { return one.balancer == balancer })
}

// forget drops the state of a target group that was deleted.
func (a *attachments) forget(group string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.users, group)
	maps.DeleteFunc(a.made, func(one attachment, _ time.Time) bool { return one.group == group })
}

// expire drops the entries that a list from start on includes, and target
// groups that are not in it and were not created a moment ago.
func (a *attachments) expire(start time.Time, list groupList) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.made, func(one attachment, at time.Time) bool { return list.supersedes(one.group, at, start) })
	maps.DeleteFunc(a.ended, func(_ string, at time.Time) bool { return start.Sub(at) >= propagation })
	recent := map[string]bool{}
	for one := range a.made {
		recent[one.group] = true
	}
	maps.DeleteFunc(a.users, func(group, _ string) bool {
		_, listed := list[group]

		return !listed && !recent[group]
	})
}

// update returns target groups with the load balancers that use them now.
func (a *attachments) update(groups []types.TargetGroup) []types.TargetGroup {
	a.mu.Lock()
	defer a.mu.Unlock()
	made := map[string][]string{}
	for one := range a.made {
		made[one.group] = append(made[one.group], one.balancer)
	}
	for i := range groups {
		arn := aws.ToString(groups[i].TargetGroupArn)
		users := slices.Concat(groups[i].LoadBalancerArns, made[arn])
		slices.Sort(users)
		groups[i].LoadBalancerArns = slices.DeleteFunc(slices.Compact(users), func(balancer string) bool {
			_, ended := a.ended[balancer]

			return ended
		})
	}

	return groups
}

// LastUser returns the name of the load balancer that last used a target group,
// empty if this process has not recorded any. It may be deleted.
func (s *Snapshot) LastUser(group string) string {
	s.attachments.mu.Lock()
	defer s.attachments.mu.Unlock()

	return s.attachments.users[group]
}
