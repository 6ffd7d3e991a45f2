package classic

import (
	"context"
	"errors"
	"fmt"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// deleteListeners removes listeners by their front ports. AWS returns success
// for a port without a listener.
func deleteListeners(name string, ports []int32) change.Step {
	text := fmt.Sprintf("delete listeners of load balancer %s: %s", name, plan.Words(ports))

	return plan.NewStep("DeleteLoadBalancerListeners", text, func(ctx context.Context, env *change.Env) error {
		return dropListeners(ctx, env, name, ports)
	}).Removal()
}

func dropListeners(ctx context.Context, env *change.Env, name string, ports []int32) error {
	_, err := env.ELB.DeleteLoadBalancerListeners(ctx, &elb.DeleteLoadBalancerListenersInput{
		LoadBalancerName: &name, LoadBalancerPorts: ports,
	})

	return err
}

// createListeners adds listeners. AWS returns success for a listener that
// exists with the same settings. If AWS rejects all of them because of one,
// each is created by its own call.
func createListeners(name string, listeners []Listener) change.Step {
	text := fmt.Sprintf("create listeners of load balancer %s: %s", name, plan.Commas(listeners))

	return plan.NewStep("CreateLoadBalancerListeners", text, func(ctx context.Context, env *change.Env) error {
		err := makeListeners(ctx, env, name, listeners)
		if len(listeners) == 1 || !isRefusal(err) {
			return err
		}

		return makeEach(ctx, env, name, listeners)
	})
}

// isRefusal reports whether an error is about the content of a request.
func isRefusal(err error) bool {
	return err != nil && !errors.Is(err, apierr.ErrDenied) && !errors.Is(err, apierr.ErrThrottled) &&
		!errors.Is(err, apierr.ErrUnavailable) && !errors.Is(err, context.Canceled)
}

// makeEach creates listeners one by one, and returns the errors of all.
func makeEach(ctx context.Context, env *change.Env, name string, listeners []Listener) error {
	var failures []error
	for _, listener := range listeners {
		if err := makeListeners(ctx, env, name, []Listener{listener}); err != nil {
			failures = append(failures, fmt.Errorf("listener %s: %w", listener, err))
		}
	}

	return errors.Join(failures...)
}

// makeListeners creates all of the listeners or none, and stores that they
// exist.
func makeListeners(ctx context.Context, env *change.Env, name string, listeners []Listener) error {
	_, err := env.ELB.CreateLoadBalancerListeners(ctx, &elb.CreateLoadBalancerListenersInput{
		LoadBalancerName: &name, Listeners: toListeners(listeners),
	})
	if err == nil {
		storeListeners(env, name, listeners)
	}
	env.ListenersInTheWay = env.ListenersInTheWay || client.Code(err) == codeConflict

	return err
}

// codeConflict is the error code for listeners that exclude each other. AWS
// documents no other code for too many of them, see
// https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_CreateLoadBalancerListeners.html
const codeConflict = "InvalidConfigurationRequest"

// storeListeners stores which listeners were created, for the steps that need
// them.
func storeListeners(env *change.Env, name string, listeners []Listener) {
	for _, listener := range listeners {
		key := listenerKey(name, listener.Port)
		env.IDs.Set(key, key)
	}
}

func toListeners(listeners []Listener) []types.Listener {
	return lists.Map(listeners, func(listener Listener) types.Listener {
		return types.Listener{
			Protocol:         &listener.Protocol,
			LoadBalancerPort: listener.Port,
			InstanceProtocol: &listener.InstanceProtocol,
			InstancePort:     &listener.InstancePort,
			SSLCertificateId: awstype.Optional(listener.Certificate),
		}
	})
}
