package aws

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// syncsNodes is the kind of the steps that write rules of nodes.
const syncsNodes = "SyncNodeSecurityGroups"

// syncNodes writes what a load balancer needs in the security groups of nodes.
type syncNodes func(ctx context.Context, env *change.Env, needs securitygroup.Needs) error

// diff returns the plan that turns the observed load balancer of a Service into
// the desired one, and the target groups that its listeners forward to afterwards.
// It is pure. In this order: what lets packets in, on both sides of a load balancer
// that exists, and from nowhere else; the load balancer; what lets packets in to a new
// one; and then what nothing needs any more.
func diff(in input, o *observed, d *desired, sync syncNodes) (change.Plan, []network.TargetGroupRef, error) {
	steps, going, err := securitygroup.Diff(d.Managed, in.config.VPC, in.config.Cluster)
	if err != nil {
		return nil, nil, err
	}
	balancer, targetGroups := diffBalancer(o, d)
	adding, removing := nodeSteps(in, o, d.Nodes, sync)
	if o.has(in.request.Kind) && d.Nodes.Known() {
		steps = slices.Concat(steps, makeRoom(adding, in, o, d, sync), balancer)
	} else {
		steps = slices.Concat(steps, balancer, adding)
	}
	steps = slices.Concat(steps, going, removing)
	if len(d.Detaching) > 0 && !d.Nodes.AddOnly {
		steps = append(steps, classic.DetachSecurityGroups(d.Classic, d.Detaching))
	}

	return append(steps, securitygroup.Delete(d.Surplus, in.deletedAt)...), targetGroups, nil
}

// diffBalancer returns the part of the plan that is about the load balancer itself.
func diffBalancer(o *observed, d *desired) (change.Plan, []network.TargetGroupRef) {
	if d.Network != nil {
		return network.Diff(d.Network, o.Network)
	}
	model := *d.Classic
	model.SecurityGroups = append(slices.Clip(model.SecurityGroups), d.Detaching...)

	return classic.Diff(&model, o.Classic), nil
}

// diffDeletion returns the plan that deletes all that was created for a Service.
// It is pure. The load balancer goes first, as it may be refused; target groups,
// whose ports the rules of the nodes are found by, go after these. What belongs to
// another cluster is left alone. Afterwards writes the rules of the nodes once the
// load balancer is deleted, sync before that.
func diffDeletion(in input, o *observed, d *desired, sync, afterwards syncNodes) change.Plan {
	adding, removing := nodeSteps(in, o, d.Before, sync)
	steps := slices.Concat(adding, removing)
	if o.hasClassic() {
		before := securitygroup.DiffNodes(d.Before, o.Groups, in.config.Cluster)
		steps = append(steps, restoring(classic.Diff(nil, o.Classic), before.Restore())...)
	}
	if o.hasNetwork() {
		balancer := *o.Network
		balancer.TargetGroups = nil
		steps = append(steps, network.DiffDeletion(&balancer)...)
	}
	adding, removing = nodeSteps(in, o, d.Nodes, afterwards)
	steps = slices.Concat(steps, adding, removing)
	if o.Network != nil {
		groups := *o.Network
		groups.LoadBalancer = nil
		groups.TargetGroups = lists.Filter(groups.TargetGroups, func(group network.GroupState) bool { return !group.Attached || o.hasNetwork() })
		steps = append(steps, network.DiffDeletion(&groups)...)
	}

	return append(steps, securitygroup.Delete(d.Surplus, in.deletedAt)...)
}

// restoring returns the steps so that a plan undoes what was done before them if AWS
// refuses one: the load balancer goes on serving. After any other error it may be
// gone.
func restoring(steps, undo change.Plan) change.Plan {
	if len(undo) == 0 {
		return steps
	}
	steps = slices.Clone(steps)
	for i, step := range steps {
		steps[i].Do = func(ctx context.Context, env *change.Env) error {
			err := step.Do(ctx, env)
			if apierr.IsRefusal(err) {
				err = errors.Join(err, undo.Apply(ctx, env, nil))
			}

			return err
		}
	}

	return steps
}

// nodeSteps returns the two steps that write the rules of the nodes, with all of
// their writes as they are expected now: one that adds, and one that removes or
// hands over, which is skipped like every removal if anything failed before. The
// load balancer does not depend on them. A step without writes is left out.
func nodeSteps(in input, o *observed, needs securitygroup.Needs, sync syncNodes) (adding, removing change.Plan) {
	if in.config.LeaveNodeSecurityGroups {
		return nil, nil
	}
	only := needs
	only.AddOnly = true
	additions := securitygroup.DiffNodes(only, o.Groups, in.config.Cluster).Plan(securitygroup.RuleUsers{})
	all := securitygroup.DiffNodes(needs, o.Groups, in.config.Cluster).Plan(securitygroup.RuleUsers{})
	removals := slices.DeleteFunc(slices.Clone(all), securitygroup.Adds)
	if len(additions) > 0 {
		adding = change.Plan{nodeStep("add rules to node security groups for "+in.request.Name, additions, only, sync).Dispensable()}
	}
	if len(removals) > 0 {
		removing = change.Plan{nodeStep("remove rules from node security groups for "+in.request.Name, removals, needs, sync).Removal()}
	}

	return adding, removing
}

// makeRoom returns the steps that add rules for a load balancer so that they make
// room for those that let its health checks in, if there is none: they remove what
// it needs neither before nor after health checks have moved.
func makeRoom(adding change.Plan, in input, o *observed, d *desired, sync syncNodes) change.Plan {
	needs := d.Nodes
	if !o.hasNetwork() || d.Network == nil || needs.AddOnly {
		return adding
	}
	serving := needs.Serving(o.Groups, o.Network.ServingPorts(d.Network.NodePorts()), in.request.SourceRanges)
	maps.Copy(serving, needs.Optional)
	needs.Optional = serving
	steps := slices.Clone(adding)
	for i, step := range steps {
		steps[i] = step.OrRemove(func(ctx context.Context, env *change.Env) error {
			err := step.Do(ctx, env)
			if err != nil || env.RoomForHealthChecks() == nil {
				return err
			}

			return plan.Partial(sync(ctx, env, needs))
		})
	}

	return steps
}

func nodeStep(text string, expected change.Plan, needs securitygroup.Needs, sync syncNodes) change.Step {
	for _, step := range expected {
		text += "\n  " + step.Text
	}

	return plan.NewStep(syncsNodes, text, func(ctx context.Context, env *change.Env) error {
		return sync(ctx, env, needs)
	})
}
