package network

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// TargetGroupRef is the target group that a listener forwards to after a plan
// was applied.
type TargetGroupRef struct {
	Name string
	// Port is the node port.
	Port int32
	Ref  plan.Ref
}

// Resolve returns the target groups behind references, without their targets. It
// returns nil if one of them is not known.
func Resolve(refs []TargetGroupRef, ids *plan.IDs) []GroupState {
	groups := make([]GroupState, 0, len(refs))
	for _, ref := range refs {
		arn, err := ids.Resolve(ref.Ref)
		if err != nil {
			return nil
		}
		groups = append(groups, GroupState{Name: ref.Name, ARN: arn, Port: ref.Port})
	}

	return groups
}

// DiffTargets plans only the targets of a target group of a load balancer.
func DiffTargets(balancer string, list request.Instances, group GroupState) change.Plan {
	var steps change.Plan
	target := named{group.Name, plan.Ref{ID: group.ARN}}
	wanted, kept := targetsOn(group.Port, list.Registered), targetsOn(group.Port, list.Kept)
	missing := lists.Without(wanted, group.Targets)
	if len(missing) > 0 {
		steps = append(steps, registerTargets(balancer, target, missing, len(group.Targets), false).Isolate())
	}
	if gone := lists.Without(lists.Without(group.Targets, wanted), kept); len(gone) > 0 {
		leaving := deregistration{balancer: balancer, group: target, targets: gone, port: group.Port, empty: len(missing) == len(wanted)}
		steps = append(steps, leaving.step().Dispensable())
	}

	return steps
}
