package network

import (
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Routed returns the target groups that the listeners of a load balancer forward
// to after the plan of Diff was applied, without their targets. It returns nil if
// one of them is not known.
func Routed(m *Model, o *Observed, ids *plan.IDs) []GroupState {
	var groups []GroupState
	for _, listener := range m.Listeners {
		group := routed(listener, o, ids)
		if group.ARN == "" {
			return nil
		}
		groups = append(groups, group)
	}
	return groups
}

// routed looks for the target group of a listener: one that was created, or the
// one that the listener had, or one with its name.
func routed(listener Listener, o *Observed, ids *plan.IDs) GroupState {
	want := listener.TargetGroup
	for _, name := range []string{want.Name, want.Spare} {
		if arn, err := ids.Get(targetGroupKey(name)); err == nil {
			return GroupState{Name: name, ARN: arn, Port: want.Port}
		}
	}
	current := ""
	if o.LoadBalancer != nil {
		for _, seen := range o.LoadBalancer.Listeners {
			if seen.Port == listener.Port && seen.Protocol == listener.Protocol {
				current = seen.TargetGroup
			}
		}
	}
	i := slices.IndexFunc(o.TargetGroups, func(seen GroupState) bool {
		return seen.Port == want.Port && (seen.ARN == current || current == "" && seen.Name == want.Name)
	})
	if i < 0 {
		return GroupState{}
	}
	return GroupState{Name: o.TargetGroups[i].Name, ARN: o.TargetGroups[i].ARN, Port: want.Port}
}

// DiffTargets plans nothing but the targets of a target group of a load balancer.
func DiffTargets(balancer string, list request.Instances, group GroupState) change.Plan {
	var steps change.Plan
	wanted, kept := targetsOn(group.Port, list.Registered), targetsOn(group.Port, list.Kept)
	if missing := without(wanted, group.Targets); len(missing) > 0 {
		steps = append(steps, registerTargets(balancer, named{group.Name, plan.Ref{ID: group.ARN}}, missing, false).Isolate())
	}
	if gone := without(without(group.Targets, wanted), kept); len(gone) > 0 {
		steps = append(steps, deregisterTargets(group.Name, group.ARN, gone).Dispensable())
	}
	return steps
}
