package classic

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
)

// The steps about listeners, policies and instances.
var (
	_ change.Step = deleteListeners{}
	_ change.Step = createListeners{}
	_ change.Step = createPolicy{}
	_ change.Step = setBackendPolicies{}
	_ change.Step = setListenerPolicies{}
	_ change.Step = configureHealthCheck{}
	_ change.Step = registerInstances{}
	_ change.Step = deregisterInstances{}
)

// deleteListeners removes listeners by their front ports. AWS takes it for done
// where there is none.
type deleteListeners struct {
	name  string
	ports []int32
}

func (s deleteListeners) Kind() string { return "DeleteLoadBalancerListeners" }

func (s deleteListeners) String() string {
	return fmt.Sprintf("delete listeners of load balancer %s: %s", s.name, words(s.ports))
}

func (s deleteListeners) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.DeleteLoadBalancerListeners(ctx, &elb.DeleteLoadBalancerListenersInput{
		LoadBalancerName: &s.name, LoadBalancerPorts: s.ports,
	})
	return err
}

// createListeners adds listeners. AWS takes it for done where there is the same.
type createListeners struct {
	name      string
	listeners []Listener
}

func (s createListeners) Kind() string { return "CreateLoadBalancerListeners" }

func (s createListeners) String() string {
	return fmt.Sprintf("create listeners of load balancer %s: %s", s.name, commas(s.listeners))
}

func (s createListeners) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.CreateLoadBalancerListeners(ctx, &elb.CreateLoadBalancerListenersInput{
		LoadBalancerName: &s.name, Listeners: toListeners(s.listeners),
	})
	return err
}

// createPolicy makes a policy for the load balancer, which nothing uses yet. The
// name says what is in it, so that one that exists is as good.
type createPolicy struct {
	balancer string
	policy   policy
}

func (s createPolicy) Kind() string { return "CreateLoadBalancerPolicy" }

func (s createPolicy) String() string {
	return fmt.Sprintf("create policy %s of load balancer %s: %s=%s", s.policy.name, s.balancer, s.policy.attribute, s.policy.value)
}

func (s createPolicy) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.CreateLoadBalancerPolicy(ctx, &elb.CreateLoadBalancerPolicyInput{
		LoadBalancerName: &s.balancer,
		PolicyName:       &s.policy.name,
		PolicyTypeName:   &s.policy.kind,
		PolicyAttributes: []types.PolicyAttribute{{AttributeName: &s.policy.attribute, AttributeValue: &s.policy.value}},
	})
	if _, exists := errors.AsType[*types.DuplicatePolicyNameException](err); exists {
		return nil
	}
	return err
}

// setBackendPolicies replaces the policies of an instance port.
type setBackendPolicies struct {
	name     string
	port     int32
	policies []string
}

func (s setBackendPolicies) Kind() string { return "SetLoadBalancerPoliciesForBackendServer" }

func (s setBackendPolicies) String() string {
	return fmt.Sprintf("set policies of instance port %d of load balancer %s: %s", s.port, s.name, words(s.policies))
}

func (s setBackendPolicies) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.SetLoadBalancerPoliciesForBackendServer(ctx, &elb.SetLoadBalancerPoliciesForBackendServerInput{
		LoadBalancerName: &s.name, InstancePort: &s.port, PolicyNames: all(s.policies),
	})
	return err
}

// setListenerPolicies replaces the policies of a listener.
type setListenerPolicies struct {
	name     string
	port     int32
	policies []string
}

func (s setListenerPolicies) Kind() string { return "SetLoadBalancerPoliciesOfListener" }

func (s setListenerPolicies) String() string {
	return fmt.Sprintf("set policies of listener %d of load balancer %s: %s", s.port, s.name, words(s.policies))
}

func (s setListenerPolicies) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.SetLoadBalancerPoliciesOfListener(ctx, &elb.SetLoadBalancerPoliciesOfListenerInput{
		LoadBalancerName: &s.name, LoadBalancerPort: s.port, PolicyNames: all(s.policies),
	})
	return err
}

// all is a list that is sent even if it is empty, which nil is not.
func all(list []string) []string { return append([]string{}, list...) }

// configureHealthCheck sets the health check.
type configureHealthCheck struct {
	name  string
	check HealthCheck
}

func (s configureHealthCheck) Kind() string { return "ConfigureHealthCheck" }

func (s configureHealthCheck) String() string {
	return fmt.Sprintf("configure health check of load balancer %s: %s", s.name, s.check)
}

func (s configureHealthCheck) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.ConfigureHealthCheck(ctx, &elb.ConfigureHealthCheckInput{
		LoadBalancerName: &s.name,
		HealthCheck: &types.HealthCheck{
			Target:             &s.check.Target,
			Interval:           &s.check.Interval,
			Timeout:            &s.check.Timeout,
			HealthyThreshold:   &s.check.HealthyThreshold,
			UnhealthyThreshold: &s.check.UnhealthyThreshold,
		},
	})
	return err
}

// registerInstances adds instances.
type registerInstances struct {
	name      string
	instances []string
}

func (s registerInstances) Kind() string { return "RegisterInstancesWithLoadBalancer" }

func (s registerInstances) String() string {
	return fmt.Sprintf("register with load balancer %s: %s", s.name, words(s.instances))
}

func (s registerInstances) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.RegisterInstancesWithLoadBalancer(ctx, &elb.RegisterInstancesWithLoadBalancerInput{
		LoadBalancerName: &s.name, Instances: toInstances(s.instances),
	})
	return err
}

// deregisterInstances removes instances.
type deregisterInstances struct {
	name      string
	instances []string
}

func (s deregisterInstances) Kind() string { return "DeregisterInstancesFromLoadBalancer" }

func (s deregisterInstances) String() string {
	return fmt.Sprintf("deregister from load balancer %s: %s", s.name, words(s.instances))
}

func (s deregisterInstances) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.DeregisterInstancesFromLoadBalancer(ctx, &elb.DeregisterInstancesFromLoadBalancerInput{
		LoadBalancerName: &s.name, Instances: toInstances(s.instances),
	})
	return err
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
