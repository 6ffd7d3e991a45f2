package network

import (
	"context"
	"fmt"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// targetPage is the maximum number of targets in one call.
const targetPage = 100

// targetRefusals are the error codes about single targets, see
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_RegisterTargets.html
var targetRefusals = []string{"InvalidTarget", "TooManyRegistrationsForTargetId"}

// deregistration is targets that leave a target group of a load balancer.
type deregistration struct {
	balancer string
	group    named
	targets  []Target
	// port is the node port. Empty means that none of the wanted targets on it was
	// registered before.
	port  int32
	empty bool
}

// step deregisters the targets. One that AWS does not find counts as deregistered.
// Targets that exceeded the quota take their places.
func (d deregistration) step() change.Step {
	text := fmt.Sprintf("deregister from %s %s", d.group.name, plan.FewWords(d.targets))

	return plan.NewStep("DeregisterTargets", text, func(ctx context.Context, env *change.Env) error {
		arn := d.group.ref.ID
		remove := bulk(func(ctx context.Context, targets []Target) error {
			_, err := env.ELBV2.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{TargetGroupArn: &arn, Targets: toTargets(targets)})

			return err
		})
		add := func(targets []Target) error {
			_, err := register(ctx, env, d.balancer, d.group.name, arn, targets, 0) // there is room for some

			return err
		}

		return change.Replace(ctx, env, change.Replacement[Target]{
			TargetGroup: d.group.name, Items: d.targets, Empty: d.empty, Remove: remove, Add: add,
			Named: func(ids []string) []Target { return targetsOn(d.port, ids) },
		})
	}).Removal()
}

// registerTargets adds targets to a target group of a load balancer. It warns
// of targets that AWS does not accept; if some must be accepted, it is an error
// that none is. It stores the ARN of the target group once more afterwards, for
// steps that must wait for it. Have is the number of targets of the group: if a quota was reached with so many
// before, a single one is tried first.
func registerTargets(balancer string, group named, targets []Target, have int, some bool) change.Step {
	text := fmt.Sprintf("register at %s %s", group.name, plan.FewWords(targets))

	return plan.NewStep("RegisterTargets", text, func(ctx context.Context, env *change.Env) error {
		arn, err := env.IDs.Resolve(group.ref)
		if err != nil {
			return err
		}
		outcome, err := register(ctx, env, balancer, group.name, arn, targets, have)
		if err != nil {
			return err
		}
		if some && outcome.Accepted == 0 {
			return outcome.Cause
		}
		env.IDs.Set(targetsKey(group.name), arn)

		return nil
	})
}

// register adds the targets that AWS accepts to a target group, and stores the others.
func register(ctx context.Context, env *change.Env, balancer, group, arn string, targets []Target, have int) (change.Outcome, error) {
	quota := "targets of " + arn
	registration := bulk(func(ctx context.Context, targets []Target) error {
		_, err := env.ELBV2.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{
			TargetGroupArn: &arn, Targets: toTargets(targets),
		})

		return err
	})
	registration.Full = env.Limits.Reached(quota, have)
	outcome, err := registration.Do(ctx, targets)
	if err == nil && len(outcome.Excess) > 0 {
		env.Limits.Reach(quota, have+outcome.Accepted)
	}
	env.Refuse(outcome.Refusals(balancer, group)...)

	return outcome, err
}

// bulk makes a call page by page, without the targets that AWS rejects.
func bulk(call func(ctx context.Context, targets []Target) error) change.Bulk[Target] {
	return change.Bulk[Target]{
		Call: call, ID: func(target Target) string { return target.ID }, Refused: targetRefusals, Page: targetPage,
	}
}

func toTargets(targets []Target) []elbv2types.TargetDescription {
	return lists.Map(targets, func(target Target) elbv2types.TargetDescription {
		return elbv2types.TargetDescription{Id: &target.ID, Port: &target.Port}
	})
}
