package aws

import (
	"context"
	"testing"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

func secured(in *elbv2.CreateListenerInput) {
	in.Protocol, in.Certificates = elbv2types.ProtocolEnumTls, []elbv2types.Certificate{{CertificateArn: new(testCertificate)}}
}

func TestListenerCreateCases(t *testing.T) {
	t.Parallel()
	forward := func(arn string) []elbv2types.Action {
		return []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: new(arn)}}
	}
	cases := map[string]struct {
		reason string
		change func(*balancing, *elbv2.CreateListenerInput)
		code   string
	}{
		"again": {"the call can be repeated after a lost response", func(_ *balancing, in *elbv2.CreateListenerInput) { in.Port = new(int32(80)) }, ""},
		"port in use": {"", func(k *balancing, in *elbv2.CreateListenerInput) {
			in.Port, in.DefaultActions = new(int32(80)), forward(k.createGroup("other", nil))
		}, "DuplicateListener"},
		"udp to tcp": {"", func(_ *balancing, in *elbv2.CreateListenerInput) {
			in.Protocol = elbv2types.ProtocolEnumUdp
		}, "IncompatibleProtocols"},
		"invalid certificate": {"", func(_ *balancing, in *elbv2.CreateListenerInput) {
			secured(in)
			in.Certificates[0].CertificateArn = new("cert")
		}, "CertificateNotFound"},
		"tcp with certificate": {"", func(_ *balancing, in *elbv2.CreateListenerInput) {
			secured(in)
			in.Protocol = elbv2types.ProtocolEnumTcp
		}, "InvalidConfigurationRequest"},
		"group of another balancer": {"", func(k *balancing, in *elbv2.CreateListenerInput) {
			in.LoadBalancerArn = new(k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.Name = new("second") }))
		}, "TargetGroupAssociationLimit"},
		"quota": {"", func(k *balancing, _ *elbv2.CreateListenerInput) { k.SetQuotas(Quotas{Listeners: 1}) }, "TooManyListeners"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			balancer, group := k.createNet(nil), k.createGroup("group", nil)
			k.listen(balancer, group, 80)
			in := listenerInput(balancer, group, 8080)
			tc.change(k, in)
			before := k.Dump()
			_, err := k.v2.CreateListener(t.Context(), in)
			if got := code(err); got != tc.code {
				t.Fatalf("%v, want %q (%s)", err, tc.code, tc.reason)
			}
			if diff := cmp.Diff(before, k.Dump()); diff != "" && err != nil {
				t.Errorf("a rejected call changed state:\n%s", diff)
			}
		})
	}
}

func TestListenerModify(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	balancer, group, other := k.createNet(nil), k.createGroup("group", nil), k.createGroup("other", nil)
	arn := k.listen(balancer, group, 80)
	second := k.listen(balancer, group, 81)
	modify := func(in elbv2.ModifyListenerInput) error {
		in.ListenerArn = new(arn)
		_, err := k.v2.ModifyListener(t.Context(), &in)

		return err
	}
	expect := func(what string, want NetworkListener) {
		t.Helper()
		n, _ := k.Network("net")
		want.ARN, want.Tags = arn, map[string]string{}
		if diff := cmp.Diff(want, n.Listeners[0]); diff != "" {
			t.Errorf("%s, -want +got:\n%s", what, diff)
		}
	}
	wantCode(t, modify(elbv2.ModifyListenerInput{DefaultActions: listenerInput(balancer, other, 80).DefaultActions}), "")
	expect("another target group", NetworkListener{Port: 80, Protocol: "TCP", TargetGroup: "other"})
	wantCode(t, modify(elbv2.ModifyListenerInput{Port: new(int32(81))}), "DuplicateListener")
	wantCode(t, modify(elbv2.ModifyListenerInput{Protocol: elbv2types.ProtocolEnumTls, SslPolicy: new("ELBSecurityPolicy-2016-08")}), "ValidationError", "certificate")
	wantCode(t, modify(elbv2.ModifyListenerInput{
		Protocol: elbv2types.ProtocolEnumTls, Certificates: []elbv2types.Certificate{{CertificateArn: new(testCertificate)}},
	}), "ValidationError", "security policy")
	wantCode(t, modify(elbv2.ModifyListenerInput{Protocol: elbv2types.ProtocolEnumUdp}), "IncompatibleProtocols")
	expect("after rejected changes", NetworkListener{Port: 80, Protocol: "TCP", TargetGroup: "other"})
	wantCode(t, modify(elbv2.ModifyListenerInput{
		Protocol: elbv2types.ProtocolEnumTls, Certificates: []elbv2types.Certificate{{CertificateArn: new(testCertificate)}},
		SslPolicy: new("ELBSecurityPolicy-TLS-1-2-2017-01"),
	}), "")
	wantCode(t, modify(elbv2.ModifyListenerInput{Certificates: []elbv2types.Certificate{{CertificateArn: new(testCertificate + "9")}}}), "")
	expect("another certificate, the policy stays", NetworkListener{
		Port: 80, Protocol: "TLS", TargetGroup: "other", Certificates: []string{testCertificate + "9"}, Policy: "ELBSecurityPolicy-TLS-1-2-2017-01",
	})
	wantCode(t, modify(elbv2.ModifyListenerInput{Protocol: elbv2types.ProtocolEnumTcp}), "")
	expect("without TLS the certificate goes", NetworkListener{Port: 80, Protocol: "TCP", TargetGroup: "other"})

	ok(k, func(ctx context.Context) (*elbv2.DeleteListenerOutput, error) {
		return k.v2.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: new(second)})
	})
	_, err := k.v2.DeleteListener(t.Context(), &elbv2.DeleteListenerInput{ListenerArn: new(second)})
	wantCode(t, err, "ListenerNotFound")
	arn = second
	wantCode(t, modify(elbv2.ModifyListenerInput{}), "ListenerNotFound")
}
