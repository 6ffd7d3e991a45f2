package request_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

const (
	uid    = "0f0e0d0c-1111-2222-3333-444455556666"
	lbName = "a0f0e0d0c11112222333344445555666"
)

// web is a Service with the UID of the vectors.
func web(options ...kubetest.ServiceOption) *v1.Service {
	return kubetest.Service("default", "web", append([]kubetest.ServiceOption{kubetest.ServiceUID(uid)}, options...)...)
}

// with annotates.
func with(name annotation.Name, value string) kubetest.ServiceOption {
	return kubetest.ServiceAnnotated(string(name), value)
}

// nlb requests a network load balancer.
func nlb() kubetest.ServiceOption { return with(request.AnnotationType, "nlb") }

// change changes anything in a Service.
func change(f func(*v1.Service)) kubetest.ServiceOption { return f }

// must reads a Service that is right.
func must(t *testing.T, svc *v1.Service, config request.Config, nodes ...*v1.Node) (*request.Request, []service.Warning) {
	t.Helper()
	r, warnings, err := request.New(svc, nodes, config)
	if err != nil {
		t.Fatal(err)
	}

	return r, warnings
}

func TestUnmanagedIsNotChecked(t *testing.T) {
	t.Parallel()

	broken := change(func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
	r, warnings := must(t, web(broken, with(request.AnnotationType, "external")), request.Config{})
	want := &request.Request{
		Service: types.NamespacedName{Namespace: "default", Name: "web"}, UID: uid, Name: lbName, Kind: request.Unmanaged,
	}
	if diff := cmp.Diff(want, r); diff != "" || len(warnings) > 0 {
		t.Errorf("AWS-LB-2: a Service of another controller is left alone: %s, %v", diff, warnings)
	}
}

// mistake is an invalid setting of a Service, and the text of its error.
type mistake struct {
	reason  string
	make    kubetest.ServiceOption
	message string
}

// TestOrderOfMistakes (AWS-LB-7) makes all mistakes at once, and corrects them
// one by one: the error is always about the first.
func TestOrderOfMistakes(t *testing.T) {
	t.Parallel()

	const protocol = "the protocol of a port"
	port := func(change func(*v1.ServicePort)) kubetest.ServiceOption {
		return func(svc *v1.Service) { change(&svc.Spec.Ports[0]) }
	}
	both := []mistake{
		{"session affinity", func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP }, "session affinity ClientIP"},
		{"several protocols", kubetest.Port(v1.ProtocolUDP, 53), "different protocols (TCP, UDP)"},
		{"source ranges", func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0"} }, "source ranges"},
		{protocol, func(svc *v1.Service) {
			for i := range svc.Spec.Ports {
				svc.Spec.Ports[i].Protocol = v1.ProtocolSCTP
			}
		}, "protocol SCTP"},
		{"a fixed address", func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "192.0.2.1" }, "spec.loadBalancerIP 192.0.2.1"},
		{"no node port", port(func(p *v1.ServicePort) { p.NodePort = 0 }), "no port has a node port"},
		{"an annotation", with(request.AnnotationHealthCheckInterval, "soon"), `"soon" is not a whole number`},
	}
	network := append([]mistake{
		{"extra groups", with(request.AnnotationExtraSecurityGroups, ""), "extra-security-groups cannot be used"},
		{"attributes of target groups", with(request.AnnotationTargetGroupAttributes, "speed=high"), `attribute "speed"`},
	}, both...)
	classic := append([]mistake{
		{"attributes of target groups", with(request.AnnotationTargetGroupAttributes, ""), "needs a network load balancer"},
	}, both...)
	for kind, mistakes := range map[string][]mistake{"nlb": network, "clb": classic} {
		for i := range mistakes {
			options := []kubetest.ServiceOption{with(request.AnnotationType, kind), kubetest.Port(v1.ProtocolTCP, 80)}
			for _, m := range mistakes[i:] {
				// With all protocols the same there is nothing different, so the
				// earlier mistake hides the later one only while it is there.
				if m.reason == protocol && mistakes[i].reason != protocol {
					continue
				}
				options = append(options, m.make)
			}
			_, _, err := request.New(web(options...), nil, request.Config{})
			if err == nil || !strings.Contains(err.Error(), mistakes[i].message) {
				t.Errorf("%s %s: got %v, want %q in it", kind, mistakes[i].reason, err, mistakes[i].message)
			}
			if !errors.Is(err, apierr.ErrInvalid) {
				t.Errorf("%s %s: %v must mean that the request is invalid", kind, mistakes[i].reason, err)
			}
		}
	}
}

func TestBadNetworkSetting(t *testing.T) {
	t.Parallel()

	bad := errors.New("mode is not known")
	config := request.Config{BadNetworkSetting: bad}
	if _, _, err := request.New(web(nlb()), nil, config); !errors.Is(err, bad) {
		t.Errorf("AWS-CONFIG-6: a network load balancer needs the setting, got %v", err)
	}
	if _, _, err := request.New(web(), nil, config); err != nil {
		t.Errorf("a classic load balancer does not, got %v", err)
	}
}

func TestNewNetwork(t *testing.T) {
	t.Parallel()

	options := []kubetest.ServiceOption{
		nlb(),
		with(request.AnnotationInternal, "false"), with(request.AnnotationSecurityGroups, "sg-1"),
		with(request.AnnotationTargetGroupAttributes, " proxy_protocol_v2.enabled=true ,preserve_client_ip.enabled=false"),
		with(request.AnnotationEIPAllocations, "eipalloc-1 , eipalloc-2"),
		with(request.AnnotationPrivateIPv4Addresses, "10.0.0.1, 10.0.1.1"),
		with(request.AnnotationIdleTimeout, "not read"), with(request.AnnotationCrossZone, ""),
	}
	got, _ := must(t, web(options...), request.Config{ManagedNetworkGroups: true})
	want := &request.Request{
		Service: types.NamespacedName{Namespace: "default", Name: "web"}, UID: uid, Name: lbName, Kind: request.Network,
		Ports:                 []service.Port{{Name: "tcp-80", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
		SourceRanges:          prefixes("0.0.0.0/0"),
		SecurityGroups:        []string{"sg-1"},
		TargetGroupAttributes: map[string]string{request.ProxyProtocolV2: "true", request.PreserveClientIP: "false"},
		EIPAllocations:        []string{"eipalloc-1", "eipalloc-2"},
		PrivateIPv4Addresses:  []string{"10.0.0.1", "10.0.1.1"},
	}
	if diff := cmp.Diff(want, got, comparePrefixes); diff != "" {
		t.Errorf("AWS-LB-6: -want +got:\n%s", diff)
	}
	if got, _ := must(t, web(options...), request.Config{}); got.SecurityGroups != nil {
		t.Errorf("security groups are for the managed mode, got %v", got.SecurityGroups)
	}
}

// TestEmptySubnets: a template that leaves the value empty requests nothing, like
// one without the annotation.
func TestEmptySubnets(t *testing.T) {
	t.Parallel()

	r, warnings := must(t, web(with(request.AnnotationSubnets, "")), request.Config{})
	if len(r.Subnets) != 0 || len(warnings) != 0 {
		t.Errorf("got subnets %v, warnings %v", r.Subnets, warnings)
	}
}
