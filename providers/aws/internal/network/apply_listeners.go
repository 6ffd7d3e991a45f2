package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// named is a load balancer or target group with its name for messages.
type named struct {
	name string
	ref  plan.Ref
}

// connected is a listener with its load balancer and the target group that it
// forwards to.
type connected struct {
	Listener
	balancer, group named
	// needs are the keys that must be stored before the listener may forward to
	// the target group.
	needs []plan.Ref
}

// createListener creates a listener with tags.
func createListener(l connected, tags map[string]string) change.Step {
	text := fmt.Sprintf("create listener %s to %s%s, tags %s",
		listenerName(l.balancer.name, l.Port, l.Protocol), l.group.name, l.tls(), plan.Pairs(tags))

	return plan.NewStep("CreateListener", text, func(ctx context.Context, env *change.Env) error {
		err := makeListener(ctx, env, l, tags)
		env.ListenersInTheWay = env.ListenersInTheWay || apierr.Has[*elbv2types.TooManyListenersException](err)

		return env.WarnOfQuota(l.balancer.name, fmt.Sprintf("listener %d/%s", l.Port, l.Protocol), err)
	})
}

func makeListener(ctx context.Context, env *change.Env, l connected, tags map[string]string) error {
	balancer, err := env.IDs.Resolve(l.balancer.ref)
	if err != nil {
		return err
	}
	group, err := env.IDs.Resolve(l.group.ref)
	if err != nil {
		return err
	}
	if _, err := env.Resolve(l.needs); err != nil {
		return err
	}
	input := &elbv2.CreateListenerInput{
		LoadBalancerArn: &balancer,
		Port:            aws.Int32(l.Port),
		Protocol:        l.Protocol,
		DefaultActions:  forward(group),
		Certificates:    certificates(l.Certificate),
		SslPolicy:       awstype.Optional(l.Policy),
		Tags:            awstype.ELBV2Tags(tags),
	}
	_, err = env.ELBV2.CreateListener(ctx, input)
	if _, exists := errors.AsType[*elbv2types.DuplicateListenerException](err); exists {
		err = adoptListener(ctx, env, l, balancer)
	}
	if err == nil {
		env.IDs.Set(ListenerKey(l.balancer.name), balancer)
	}

	return err
}

// adoptListener continues with the listener that exists on the port.
func adoptListener(ctx context.Context, env *change.Env, l connected, arn string) error {
	balancer := &LoadBalancer{ARN: arn}
	if err := (reader{api: env.ELBV2, query: Query{Name: l.balancer.name}}).listeners(ctx, balancer); err != nil {
		return err
	}
	for _, seen := range balancer.Listeners {
		if seen.Port == l.Port {
			return changeListener(ctx, env, seen, l)
		}
	}

	return apierr.Mark(apierr.ErrConflict, errors.New("it exists already, but cannot be seen yet"))
}

// modifyListener changes the protocol, the certificate, the policy and the
// target group of a listener in one call. Empty values are not changed.
func modifyListener(seen ListenerState, l connected) change.Step {
	text := "modify listener " + listenerName(l.balancer.name, l.Port, l.Protocol)
	if seen.Protocol != l.Protocol {
		text += ", which was " + string(seen.Protocol) + ","
	}
	if l.group.name != "" {
		text += " to " + l.group.name
	}
	text = strings.TrimSuffix(text, ",") + l.tls()

	return plan.NewStep("ModifyListener", text, func(ctx context.Context, env *change.Env) error {
		return changeListener(ctx, env, seen, l)
	})
}

// defaultPolicy is the security policy that AWS gives to a new TLS listener without
// one. A listener that becomes a TLS one must be given a policy:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_ModifyListener.html
const defaultPolicy = "ELBSecurityPolicy-2016-08"

func changeListener(ctx context.Context, env *change.Env, seen ListenerState, l connected) error {
	if _, err := env.Resolve(l.needs); err != nil {
		return err
	}
	input := &elbv2.ModifyListenerInput{
		ListenerArn:  &seen.ARN,
		Certificates: certificates(l.Certificate),
		SslPolicy:    awstype.Optional(l.Policy),
	}
	// AWS removes certificate and policy along with the protocol that needs
	// them.
	if seen.Protocol != l.Protocol {
		input.Protocol = l.Protocol
		if l.Protocol == elbv2types.ProtocolEnumTls {
			input.SslPolicy = aws.String(cmp.Or(l.Policy, defaultPolicy))
		}
	}
	if l.group.name != "" {
		group, err := env.IDs.Resolve(l.group.ref)
		if err != nil {
			return err
		}
		input.DefaultActions = forward(group)
	}
	_, err := env.ELBV2.ModifyListener(ctx, input)

	return err
}

// deleteListener deletes a listener, and keeps its target group.
func deleteListener(balancer string, seen ListenerState) change.Step {
	text := "delete listener " + listenerName(balancer, seen.Port, seen.Protocol)

	return plan.NewStep("DeleteListener", text, func(ctx context.Context, env *change.Env) error {
		return dropListener(ctx, env, seen.ARN)
	}).Removal()
}

func dropListener(ctx context.Context, env *change.Env, arn string) error {
	_, err := env.ELBV2.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: &arn})

	return ignoreNotFound(err)
}

// listenerName formats a listener for messages.
func listenerName(balancer string, port int32, protocol elbv2types.ProtocolEnum) string {
	return fmt.Sprintf("%d/%s of %s", port, protocol, balancer)
}

func (l Listener) tls() string {
	var text strings.Builder
	if l.Certificate != "" {
		text.WriteString(", certificate " + l.Certificate)
	}
	if l.Policy != "" {
		text.WriteString(", policy " + l.Policy)
	}

	return text.String()
}

func forward(group string) []elbv2types.Action {
	return []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: &group}}
}

func certificates(arn string) []elbv2types.Certificate {
	if arn == "" {
		return nil
	}

	return []elbv2types.Certificate{{CertificateArn: &arn}}
}
