package network

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// What a resync of a Service with two ports requires.
var resyncCalls = map[string]int{
	"elbv2.DescribeLoadBalancers":          1,
	"elbv2.DescribeTargetGroups":           1,
	"elbv2.DescribeListeners":              1,
	"elbv2.DescribeLoadBalancerAttributes": 1,
	"elbv2.DescribeTags":                   1,
	"elbv2.DescribeTargetHealth":           2,
}

func TestCreates(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web(
		annotated(request.AnnotationSSLCert, certificate),
		annotated(request.AnnotationSSLPorts, "443"),
		annotated(request.AnnotationSSLPolicy, "ELBSecurityPolicy-TLS13-1-2-2021-06"),
		annotated(request.AnnotationBackendProtocol, "ssl"),
		annotated(request.AnnotationAdditionalTags, "team=edge"),
		annotated(request.AnnotationCrossZone, "true"),
		annotated(request.AnnotationAccessLogEnabled, "true"),
		annotated(request.AnnotationAccessLogBucket, "logs"),
		annotated(request.AnnotationHealthCheckTimeout, "4"),
		annotated(request.AnnotationTargetGroupAttributes, "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=false"),
		kubetest.LocalTraffic(32000),
	)
	b.ensure(svc)
	b.upToDate(svc)

	got := b.network()
	check := sim.TargetHealthCheck{
		Protocol: "HTTP", Port: "32000", Path: "/healthz", Matcher: "200-399",
		Interval: 10, Timeout: 4, HealthyThreshold: 2, UnhealthyThreshold: 2,
	}
	tags := tagged(map[string]string{"team": "edge"})
	want := sim.NetworkLoadBalancer{
		Name: lbName, Scheme: "internet-facing", VPC: b.Cluster.VPC, Tags: tags,
		Listeners: []sim.NetworkListener{
			{Port: 80, Protocol: "TCP", Tags: tags},
			{
				Port: 443, Protocol: "TLS", Certificates: []string{certificate},
				Policy: "ELBSecurityPolicy-TLS13-1-2-2021-06", Tags: tags,
			},
		},
	}
	if diff := cmp.Diff(want, got,
		cmpopts.IgnoreFields(sim.NetworkLoadBalancer{}, "ARN", "DNSName", "State", "Mappings", "TargetGroups", "Attributes"),
		cmpopts.IgnoreFields(sim.NetworkListener{}, "ARN", "TargetGroup")); diff != "" {
		t.Errorf("load balancer: -want +got:\n%s", diff)
	}
	for key, value := range map[string]string{
		"load_balancing.cross_zone.enabled": "true", "access_logs.s3.enabled": "true", "access_logs.s3.bucket": "logs",
	} {
		if got.Attributes[key] != value {
			t.Errorf("attribute %s is %q, want %q", key, got.Attributes[key], value)
		}
	}
	if len(got.Mappings) != len(b.Cluster.Zones) {
		t.Errorf("load balancer is in %v, want one subnet for each of %v", got.Mappings, b.Cluster.Zones)
	}
	b.checkGroups(map[int32]string{30080: "TCP", 30443: "TLS"}, check, tags)
	// Only what differs from the defaults of AWS is sent.
	for _, r := range b.Requests("elbv2.ModifyTargetGroupAttributes") {
		if len(r.Form["Attributes.member.2.Key"]) > 0 {
			t.Errorf("only changed attributes are sent, not %v", r.Form)
		}
	}
}

// checkGroups checks the target groups by node port and protocol.
func (b *fixture) checkGroups(want map[int32]string, check sim.TargetHealthCheck, tags map[string]string) {
	b.t.Helper()
	groups := b.TargetGroups()
	if len(groups) != len(want) {
		b.t.Errorf("there are %d target groups, want %d", len(groups), len(want))
	}
	for _, group := range groups {
		if group.Protocol != want[group.Port] || group.TargetType != "instance" {
			b.t.Errorf("AWS-LB-11: target group for %s %d of type %s, want %s", group.Protocol, group.Port, group.TargetType, want[group.Port])
		}
		if diff := cmp.Diff(check, group.HealthCheck); diff != "" {
			b.t.Errorf("health check of %s: -want +got:\n%s", group.Name, diff)
		}
		if diff := cmp.Diff(tags, group.Tags); diff != "" {
			b.t.Errorf("tags of %s: -want +got:\n%s", group.Name, diff)
		}
		if group.Attributes[request.PreserveClientIP] != off {
			b.t.Errorf("target group %s has the attributes %v", group.Name, group.Attributes)
		}
		var ids []string
		for _, target := range group.Targets {
			ids = append(ids, target.ID)
			if target.Port != group.Port {
				b.t.Errorf("target %s of %s has port %d", target.ID, group.Name, target.Port)
			}
		}
		slices.Sort(ids)
		if diff := cmp.Diff(slices.Sorted(slices.Values(b.nodes)), ids); diff != "" {
			b.t.Errorf("targets of %s: -want +got:\n%s", group.Name, diff)
		}
	}
}

const certificate = "arn:aws:acm:us-west-2:123456789012:certificate/0001"

// TestUnchanged is about what looked different at every sync.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		svc    *v1.Service
		more   map[string]int
	}{
		"HTTP": {
			reason: "AWS-LB-14: a health check with a path",
			svc:    web(annotated(request.AnnotationHealthCheckProtocol, "http")),
		},
		"local": {reason: "AWS-LB-14: a health check with a path", svc: web(kubetest.LocalTraffic(32000))},
		"TLS": {
			reason: "AWS-LB-14: TLS without a policy has that of AWS",
			svc:    web(annotated(request.AnnotationSSLCert, certificate)),
		},
		"UDP": {
			reason: "AWS-NLB-2: UDP ports",
			svc:    web(kubetest.Port(v1.ProtocolUDP, 53), kubetest.Port(v1.ProtocolUDP, 123)),
		},
		"attributes": {
			reason: "AWS-NLB-7: read only if annotated",
			svc:    web(annotated(request.AnnotationTargetGroupAttributes, "proxy_protocol_v2.enabled=true")),
			more:   map[string]int{"elbv2.DescribeTargetGroupAttributes": 2},
		},
		"access log": {
			reason: "bucket and prefix",
			svc: web(annotated(request.AnnotationAccessLogEnabled, "true"),
				annotated(request.AnnotationAccessLogBucket, "logs"), annotated(request.AnnotationAccessLogPrefix, "p")),
		},
		"timeout": {reason: "AWS-LB-14: an annotated timeout", svc: web(annotated(request.AnnotationHealthCheckTimeout, "5"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			b.ensure(c.svc)
			b.Interceptor().Reset()
			b.ensure(c.svc)
			b.nothing()
			want := maps.Clone(resyncCalls)
			maps.Copy(want, c.more)
			b.calls(want)
		})
	}
}
