package classic

import (
	"context"
	"errors"
	"fmt"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// createPolicy creates a policy for the load balancer, which nothing uses yet.
// The name is derived from the content, so an existing policy with this name
// can be used.
func createPolicy(balancer string, p policy) change.Step {
	text := fmt.Sprintf("create policy %s of load balancer %s: %s=%s", p.name, balancer, p.attribute, p.value)

	return plan.NewStep("CreateLoadBalancerPolicy", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.CreateLoadBalancerPolicy(ctx, &elb.CreateLoadBalancerPolicyInput{
			LoadBalancerName: &balancer,
			PolicyName:       &p.name,
			PolicyTypeName:   &p.kind,
			PolicyAttributes: []types.PolicyAttribute{{AttributeName: &p.attribute, AttributeValue: &p.value}},
		})
		if _, exists := errors.AsType[*types.DuplicatePolicyNameException](err); err != nil && !exists {
			return err
		}
		env.IDs.Set(policyKey(balancer, p.name), p.name)

		return nil
	})
}

// setBackendPolicies replaces the policies of an instance port. Have are the
// previous ones.
func setBackendPolicies(name string, port int32, policies, have []string) change.Step {
	text := fmt.Sprintf("set policies of instance port %d of load balancer %s: %s", port, name, plan.Words(policies))
	step := plan.NewStep("SetLoadBalancerPoliciesForBackendServer", text, func(ctx context.Context, env *change.Env) error {
		return useBackendPolicies(ctx, env, name, port, policies)
	})
	step.Removes = len(lists.Without(have, policies)) > 0

	return step
}

// setListenerPolicies replaces the policies of a listener. Have are the
// previous ones.
func setListenerPolicies(name string, port int32, policies, have []string) change.Step {
	text := fmt.Sprintf("set policies of listener %d of load balancer %s: %s", port, name, plan.Words(policies))
	step := plan.NewStep("SetLoadBalancerPoliciesOfListener", text, func(ctx context.Context, env *change.Env) error {
		return useListenerPolicies(ctx, env, name, port, policies)
	})
	step.Removes = len(lists.Without(have, policies)) > 0

	return step
}

func useBackendPolicies(ctx context.Context, env *change.Env, name string, port int32, policies []string) error {
	_, err := env.ELB.SetLoadBalancerPoliciesForBackendServer(ctx, &elb.SetLoadBalancerPoliciesForBackendServerInput{
		LoadBalancerName: &name, InstancePort: &port, PolicyNames: all(policies),
	})

	return err
}

func useListenerPolicies(ctx context.Context, env *change.Env, name string, port int32, policies []string) error {
	_, err := env.ELB.SetLoadBalancerPoliciesOfListener(ctx, &elb.SetLoadBalancerPoliciesOfListenerInput{
		LoadBalancerName: &name, LoadBalancerPort: port, PolicyNames: all(policies),
	})

	return err
}

// all returns a list that is sent even if it is empty, unlike nil.
func all(list []string) []string { return append([]string{}, list...) }
