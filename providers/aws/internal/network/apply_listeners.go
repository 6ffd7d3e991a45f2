package network

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// The steps about listeners.
var (
	_ change.Step = createListener{}
	_ change.Step = modifyListener{}
	_ change.Step = deleteListener{}
)

// createListener makes a listener.
type createListener struct {
	balancer  string
	ref       plan.Ref
	listener  Listener
	groupName string
	group     plan.Ref
	tags      map[string]string
}

func (s createListener) Kind() string { return "CreateListener" }

func (s createListener) String() string {
	text := fmt.Sprintf("create listener %s to %s", listenerName(s.balancer, s.listener.Port, s.listener.Protocol), s.groupName)
	return text + tlsText(s.listener.Certificate, s.listener.Policy) + ", tags " + pairs(s.tags)
}

func (s createListener) Apply(ctx context.Context, env *change.Env) error {
	balancer, err := env.IDs.Resolve(s.ref)
	if err != nil {
		return err
	}
	group, err := env.IDs.Resolve(s.group)
	if err != nil {
		return err
	}
	input := &elbv2.CreateListenerInput{
		LoadBalancerArn: &balancer,
		Port:            aws.Int32(s.listener.Port),
		Protocol:        s.listener.Protocol,
		DefaultActions:  forward(group),
		Certificates:    certificates(s.listener.Certificate),
		SslPolicy:       optional(s.listener.Policy),
		Tags:            toTags(s.tags),
	}
	_, err = env.ELBV2.CreateListener(ctx, input)
	if _, exists := errors.AsType[*elbv2types.DuplicateListenerException](err); !exists {
		return err
	}
	return s.replace(ctx, env, input)
}

// replace makes room for a listener on a port that has one already, or goes on
// with that one.
func (s createListener) replace(ctx context.Context, env *change.Env, input *elbv2.CreateListenerInput) error {
	balancer := &LoadBalancer{ARN: *input.LoadBalancerArn}
	if err := (reader{api: env.ELBV2, query: Query{Name: s.balancer}}).listeners(ctx, balancer); err != nil {
		return err
	}
	for _, seen := range balancer.Listeners {
		switch {
		case seen.Port != s.listener.Port:
		case seen.Protocol == s.listener.Protocol:
			return modifyListener{
				balancer: s.balancer, arn: seen.ARN, port: seen.Port, protocol: seen.Protocol,
				groupName: s.groupName, group: s.group,
				certificate: s.listener.Certificate, policy: s.listener.Policy,
			}.Apply(ctx, env)
		default:
			if err := (deleteListener{balancer: s.balancer, listener: seen}).Apply(ctx, env); err != nil {
				return err
			}
		}
	}
	_, err := env.ELBV2.CreateListener(ctx, input)
	return err
}

// modifyListener changes what is not empty.
type modifyListener struct {
	balancer, arn       string
	port                int32
	protocol            elbv2types.ProtocolEnum
	groupName           string
	group               plan.Ref
	certificate, policy string
}

// changes says whether there is anything to change.
func (s modifyListener) changes() bool {
	return s.groupName != "" || s.certificate != "" || s.policy != ""
}

func (s modifyListener) Kind() string { return "ModifyListener" }

func (s modifyListener) String() string {
	text := "modify listener " + listenerName(s.balancer, s.port, s.protocol)
	if s.groupName != "" {
		text += " to " + s.groupName
	}
	return text + tlsText(s.certificate, s.policy)
}

func (s modifyListener) Apply(ctx context.Context, env *change.Env) error {
	input := &elbv2.ModifyListenerInput{
		ListenerArn:  &s.arn,
		Certificates: certificates(s.certificate),
		SslPolicy:    optional(s.policy),
	}
	if s.groupName != "" {
		group, err := env.IDs.Resolve(s.group)
		if err != nil {
			return err
		}
		input.DefaultActions = forward(group)
	}
	_, err := env.ELBV2.ModifyListener(ctx, input)
	return err
}

// deleteListener deletes a listener, and leaves its target group.
type deleteListener struct {
	balancer string
	listener ListenerState
}

func (s deleteListener) Kind() string { return "DeleteListener" }

func (s deleteListener) String() string {
	return "delete listener " + listenerName(s.balancer, s.listener.Port, s.listener.Protocol)
}

func (s deleteListener) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELBV2.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: &s.listener.ARN})
	return ignoreNotFound(err)
}

// listenerName is what a listener is called.
func listenerName(balancer string, port int32, protocol elbv2types.ProtocolEnum) string {
	return fmt.Sprintf("%d/%s of %s", port, protocol, balancer)
}

func tlsText(certificate, policy string) string {
	var text strings.Builder
	if certificate != "" {
		text.WriteString(", certificate " + certificate)
	}
	if policy != "" {
		text.WriteString(", policy " + policy)
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

// optional is nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
