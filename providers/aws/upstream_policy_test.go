package aws

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// missingUpstream are the actions that the provider calls and the policy of the
// upstream controller does not allow:
// https://kubernetes.github.io/cloud-provider-aws/prerequisites/
var missingUpstream = []string{
	"ec2:DeleteTags",
	"ec2:DescribeNetworkInterfaces",
	"ec2:ModifyNetworkInterfaceAttribute",
	"ec2:ReplaceRoute",
	"ec2:UpdateSecurityGroupRuleDescriptionsIngress",
	"elasticloadbalancing:DescribeTags",
	"elasticloadbalancing:DescribeTargetGroupAttributes",
	"elasticloadbalancing:ModifyTargetGroupAttributes",
	"elasticloadbalancing:SetLoadBalancerListenerSSLCertificate",
	"elasticloadbalancing:SetSecurityGroups",
}

// attributesAction is what Services with some options need to keep up to date.
const attributesAction = "elasticloadbalancing:DescribeTargetGroupAttributes"

// With the policy of the upstream controller load balancers are created, kept up
// to date and deleted, unless an annotation needs more.
func TestUpstreamPolicyIsEnough(t *testing.T) {
	t.Parallel()
	if known := calledActions(t); !known.HasAll(missingUpstream...) {
		t.Fatalf("no longer called: %v", sets.List(sets.New(missingUpstream...).Difference(known)))
	}
	const ranges = "192.0.2.0/24"
	for name, test := range map[string]struct {
		reason   string
		options  []kubetest.ServiceOption
		settings []func(*loadBalancerConfig)
		clients  []string
		warns    bool
	}{
		"classic": {reason: "optional actions have a substitute"},
		"classic, certificate": {reason: "the listener is replaced", options: []kubetest.ServiceOption{
			annotate(request.AnnotationSSLCert, serverCertificate), annotate(request.AnnotationSSLPorts, "443"),
		}},
		"network":         {reason: "attributes do not matter", options: []kubetest.ServiceOption{nlb()}},
		"network, ranges": {reason: "attributes do not matter", options: []kubetest.ServiceOption{nlb(), from(ranges)}, clients: []string{ranges}},
		"network, local":  {reason: "attributes do not matter", options: []kubetest.ServiceOption{nlb(), kubetest.LocalTraffic(32000)}},
		"network, managed": {
			reason: "groups are set when the load balancer is created", options: []kubetest.ServiceOption{nlb()},
			settings: []func(*loadBalancerConfig){managedGroups},
		},
		"network, local, ranges": {
			reason:  "nodes may have to allow the load balancer itself",
			options: []kubetest.ServiceOption{nlb(), from(ranges), kubetest.LocalTraffic(32000)}, clients: []string{ranges}, warns: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, test.settings...)
			b.SetDenied(missingUpstream...)
			before := b.Leaks()
			first, second := two(test.options...)
			if first.Spec.HealthCheckNodePort != 0 {
				second.Spec.HealthCheckNodePort++
			}
			services := map[string]*v1.Service{webName: first, apiName: second}
			check := func() {
				t.Helper()
				for name, svc := range services {
					b.ensure(svc)
					b.drainEvents()
					b.unchanged(svc)
					b.reachable(name, test.clients...)
				}
			}
			check()
			first.Spec.Ports = first.Spec.Ports[:1]
			check()
			b.nodes = b.nodes[:2]
			check()
			b.lb = b.controller(test.settings...)
			b.unchanged(first)
			warned := slices.ContainsFunc(b.drainEvents(), func(event string) bool { return strings.Contains(event, attributesAction) })
			if warned != test.warns {
				t.Errorf("%s: an Event names the missing permission: %t", test.reason, warned)
			}
			b.remove(first)
			b.reachable(apiName, test.clients...)
			b.remove(second)
			b.same(before)
		})
	}
}

// While attributes of target groups may not be read, the rules that allow the
// load balancer itself stay: its clients may be hidden.
func TestRulesForHiddenClientsStayWithoutAttributes(t *testing.T) {
	t.Parallel()
	const ranges = "192.0.2.0/24"
	b := balance(t)
	before := b.Leaks()
	svc := web(nlb(), from(ranges), kubetest.LocalTraffic(32000), annotate(request.AnnotationTargetGroupAttributes, request.PreserveClientIP+"=false"))
	b.ensure(svc)
	b.reachable(webName, ranges)
	b.SetDenied(attributesAction)
	b.lb = b.controller()
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); err == nil {
		t.Error("the annotation cannot be compared, and it is no error")
	}
	delete(svc.Annotations, string(request.AnnotationTargetGroupAttributes))
	b.ensure(svc)
	b.unchanged(svc)
	b.reachable(webName, ranges)
	svc.Spec.Ports = svc.Spec.Ports[:1]
	b.ensure(svc)
	b.reachable(webName, ranges)
	if rules := strings.Join(b.rules(b.seed.NodeGroup), "\n"); strings.Contains(rules, "30443") {
		t.Errorf("rules of the port that is gone stay:\n%s", rules)
	}
	b.remove(svc)
	b.same(before)
}
