package classic

import (
	"context"
	"fmt"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// configureHealthCheck sets the health check.
func configureHealthCheck(name string, check HealthCheck) change.Step {
	text := fmt.Sprintf("configure health check of load balancer %s: %s", name, check)

	return plan.NewStep("ConfigureHealthCheck", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.ConfigureHealthCheck(ctx, &elb.ConfigureHealthCheckInput{
			LoadBalancerName: &name,
			HealthCheck: &types.HealthCheck{
				Target:             &check.Target,
				Interval:           &check.Interval,
				Timeout:            &check.Timeout,
				HealthyThreshold:   &check.HealthyThreshold,
				UnhealthyThreshold: &check.UnhealthyThreshold,
			},
		})

		return err
	})
}

// registerInstances adds instances. It warns of instances that AWS does not
// accept. Have is the number of instances that are registered: if a quota was reached with so many before,
// a single one is tried first.
func registerInstances(name string, instances []string, have int) change.Step {
	text := fmt.Sprintf("register with load balancer %s: %s", name, plan.FewWords(instances))

	return plan.NewStep("RegisterInstancesWithLoadBalancer", text, func(ctx context.Context, env *change.Env) error {
		return register(ctx, env, name, instances, have)
	})
}

func register(ctx context.Context, env *change.Env, name string, instances []string, have int) error {
	quota := "instances of " + name
	registration := bulk(func(ctx context.Context, ids []string) error {
		_, err := env.ELB.RegisterInstancesWithLoadBalancer(ctx, &elb.RegisterInstancesWithLoadBalancerInput{
			LoadBalancerName: &name, Instances: toInstances(ids),
		})

		return err
	})
	registration.Full = env.Limits.Reached(quota, have)
	outcome, err := registration.Do(ctx, instances)
	if err == nil && len(outcome.Excess) > 0 {
		env.Limits.Reach(quota, have+outcome.Accepted)
	}
	env.Refuse(outcome.Refusals(name, "")...)

	return err
}

// deregisterInstances removes instances. An instance that AWS does not find
// counts as removed. Instances that exceeded the quota take their places; empty means
// that none of the wanted instances was registered before.
func deregisterInstances(name string, instances []string, empty bool) change.Step {
	text := fmt.Sprintf("deregister from load balancer %s: %s", name, plan.FewWords(instances))

	return plan.NewStep("DeregisterInstancesFromLoadBalancer", text, func(ctx context.Context, env *change.Env) error {
		remove := bulk(func(ctx context.Context, ids []string) error {
			_, err := env.ELB.DeregisterInstancesFromLoadBalancer(ctx, &elb.DeregisterInstancesFromLoadBalancerInput{
				LoadBalancerName: &name, Instances: toInstances(ids),
			})

			return err
		})
		add := func(ids []string) error { return register(ctx, env, name, ids, 0) }

		return change.Replace(ctx, env, change.Replacement[string]{
			Items: instances, Empty: empty, Remove: remove, Add: add,
			Named: func(ids []string) []string { return ids },
		})
	}).Removal()
}

// bulk makes a call without the instances that AWS rejects. AWS documents no code
// for the quota of instances, see
// https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_RegisterInstancesWithLoadBalancer.html
func bulk(call func(ctx context.Context, ids []string) error) change.Bulk[string] {
	return change.Bulk[string]{
		Call: call, ID: func(id string) string { return id },
		Refused: []string{"InvalidInstance", "InvalidEndPoint"}, Quota: []string{"InvalidConfigurationRequest"},
	}
}

func toInstances(ids []string) []types.Instance {
	return lists.Map(ids, func(id string) types.Instance { return types.Instance{InstanceId: &id} })
}
