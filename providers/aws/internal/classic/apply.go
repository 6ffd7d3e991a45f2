package classic

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// createLoadBalancer creates the load balancer with its listeners and tags, and
// stores its DNS name. If AWS rejects one of the listeners, the load balancer
// is created with the others.
func createLoadBalancer(m *Model) change.Step {
	scheme := "internet-facing"
	if m.Internal {
		scheme = internal
	}
	text := fmt.Sprintf("create %s classic load balancer %s in %s, security groups %s, listeners %s, tags %s",
		scheme, m.Name, plan.Words(subnetIDs(m.Subnets)), plan.Words(m.SecurityGroups), plan.Commas(m.Listeners), plan.Pairs(m.Tags))

	return plan.NewStep("CreateLoadBalancer", text, func(ctx context.Context, env *change.Env) error {
		return makeLoadBalancer(ctx, env, m)
	})
}

func makeLoadBalancer(ctx context.Context, env *change.Env, m *Model) error {
	err := makeWith(ctx, env, m, m.Listeners)
	if len(m.Listeners) < 2 || !concernsListener(err) {
		return err
	}
	var failures []error
	for i, listener := range m.Listeners {
		err := makeWith(ctx, env, m, []Listener{listener})
		if err == nil {
			failures = append(failures, makeEach(ctx, env, m.Name, m.Listeners[i+1:]))

			return plan.Partial(errors.Join(failures...))
		}
		failures = append(failures, fmt.Errorf("listener %s: %w", listener, err))
		if !concernsListener(err) {
			break
		}
	}

	return errors.Join(failures...)
}

// concernsListener reports whether an error is about one of several listeners.
func concernsListener(err error) bool {
	return slices.Contains([]string{"CertificateNotFound", "UnsupportedProtocol"}, client.Code(err))
}

// makeWith creates the load balancer with some of its listeners.
func makeWith(ctx context.Context, env *change.Env, m *Model, listeners []Listener) error {
	input := &elb.CreateLoadBalancerInput{
		LoadBalancerName: aws.String(m.Name),
		Listeners:        toListeners(listeners),
		Subnets:          subnetIDs(m.Subnets),
		Tags:             awstype.ELBTags(m.Tags),
	}
	if m.Internal {
		input.Scheme = aws.String(internal)
	}
	var out *elb.CreateLoadBalancerOutput
	err := env.WithGroups(ctx, m.SecurityGroups, func(ids []string) (err error) {
		input.SecurityGroups = ids
		out, err = env.ELB.CreateLoadBalancer(ctx, input)

		return err
	})
	if _, exists := errors.AsType[*types.DuplicateAccessPointNameException](err); exists {
		return adopt(ctx, env, m)
	}
	if err != nil {
		return err
	}
	if err := confirm(ctx, env, m); err != nil {
		return err
	}
	env.IDs.Set(HostnameKey(m.Name), aws.ToString(out.DNSName))
	storeListeners(env, m.Name, listeners)

	return nil
}

// confirm checks that the load balancer is ours. If one exists already and
// nothing is different, AWS responds as if it were new, and it is not
// documented whether tags count. A load balancer that is not visible yet is
// new.
func confirm(ctx context.Context, env *change.Env, m *Model) error {
	tags, err := readTags(ctx, env.ELB, m.Name)
	if errors.Is(err, apierr.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}

	return (&LoadBalancer{Name: m.Name, Cluster: m.Cluster, Tags: tags}).NotOwned()
}

// adopt continues with a load balancer that was not visible before, if it is
// ours: what it lacks is added. What it has in excess is left to the next run.
func adopt(ctx context.Context, env *change.Env, m *Model) error {
	lb, err := Observe(ctx, env.ELB, m.Name, m.Cluster)
	if err != nil {
		return err
	}
	if lb == nil {
		return apierr.Mark(apierr.ErrConflict, errors.New("it exists already, but cannot be seen yet"))
	}
	env.IDs.Set(HostnameKey(lb.Name), lb.DNSName)
	wanted := *m
	groups, err := env.Resolve(wanted.SecurityGroups)
	if err != nil {
		return err
	}
	wanted.SecurityGroups = lists.Map(groups, plan.ID)
	steps := Diff(&wanted, lb)
	if err := steps.Additions().Apply(ctx, env, nil); err != nil {
		return err
	}
	have := byPort(lb.Listeners)
	storeListeners(env, m.Name, slices.DeleteFunc(slices.Clone(m.Listeners), func(l Listener) bool {
		return !have[l.Port].same(l) && !have[l.Port].differsInCertificate(l)
	}))
	if len(steps.Removals()) > 0 {
		return plan.Partial(change.ErrNotAsWanted)
	}

	return nil
}

// deleteLoadBalancer deletes the load balancer with its listeners and policies.
// AWS returns success if there is none.
func deleteLoadBalancer(name string) change.Step {
	return plan.NewStep("DeleteLoadBalancer", "delete classic load balancer "+name, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerName: &name})

		return change.DeletionError(err)
	}).Removal()
}

// attachSubnets adds subnets.
func attachSubnets(name string, subnets []string) change.Step {
	text := fmt.Sprintf("attach load balancer %s to subnets %s", name, plan.Words(subnets))

	return plan.NewStep("AttachLoadBalancerToSubnets", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.AttachLoadBalancerToSubnets(ctx, &elb.AttachLoadBalancerToSubnetsInput{
			LoadBalancerName: &name, Subnets: subnets,
		})

		return err
	})
}

// detachSubnets removes subnets.
func detachSubnets(name string, subnets []string) change.Step {
	text := fmt.Sprintf("detach load balancer %s from subnets %s", name, plan.Words(subnets))

	return plan.NewStep("DetachLoadBalancerFromSubnets", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.DetachLoadBalancerFromSubnets(ctx, &elb.DetachLoadBalancerFromSubnetsInput{
			LoadBalancerName: &name, Subnets: subnets,
		})

		return err
	}).Removal()
}

// applySecurityGroups replaces all security groups. Have are the previous ones.
func applySecurityGroups(name string, groups []plan.Ref, have []string) change.Step {
	text := fmt.Sprintf("apply security groups %s to load balancer %s", plan.Words(groups), name)
	step := plan.NewStep("ApplySecurityGroupsToLoadBalancer", text, func(ctx context.Context, env *change.Env) error {
		return env.WithGroups(ctx, groups, func(ids []string) error {
			_, err := env.ELB.ApplySecurityGroupsToLoadBalancer(ctx, &elb.ApplySecurityGroupsToLoadBalancerInput{
				LoadBalancerName: &name, SecurityGroups: ids,
			})

			return err
		})
	})
	step.Removes = len(change.Detached(have, groups)) > 0

	return step
}

// addTags adds tags, or changes their values.
func addTags(name string, tags map[string]string) change.Step {
	text := fmt.Sprintf("add tags to load balancer %s: %s", name, plan.Pairs(tags))

	return plan.NewStep("AddTags", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.AddTags(ctx, &elb.AddTagsInput{LoadBalancerNames: []string{name}, Tags: awstype.ELBTags(tags)})

		return err
	})
}

// modifyAttributes sets all attributes.
func modifyAttributes(name string, a Attributes) change.Step {
	text := fmt.Sprintf("modify attributes of load balancer %s: %s", name, a)

	return plan.NewStep("ModifyLoadBalancerAttributes", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.ModifyLoadBalancerAttributes(ctx, &elb.ModifyLoadBalancerAttributesInput{
			LoadBalancerName: &name, LoadBalancerAttributes: toAttributes(a),
		})

		return err
	})
}

func toAttributes(a Attributes) *types.LoadBalancerAttributes {
	attributes := &types.LoadBalancerAttributes{
		CrossZoneLoadBalancing: &types.CrossZoneLoadBalancing{Enabled: a.CrossZone},
		ConnectionSettings:     &types.ConnectionSettings{IdleTimeout: &a.IdleTimeout},
		ConnectionDraining:     &types.ConnectionDraining{Enabled: a.Draining},
		AccessLog:              &types.AccessLog{Enabled: a.AccessLog},
	}
	if a.Draining {
		attributes.ConnectionDraining.Timeout = &a.DrainingTimeout
	}
	if a.AccessLog {
		attributes.AccessLog = &types.AccessLog{
			Enabled: true, EmitInterval: &a.AccessLogInterval, S3BucketName: &a.AccessLogBucket, S3BucketPrefix: &a.AccessLogPrefix,
		}
	}

	return attributes
}

func subnetIDs(subnets []Subnet) []string {
	return lists.Map(subnets, func(subnet Subnet) string { return subnet.ID })
}
