package aws

import (
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func TestListenerWithUnknownCertificate(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	balancer, group := k.createNet(nil), k.createGroup("group", nil)
	plain := k.listen(balancer, group, 80)
	k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.Listeners = append(in.Listeners, tlsListener(443)) })
	unknown := testCertificate + "-unknown"
	k.SetCertificates(testCertificate)
	secure := func(arn string) *elbv2.CreateListenerInput {
		in := listenerInput(balancer, group, 443)
		in.Protocol, in.Certificates = elbv2types.ProtocolEnumTls, []elbv2types.Certificate{{CertificateArn: new(arn)}}

		return in
	}
	toTLS := func(arn string) error {
		_, err := k.v2.ModifyListener(t.Context(), &elbv2.ModifyListenerInput{
			ListenerArn: new(plain), Protocol: elbv2types.ProtocolEnumTls, Certificates: []elbv2types.Certificate{{CertificateArn: new(arn)}},
			SslPolicy: new(defaultSecurityPolicy),
		})

		return err
	}
	classic := func(arn string) error {
		_, err := k.elb.SetLoadBalancerListenerSSLCertificate(t.Context(), &elb.SetLoadBalancerListenerSSLCertificateInput{
			LoadBalancerName: new("web"), LoadBalancerPort: 443, SSLCertificateId: new(arn),
		})

		return err
	}
	listen := func(port int32, arn string) error {
		l := tlsListener(port)
		l.SSLCertificateId = new(arn)
		_, err := k.elb.CreateLoadBalancerListeners(t.Context(), &elb.CreateLoadBalancerListenersInput{
			LoadBalancerName: new("web"), Listeners: []elbtypes.Listener{l},
		})

		return err
	}
	before := k.Dump()
	_, err := k.v2.CreateListener(t.Context(), secure(unknown))
	wantCode(t, err, "CertificateNotFound", unknown)
	wantCode(t, toTLS(unknown), "CertificateNotFound")
	wantCode(t, classic(unknown), "CertificateNotFound")
	wantCode(t, listen(444, unknown), "CertificateNotFound")
	if after := k.Dump(); after != before {
		t.Errorf("rejected calls changed state:\n%s\nbefore:\n%s", after, before)
	}
	wantCode(t, classic(testCertificate), "")
	wantCode(t, listen(444, testCertificate), "")
	k.SetCertificates(testCertificate, unknown)
	wantCode(t, listen(444, unknown), "DuplicateListener")
	wantCode(t, toTLS(testCertificate), "")
	if n, _ := k.Network("net"); n.Listeners[0].Protocol != "TLS" || n.Listeners[0].ARN != plain {
		t.Errorf("listener %+v, want the same one with TLS", n.Listeners[0])
	}
	_, err = k.v2.ModifyListener(t.Context(), &elbv2.ModifyListenerInput{ListenerArn: new(plain), Protocol: elbv2types.ProtocolEnumUdp})
	wantCode(t, err, "IncompatibleProtocols")
	_, err = k.v2.ModifyListener(t.Context(), &elbv2.ModifyListenerInput{ListenerArn: new(plain), Protocol: elbv2types.ProtocolEnumTcp})
	wantCode(t, err, "")
	if n, _ := k.Network("net"); n.Listeners[0].Protocol != "TCP" || len(n.Listeners[0].Certificates) > 0 {
		t.Errorf("listener %+v, want the same one with TCP", n.Listeners[0])
	}
}
