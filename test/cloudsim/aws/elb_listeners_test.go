package aws

import (
	"context"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	"github.com/google/go-cmp/cmp"
)

func TestClassicListeners(t *testing.T) {
	t.Parallel()
	plain := func(protocol, instanceProtocol string, port int32) elbtypes.Listener {
		return elbtypes.Listener{Protocol: new(protocol), InstanceProtocol: new(instanceProtocol), LoadBalancerPort: port, InstancePort: new(int32(30443))}
	}
	certified := func(l elbtypes.Listener, certificate string) elbtypes.Listener {
		l.SSLCertificateId = new(certificate)

		return l
	}
	cases := map[string]struct {
		reason string
		add    elbtypes.Listener
		code   string
	}{
		"ssl to tcp":   {"certificate, no backend protocol", tlsListener(443), ""},
		"as it is":     {"the call can be repeated after a lost response", elbtypes.Listener{Protocol: new("TCP"), LoadBalancerPort: 80, InstancePort: new(int32(30080))}, ""},
		"port in use":  {"", plain("tcp", "tcp", 80), "DuplicateListener"},
		"no ARN":       {"", certified(plain("ssl", "tcp", 443), "my-certificate"), "CertificateNotFound"},
		"mixed layers": {"", plain("tcp", "http", 443), "InvalidConfigurationRequest"},
		"udp":          {"TCP only", plain("udp", "udp", 443), "UnsupportedProtocol"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			k.createWeb(nil)
			_, err := k.elb.CreateLoadBalancerListeners(t.Context(), &elb.CreateLoadBalancerListenersInput{
				LoadBalancerName: new("web"), Listeners: []elbtypes.Listener{tc.add},
			})
			if got := code(err); got != tc.code {
				t.Fatalf("error code %q, want %q (%s)", got, tc.code, tc.reason)
			}
			b, _ := k.Classic("web")
			want := 1
			if err == nil && tc.add.LoadBalancerPort != 80 {
				want = 2
			}
			if len(b.Listeners) != want {
				t.Errorf("listeners %+v, want %d", b.Listeners, want)
			}
		})
	}
}

func TestClassicPolicies(t *testing.T) {
	t.Parallel()
	// More calls are made while the clock stands still than AWS allows at once.
	k := startBalancing(t, Options{DisableThrottling: true})
	k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.Listeners = append(in.Listeners, tlsListener(443)) })
	create := func(name, kind, key, value string) error {
		_, err := k.elb.CreateLoadBalancerPolicy(t.Context(), &elb.CreateLoadBalancerPolicyInput{
			LoadBalancerName: new("web"), PolicyName: new(name), PolicyTypeName: new(kind),
			PolicyAttributes: []elbtypes.PolicyAttribute{{AttributeName: new(key), AttributeValue: new(value)}},
		})

		return err
	}
	onListener := func(port int32, names ...string) error {
		_, err := k.elb.SetLoadBalancerPoliciesOfListener(t.Context(), &elb.SetLoadBalancerPoliciesOfListenerInput{
			LoadBalancerName: new("web"), LoadBalancerPort: port, PolicyNames: append([]string{}, names...),
		})

		return err
	}
	onBackend := func(port int32, names ...string) error {
		_, err := k.elb.SetLoadBalancerPoliciesForBackendServer(t.Context(), &elb.SetLoadBalancerPoliciesForBackendServerInput{
			LoadBalancerName: new("web"), InstancePort: new(port), PolicyNames: append([]string{}, names...),
		})

		return err
	}
	const proxy, tls = "k8s-proxyprotocol-enabled", "k8s-SSLNegotiationPolicy-x"
	for _, step := range []struct {
		what string
		err  error
		code string
	}{
		{"proxy protocol policy", create(proxy, "ProxyProtocolPolicyType", "ProxyProtocol", "true"), ""},
		{"twice", create(proxy, "ProxyProtocolPolicyType", "ProxyProtocol", "true"), "DuplicatePolicyName"},
		{"negotiation policy", create(tls, "SSLNegotiationPolicyType", "Reference-Security-Policy", "ELBSecurityPolicy-TLS-1-2-2017-01"), ""},
		{"unknown type", create("invalid", "StickinessType", "a", "b"), "PolicyTypeNotFound"},
		{"listener", onListener(443, tls), ""},
		{"no listener", onListener(8443, tls), "ListenerNotFound"},
		{"unknown policy", onListener(443, "nothing"), "PolicyNotFound"},
		{"backend", onBackend(30080, proxy), ""},
	} {
		if got := code(step.err); got != step.code {
			t.Errorf("%s: error code %q, want %q", step.what, got, step.code)
		}
	}
	b, _ := k.Classic("web")
	if diff := cmp.Diff(map[int32][]string{30080: {proxy}}, b.BackendPolicies); diff != "" {
		t.Errorf("backends, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{tls}, b.Listeners[1].Policies); diff != "" {
		t.Errorf("policies of 443, -want +got:\n%s", diff)
	}

	ok(k, func(ctx context.Context) (*elb.DeleteLoadBalancerListenersOutput, error) {
		return k.elb.DeleteLoadBalancerListeners(ctx, &elb.DeleteLoadBalancerListenersInput{LoadBalancerName: new("web"), LoadBalancerPorts: []int32{80}})
	})
	if wire := describeWeb(k); len(wire.BackendServerDescriptions) != 1 || *wire.BackendServerDescriptions[0].InstancePort != 30080 {
		t.Errorf("backends stay when their listener goes, got %+v", wire.BackendServerDescriptions)
	}
	if err := onBackend(30080); err != nil {
		t.Errorf("clear a backend that is no longer listed: %v", err)
	}
	if wire := describeWeb(k); len(wire.BackendServerDescriptions) != 0 {
		t.Errorf("backends %+v, want none", wire.BackendServerDescriptions)
	}
}
