package network

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// group makes a target group as another client would.
func (b *fixture) group(name string, tags map[string]string, change func(*elbv2.CreateTargetGroupInput)) string {
	b.t.Helper()
	input := &elbv2.CreateTargetGroupInput{
		Name: &name, VpcId: &b.Cluster.VPC, Protocol: "TCP", Port: aws.Int32(30443), TargetType: "instance",
		HealthCheckProtocol: "TCP", HealthCheckIntervalSeconds: aws.Int32(30),
		HealthyThresholdCount: aws.Int32(3), UnhealthyThresholdCount: aws.Int32(3), Tags: awstype.ELBV2Tags(tags),
	}
	if change != nil {
		change(input)
	}
	out, err := b.api.CreateTargetGroup(b.t.Context(), input)
	if err != nil {
		b.t.Fatal(err)
	}

	return *out.TargetGroups[0].TargetGroupArn
}

// TestLeftTargetGroups is about target groups that no load balancer uses.
func TestLeftTargetGroups(t *testing.T) {
	t.Parallel()
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	for name, c := range map[string]struct {
		reason string
		tags   map[string]string
		change func(*elbv2.CreateTargetGroupInput)
		// other is that the group has another name than the one wanted.
		other string
		// stays is that neither a sync nor deleting removes it.
		stays bool
	}{
		"as wanted": {reason: "AWS-TG-3: used", tags: tagged(nil)},
		"other thresholds": {
			reason: "AWS-TG-3: used, and made as wanted", tags: tagged(nil),
			change: func(in *elbv2.CreateTargetGroupInput) { in.UnhealthyThresholdCount = aws.Int32(5) },
		},
		"fewer tags": {
			reason: "AWS-TG-3, AWS-LB-16: used, and tagged as wanted", tags: map[string]string{"KubernetesCluster": clusterID, "kubernetes.io/service-name": "default/web"},
		},
		"another interval": {
			reason: "AWS-TG-3: used, and made as wanted", tags: tagged(nil),
			change: func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckIntervalSeconds = aws.Int32(60) },
		},
		"another protocol": {
			reason: "AWS-TG-3: made anew", tags: tagged(nil),
			change: func(in *elbv2.CreateTargetGroupInput) { in.Protocol = "UDP" },
		},
		"stale": {reason: "AWS-DELETE-1, AWS-TG-3: removed by the next sync", tags: tagged(nil), other: "k8s-default-web-0123456789"},
		"another Service": {
			reason: "AWS-TG-4: names are cut, tags are not", tags: tagged(map[string]string{"kubernetes.io/service-name": "default/w-e-b"}),
			other: "k8s-default-web-0123456789", stays: true,
		},
		"another cluster": {
			reason: "AWS-CLUSTER-7: the tag of another cluster", tags: map[string]string{"kubernetes.io/cluster/other": "owned", "kubernetes.io/service-name": "default/web"},
			other: "k8s-default-web-0123456789", stays: true,
		},
		"no Service": {
			reason: "AWS-TG-4: the tag of the cluster alone is not enough",
			tags:   map[string]string{"kubernetes.io/cluster/demo": "owned"},
			other:  "k8s-default-web-0123456789", stays: true,
		},
		"another name": {reason: "not one that we make", tags: tagged(nil), other: "mine", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			model, _ := b.model(svc)
			wanted := model.Listeners[0].TargetGroup.Name
			made := wanted
			if c.other != "" {
				made = c.other
			}
			b.group(made, c.tags, c.change)
			if got := b.observe(svc).Left(); got == c.stays {
				t.Errorf("AWS-DELETE-1, %s: something left is %v", c.reason, got)
			}
			b.ensure(svc)
			b.upToDate(svc)
			want := []string{wanted}
			if c.stays {
				want = append(want, made)
			}
			var got []string
			for _, group := range b.TargetGroups() {
				got = append(got, group.Name)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			b.remove(svc)
			if groups := b.TargetGroups(); len(groups) > 1 || (len(groups) == 1) != c.stays {
				t.Errorf("%s: left after deleting: %v", c.reason, groups)
			}
		})
	}
}

// TestNameOfOthers has another owner's target group with the name that we
// need.
func TestNameOfOthers(t *testing.T) {
	t.Parallel()
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	for name, c := range map[string]struct {
		reason string
		tags   map[string]string
		used   bool
		text   string
	}{
		"of another cluster": {
			reason: "AWS-TG-3: the error names the owner",
			tags:   map[string]string{"kubernetes.io/cluster/other": "owned"}, text: "kubernetes.io/cluster/other=owned",
		},
		"of another load balancer": {
			reason: "AWS-TG-3: the error names the owner", tags: tagged(nil), used: true, text: "belongs to load balancer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			model, _ := b.model(svc)
			group := b.group(model.Listeners[0].TargetGroup.Name, c.tags, nil)
			if c.used {
				env := &change.Env{ELBV2: b.shared()}
				steps := change.Plan{createLoadBalancer(&Model{Name: "other", Mappings: model.Mappings}), createListener(connected{
					Listener: Listener{Port: 443, Protocol: "TCP"},
					balancer: named{"other", plan.Ref{Key: loadBalancerKey("other")}}, group: named{ref: plan.Ref{ID: group}},
				}, nil)}
				if err := steps.Apply(t.Context(), env, nil); err != nil {
					t.Fatal(err)
				}
			}
			_, err := b.tryEnsure(svc)
			if !errors.Is(err, apierr.ErrConflict) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: error is %v", c.reason, err)
			}
			b.remove(svc)
			if groups := b.TargetGroups(); len(groups) != 1 {
				t.Errorf("%s: target groups are %v after deleting", c.reason, groups)
			}
		})
	}
}
