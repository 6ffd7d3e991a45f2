package aws

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// TestAdoptionWritesNothing has a process adopt network load balancers with the
// rules that the upstream AWS cloud controller manager leaves: for clients, for
// path MTU discovery by their ranges, and for health checks by subnets, unless
// clients may come from anywhere and health checks go to the same ports.
func TestAdoptionWritesNothing(t *testing.T) {
	t.Parallel()
	const subnets = 3
	hidden := annotate(request.AnnotationTargetGroupAttributes, request.PreserveClientIP+"=false")
	anywhere := map[string]int{"client": 2, "mtu": 1}
	for name, tc := range map[string]struct {
		reason  string
		options []kubetest.ServiceOption
		// hide has the target groups hide the clients although the Service does not
		// request it.
		hide  bool
		rules map[string]int
	}{
		"plain":                  {"clients may come from anywhere", nil, false, anywhere},
		"clients hidden":         {"the load balancer may come from there, too", []kubetest.ServiceOption{hidden}, false, anywhere},
		"clients hidden, range":  {"the same range, named", []kubetest.ServiceOption{hidden, from("0.0.0.0/0")}, false, anywhere},
		"clients hidden by user": {"what the Service does not request stays", nil, true, anywhere},
		"clients hidden, local": {
			"health checks have a port of their own",
			[]kubetest.ServiceOption{hidden, kubetest.LocalTraffic(32000)},
			false,
			map[string]int{"client": 2, "mtu": 1, "health": subnets},
		},
		"local traffic": {
			"health checks have a port of their own",
			[]kubetest.ServiceOption{kubetest.LocalTraffic(32000)},
			false,
			map[string]int{"client": 2, "mtu": 1, "health": subnets},
		},
		"source ranges": {
			"health checks come from the subnets, not from the source ranges",
			[]kubetest.ServiceOption{from("192.0.2.0/24", "198.51.100.0/24")},
			false,
			map[string]int{"client": 4, "mtu": 2, "health": 2 * subnets},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account{nodes: 3}.test(t, func(b *balanced) {
				services := twoPorts(0, 1, append(tc.options, nlb())...)
				b.ensureAll(services)
				if diff := cmp.Diff(tc.rules, b.nodeRules()); diff != "" {
					b.t.Fatalf("rules of the nodes: -upstream +ours\n%s", diff)
				}
				if tc.hide {
					b.hideClients()
				}
				b.restart()
				b.measure("adopt: "+tc.reason, func() { b.ensureAll(services) }).atMost(12, 1).readOnly()
			})
		})
	}
}

// nodeRules counts the rules of the nodes for network load balancers by kind.
func (b *balanced) nodeRules() map[string]int {
	kinds := map[string]int{}
	for _, rule := range b.Rules(b.seed.NodeGroup) {
		if kind, ours := strings.CutPrefix(rule.Description, "kubernetes.io/rule/nlb/"); ours {
			kind, _, _ = strings.Cut(kind, "=")
			kinds[kind]++
		}
	}

	return kinds
}

// hideClients sets the attribute of all target groups.
func (b *balanced) hideClients() {
	b.t.Helper()
	for _, group := range b.TargetGroups() {
		_, err := b.lb.ELBV2.ModifyTargetGroupAttributes(b.t.Context(), &elbv2.ModifyTargetGroupAttributesInput{
			TargetGroupArn: awssdk.String(group.ARN),
			Attributes: []elbv2types.TargetGroupAttribute{{
				Key: awssdk.String(request.PreserveClientIP), Value: awssdk.String("false"),
			}},
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
}
