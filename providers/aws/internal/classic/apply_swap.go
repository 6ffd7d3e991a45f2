package classic

import (
	"context"
	"errors"
	"fmt"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// swapLimit is how long a swap continues after its run was canceled: a port
// must not stay without a listener.
const swapLimit = 20 * time.Second

// swap replaces listeners by other ones.
type swap struct {
	name     string
	old, new []Listener
	// backend are the policies of the instance ports.
	backend map[int32][]string
}

// step deletes the old listeners and creates the new ones, because AWS accepts
// one for each port. If AWS rejects the new ones, the old ones are created
// again.
func (s swap) step() change.Step {
	what := "listener"
	if len(s.old) > 1 {
		what = "listeners"
	}
	text := fmt.Sprintf("replace %s of load balancer %s: %s by %s", what, s.name, plan.Commas(s.old), plan.Commas(s.new))

	return plan.NewStep("ReplaceLoadBalancerListeners", text, s.apply)
}

func (s swap) apply(ctx context.Context, env *change.Env) error {
	if err := dropListeners(ctx, env, s.name, ports(s.old)); err != nil {
		return err
	}
	// A canceled run does not leave a port without a listener, and the time for
	// creating does not reduce the time for restoring.
	creating, cancel := context.WithTimeout(context.WithoutCancel(ctx), swapLimit)
	defer cancel()
	err := makeListeners(creating, env, s.name, s.new)
	if err == nil {
		return usePolicies(creating, env, s.name, s.new)
	}
	restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), swapLimit)
	defer cancel()
	if undo := s.restore(restoring, env); undo != nil {
		return errors.Join(err, fmt.Errorf("restore listeners %s: %w", plan.Commas(s.old), undo))
	}

	return err
}

// restore creates the old listeners with their policies.
func (s swap) restore(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.CreateLoadBalancerListeners(ctx, &elb.CreateLoadBalancerListenersInput{
		LoadBalancerName: &s.name, Listeners: toListeners(s.old),
	})
	if err != nil {
		return err
	}
	for _, listener := range s.old {
		policies := s.backend[listener.InstancePort]
		if len(policies) == 0 {
			continue
		}
		if err := useBackendPolicies(ctx, env, s.name, listener.InstancePort, policies); err != nil {
			return err
		}
	}

	return usePolicies(ctx, env, s.name, s.old)
}

// usePolicies sets the known policies of listeners.
func usePolicies(ctx context.Context, env *change.Env, name string, listeners []Listener) error {
	for _, listener := range listeners {
		if len(listener.Policies) == 0 {
			continue
		}
		if err := useListenerPolicies(ctx, env, name, listener.Port, listener.Policies); err != nil {
			return err
		}
	}

	return nil
}

// setCertificate changes the certificate of a listener in place. If that is not
// allowed, it replaces the listener, unless nothing may be removed.
func setCertificate(name string, old, next Listener, backend map[int32][]string) change.Step {
	text := fmt.Sprintf("set certificate of listener %d of load balancer %s: %s", next.Port, name, next.Certificate)
	set := func(ctx context.Context, env *change.Env) error {
		_, err := env.ELB.SetLoadBalancerListenerSSLCertificate(ctx, &elb.SetLoadBalancerListenerSSLCertificateInput{
			LoadBalancerName: &name, LoadBalancerPort: next.Port, SSLCertificateId: &next.Certificate,
		})

		return err
	}

	return plan.NewStep("SetLoadBalancerListenerSSLCertificate", text, set).OrRemove(func(ctx context.Context, env *change.Env) error {
		err := set(ctx, env)
		if errors.Is(err, apierr.ErrDenied) || client.Code(err) == "InvalidAction" {
			return swap{name: name, old: []Listener{old}, new: []Listener{next}, backend: backend}.apply(ctx, env)
		}

		return err
	})
}
