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

func TestCreateCosts(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web()
	env := b.ensure(svc)
	// The budget is twelve, with what security groups and the other API take of
	// it. A process that starts lists all load balancers, and reads one that the
	// list does not have by name.
	b.calls(map[string]int{
		"elbv2.DescribeLoadBalancers": 2,
		"elbv2.DescribeTargetGroups":  1,
		"elbv2.CreateLoadBalancer":    1,
		"elbv2.CreateTargetGroup":     2,
		"elbv2.RegisterTargets":       2,
		"elbv2.CreateListener":        2,
	})
	if host, err := env.IDs.Get(HostnameKey(lbName)); err != nil || host != b.network().DNSName {
		t.Errorf("stored the DNS name %q, error %v, want %s", host, err, b.network().DNSName)
	}

	b.Interceptor().Reset()
	b.ensure(svc)
	b.calls(resyncCalls)
	b.nothing()

	b.Interceptor().Reset()
	b.remove(svc)
	b.calls(map[string]int{
		"elbv2.DescribeLoadBalancers": 1,
		"elbv2.DescribeTargetGroups":  1,
		"elbv2.DescribeTags":          1,
		"elbv2.DeleteLoadBalancer":    1,
		"elbv2.DeleteTargetGroup":     2,
	})
	b.empty()

	b.Interceptor().Reset()
	b.remove(svc) // AWS-DELETE-2: absent is success
	b.calls(map[string]int{"elbv2.DescribeLoadBalancers": 2, "elbv2.DescribeTargetGroups": 1})
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

const (
	certificate  = "arn:aws:acm:us-west-2:123456789012:certificate/0001"
	certificate2 = "arn:aws:acm:us-west-2:123456789012:certificate/0002"
)

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

func TestReconciles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason        string
		before, after *v1.Service
		writes        map[string]int
		check         func(*testing.T, *fixture)
	}{
		"unhealthy threshold": {
			reason: "AWS-HC-6: alone it was ignored",
			before: web(), after: web(annotated(request.AnnotationUnhealthyThreshold, "7")),
			writes: map[string]int{"elbv2.ModifyTargetGroup": 2},
			check: func(t *testing.T, b *fixture) {
				if got := b.TargetGroups()[0].HealthCheck.UnhealthyThreshold; got != 7 {
					t.Errorf("unhealthy threshold is %d, want 7", got)
				}
			},
		},
		"timeout": {
			reason: "AWS-HC-6: it was never sent",
			before: web(), after: web(annotated(request.AnnotationHealthCheckTimeout, "5")),
			writes: map[string]int{"elbv2.ModifyTargetGroup": 2},
			check: func(t *testing.T, b *fixture) {
				if got := b.TargetGroups()[0].HealthCheck.Timeout; got != 5 {
					t.Errorf("timeout is %d, want 5", got)
				}
			},
		},
		"timeout no more": {
			reason: "AWS-HC-6: without the annotation it stays as it is",
			before: web(annotated(request.AnnotationHealthCheckTimeout, "5")), after: web(),
		},
		"path": {
			reason: "AWS-TG-2: the target group stays",
			before: web(kubetest.LocalTraffic(32000)),
			after:  web(kubetest.LocalTraffic(32000), annotated(request.AnnotationHealthCheckPath, "/ready")),
			writes: map[string]int{"elbv2.ModifyTargetGroup": 2},
		},
		"interval": {
			reason: "AWS-TG-2: the target group stays",
			before: web(), after: web(annotated(request.AnnotationHealthCheckInterval, "15")),
			writes: map[string]int{"elbv2.ModifyTargetGroup": 2},
		},
		"interval below the timeout": {
			reason: "AWS-HC-6: the timeout becomes the default",
			before: web(annotated(request.AnnotationHealthCheckTimeout, "20")), after: web(annotated(request.AnnotationHealthCheckInterval, "15")),
			writes: map[string]int{"elbv2.ModifyTargetGroup": 2},
		},
		"health check protocol": {
			reason: "AWS-TG-2: the target group stays",
			before: web(), after: web(annotated(request.AnnotationHealthCheckProtocol, "http")),
			writes: map[string]int{"elbv2.ModifyTargetGroup": 2},
			check: func(t *testing.T, b *fixture) {
				if got := b.TargetGroups()[0].HealthCheck; got.Protocol != "HTTP" || got.Timeout != 6 {
					t.Errorf("health check %+v, want one over HTTP with its default timeout", got)
				}
			},
		},
		"one port less": {
			reason: "AWS-NLB-4: the listener goes, and its target group",
			before: web(), after: web(kubetest.Port(v1.ProtocolTCP, 443)),
			writes: map[string]int{"elbv2.DeleteListener": 1, "elbv2.DeleteTargetGroup": 1},
		},
		"one port more": {
			reason: "as on create",
			before: web(kubetest.Port(v1.ProtocolTCP, 443)), after: web(),
			writes: map[string]int{"elbv2.CreateTargetGroup": 1, "elbv2.RegisterTargets": 1, "elbv2.CreateListener": 1},
		},
		"TCP to TLS": {
			reason: "the listener changes in place and serves meanwhile",
			before: web(), after: web(annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationSSLPorts, "443")),
			writes: map[string]int{"elbv2.ModifyListener": 1},
		},
		"TCP to UDP": {
			reason: "the target group cannot stay, the listener can",
			before: web(kubetest.Port(v1.ProtocolTCP, 53)), after: web(kubetest.Port(v1.ProtocolUDP, 53)),
			writes: map[string]int{
				"elbv2.CreateTargetGroup": 1, "elbv2.RegisterTargets": 1, "elbv2.ModifyListener": 1, "elbv2.DeleteTargetGroup": 1,
			},
		},
		"TLS to the end": {
			reason: "the protocol of the target group differs",
			before: web(annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationSSLPorts, "443")),
			after: web(annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationSSLPorts, "443"),
				annotated(request.AnnotationBackendProtocol, "ssl")),
			writes: map[string]int{
				"elbv2.CreateTargetGroup": 1, "elbv2.RegisterTargets": 1,
				"elbv2.ModifyListener": 1, "elbv2.DeleteTargetGroup": 1,
			},
		},
		"certificate and policy": {
			reason: "in one call for each listener",
			before: web(annotated(request.AnnotationSSLCert, certificate)),
			after: web(annotated(request.AnnotationSSLCert, certificate2),
				annotated(request.AnnotationSSLPolicy, "ELBSecurityPolicy-TLS13-1-3-2021-06")),
			writes: map[string]int{"elbv2.ModifyListener": 2},
			check: func(t *testing.T, b *fixture) {
				l := b.network().Listeners[0]
				if l.Policy != "ELBSecurityPolicy-TLS13-1-3-2021-06" || l.Certificates[0] != certificate2 {
					t.Errorf("listener has %s, %v", l.Policy, l.Certificates)
				}
			},
		},
		"cross zone": {
			reason: "changed keys only",
			before: web(), after: web(annotated(request.AnnotationCrossZone, "true")),
			writes: map[string]int{"elbv2.ModifyLoadBalancerAttributes": 1},
		},
		"cross zone no more": {
			reason: "AWS-NLB-7: without the annotation it is off",
			before: web(annotated(request.AnnotationCrossZone, "true")), after: web(),
			writes: map[string]int{"elbv2.ModifyLoadBalancerAttributes": 1},
		},
		"target group attributes": {
			reason: "only those that differ",
			before: web(),
			after: web(annotated(request.AnnotationTargetGroupAttributes,
				"proxy_protocol_v2.enabled=true,preserve_client_ip.enabled=true")),
			writes: map[string]int{"elbv2.ModifyTargetGroupAttributes": 2},
		},
		"target group attributes no more": {
			reason: "AWS-NLB-9: without the annotation they keep their last values",
			before: web(annotated(request.AnnotationTargetGroupAttributes, "proxy_protocol_v2.enabled=true")), after: web(),
		},
		"tags": {
			reason: "AWS-LB-16: added to the load balancer, the listeners and the target groups",
			before: web(annotated(request.AnnotationAdditionalTags, "team=edge")),
			after:  web(annotated(request.AnnotationAdditionalTags, "team=core,stage=live")),
			writes: map[string]int{"elbv2.AddTags": 5},
			check: func(t *testing.T, b *fixture) {
				want := tagged(map[string]string{"team": "core", "stage": "live"})
				for _, got := range []map[string]string{b.network().Tags, b.network().Listeners[0].Tags, b.TargetGroups()[0].Tags} {
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("tags: -want +got:\n%s", diff)
					}
				}
			},
		},
		"tags no more": {
			reason: "AWS-LB-16: never removed",
			before: web(annotated(request.AnnotationAdditionalTags, "team=edge")), after: web(),
		},
		"scheme": {
			reason: "AWS-LB-15: AWS does not change it, so there is a warning",
			before: web(), after: web(annotated(request.AnnotationInternal, "true")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			b.ensure(c.before)
			b.Interceptor().Reset()
			b.ensure(c.after)
			want := c.writes
			if want == nil {
				want = map[string]int{}
			}
			if diff := cmp.Diff(want, b.Writes()); diff != "" {
				t.Errorf("writes, %s: -want +got:\n%s", c.reason, diff)
			}
			if c.check != nil {
				c.check(t, b)
			}
			b.upToDate(c.after)
			b.remove(c.after)
			b.empty()
		})
	}
}
