package classic

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// deleteListeners removes listeners by their front ports. AWS takes it for done
// where there is none.
func deleteListeners(name string, ports []int32) change.Step {
	text := fmt.Sprintf("delete listeners of load balancer %s: %s", name, plan.Words(ports))
	return plan.NewStep("DeleteLoadBalancerListeners", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.DeleteLoadBalancerListeners(ctx, &elb.DeleteLoadBalancerListenersInput{
			LoadBalancerName: &name, LoadBalancerPorts: ports,
		})
		return err
	}).Removal()
}

// createsListeners is the kind of the step that creates listeners.
const createsListeners = "CreateLoadBalancerListeners"

// createListeners adds listeners. AWS takes it for done where there is the same.
func createListeners(name string, listeners []Listener) change.Step {
	text := fmt.Sprintf("create listeners of load balancer %s: %s", name, plan.Commas(listeners))
	return plan.NewStep(createsListeners, text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.CreateLoadBalancerListeners(ctx, &elb.CreateLoadBalancerListenersInput{
			LoadBalancerName: &name, Listeners: toListeners(listeners),
		})
		return err
	})
}

// createPolicy creates a policy for the load balancer, which nothing uses yet.
// The name tells what is in it, so that one that exists is as good.
func createPolicy(balancer string, p policy) change.Step {
	text := fmt.Sprintf("create policy %s of load balancer %s: %s=%s", p.name, balancer, p.attribute, p.value)
	return plan.NewStep("CreateLoadBalancerPolicy", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.CreateLoadBalancerPolicy(ctx, &elb.CreateLoadBalancerPolicyInput{
			LoadBalancerName: &balancer,
			PolicyName:       &p.name,
			PolicyTypeName:   &p.kind,
			PolicyAttributes: []types.PolicyAttribute{{AttributeName: &p.attribute, AttributeValue: &p.value}},
		})
		if _, exists := errors.AsType[*types.DuplicatePolicyNameException](err); exists {
			return nil
		}
		return err
	})
}

// setBackendPolicies replaces the policies of an instance port. Have are those
// before.
func setBackendPolicies(name string, port int32, policies, have []string) change.Step {
	text := fmt.Sprintf("set policies of instance port %d of load balancer %s: %s", port, name, plan.Words(policies))
	step := plan.NewStep("SetLoadBalancerPoliciesForBackendServer", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.SetLoadBalancerPoliciesForBackendServer(ctx, &elb.SetLoadBalancerPoliciesForBackendServerInput{
			LoadBalancerName: &name, InstancePort: &port, PolicyNames: all(policies),
		})
		return err
	})
	step.Removes = len(missing(have, policies)) > 0
	return step
}

// setListenerPolicies replaces the policies of a listener. Have are those before.
func setListenerPolicies(name string, port int32, policies, have []string) change.Step {
	text := fmt.Sprintf("set policies of listener %d of load balancer %s: %s", port, name, plan.Words(policies))
	step := plan.NewStep("SetLoadBalancerPoliciesOfListener", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.SetLoadBalancerPoliciesOfListener(ctx, &elb.SetLoadBalancerPoliciesOfListenerInput{
			LoadBalancerName: &name, LoadBalancerPort: port, PolicyNames: all(policies),
		})
		return err
	})
	step.Removes = len(missing(have, policies)) > 0
	return step
}

// all is a list that is sent even if it is empty, which nil is not.
func all(list []string) []string { return append([]string{}, list...) }

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

// registerInstances adds instances.
func registerInstances(name string, instances []string) change.Step {
	text := fmt.Sprintf("register with load balancer %s: %s", name, plan.Words(instances))
	return plan.NewStep("RegisterInstancesWithLoadBalancer", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.RegisterInstancesWithLoadBalancer(ctx, &elb.RegisterInstancesWithLoadBalancerInput{
			LoadBalancerName: &name, Instances: toInstances(instances),
		})
		return err
	})
}

// deregisterInstances removes instances.
func deregisterInstances(name string, instances []string) change.Step {
	text := fmt.Sprintf("deregister from load balancer %s: %s", name, plan.Words(instances))
	return plan.NewStep("DeregisterInstancesFromLoadBalancer", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.DeregisterInstancesFromLoadBalancer(ctx, &elb.DeregisterInstancesFromLoadBalancerInput{
			LoadBalancerName: &name, Instances: toInstances(instances),
		})
		return err
	}).Removal()
}

func toListeners(listeners []Listener) []types.Listener {
	list := make([]types.Listener, 0, len(listeners))
	for _, listener := range listeners {
		out := types.Listener{
			Protocol:         aws.String(listener.Protocol),
			LoadBalancerPort: listener.Port,
			InstanceProtocol: aws.String(listener.InstanceProtocol),
			InstancePort:     aws.Int32(listener.InstancePort),
		}
		if listener.Certificate != "" {
			out.SSLCertificateId = aws.String(listener.Certificate)
		}
		list = append(list, out)
	}
	return list
}

func toInstances(ids []string) []types.Instance {
	list := make([]types.Instance, 0, len(ids))
	for _, id := range ids {
		list = append(list, types.Instance{InstanceId: aws.String(id)})
	}
	return list
}
