package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// restoreLimit bounds the creation of a listener that replaces another one
// after the run was canceled, and the restoration of that one.
const restoreLimit = 20 * time.Second

// inPlaceOf returns the step that creates a listener. If the quota does not
// allow both, the step first deletes another listener, which is not wanted. The
// quota depends on the account. If AWS rejects the new listener, the other one
// is created again.
func inPlaceOf(old ListenerState, create change.Step, l connected, tags map[string]string) change.Step {
	return create.OrRemove(func(ctx context.Context, env *change.Env) error {
		err := makeListener(ctx, env, l, tags)
		if _, full := errors.AsType[*elbv2types.TooManyListenersException](err); full {
			err = exchange(ctx, env, old, l, tags)
		}

		return env.WarnOfQuota(l.balancer.name, l.title(), err)
	})
}

// exchange deletes a listener and creates another one. If that fails, it
// restores the first.
func exchange(ctx context.Context, env *change.Env, old ListenerState, l connected, tags map[string]string) error {
	if err := dropListener(ctx, env, old.ARN); err != nil {
		return err
	}
	creating, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	err := makeListener(creating, env, l, tags)
	if err == nil {
		return nil
	}
	restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	before := connected{
		Listener: Listener{Port: old.Port, Protocol: old.Protocol, Certificate: old.Certificate, Policy: old.Policy},
		balancer: l.balancer, group: named{ref: plan.Ref{ID: old.TargetGroup}},
	}
	if undo := makeListener(restoring, env, before, old.Tags); undo != nil {
		return errors.Join(err, fmt.Errorf("restore %s: %w", before.title(), undo))
	}

	return err
}
