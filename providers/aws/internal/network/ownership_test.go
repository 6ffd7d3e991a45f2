package network

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// retag replaces the tags of a resource.
func (b *fixture) retag(arn string, tags map[string]string) {
	b.t.Helper()
	ctx := b.t.Context()
	out, err := b.api.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: []string{arn}})
	if err != nil {
		b.t.Fatal(err)
	}
	var keys []string
	for _, tag := range out.TagDescriptions[0].Tags {
		keys = append(keys, *tag.Key)
	}
	api := b.api.(*elbv2.Client)
	if _, err := api.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: keys}); err != nil {
		b.t.Fatal(err)
	}
	if len(tags) == 0 {
		return
	}
	if _, err := api.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: []string{arn}, Tags: awstype.ELBV2Tags(tags)}); err != nil {
		b.t.Fatal(err)
	}
}

func TestForeignLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason  string
		tags    map[string]string
		refused string
	}{
		"another cluster": {
			reason:  "AWS-CLUSTER-7: cloned clusters have Services with the same UIDs",
			tags:    map[string]string{"kubernetes.io/cluster/other": "owned", "kubernetes.io/service-name": "default/web"},
			refused: "kubernetes.io/cluster/other",
		},
		"another cluster by the legacy tag": {
			reason: "AWS-CLUSTER-7: the legacy tag of another cluster", tags: map[string]string{"KubernetesCluster": "other"}, refused: "KubernetesCluster=other",
		},
		"shared with another cluster": {
			reason: "AWS-CLUSTER-7: not only another cluster's",
			tags:   map[string]string{"kubernetes.io/cluster/other": "owned", "kubernetes.io/cluster/demo": "shared"},
		},
		"no tags": {reason: "without its tags, the name is ours"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			b.ensure(web())
			b.retag(b.network().ARN, c.tags)
			if c.refused == "" {
				b.ensure(web())
				b.upToDate(web())
				b.remove(web())
				b.empty()

				return
			}
			for _, group := range b.TargetGroups() {
				b.retag(group.ARN, c.tags)
			}
			before := b.Dump()
			b.Interceptor().Reset()
			_, err := b.tryEnsure(web(kubetest.Port(v1.ProtocolTCP, 8443)))
			for _, err := range []error{err, b.tryRemove(web())} {
				if !errors.Is(err, apierr.ErrConflict) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%s: error %v does not name %s", c.reason, err, c.refused)
				}
			}
			b.nothing()
			seen := b.observe(web())
			if seen.Left() || seen.Hostname() != "" {
				t.Errorf("%s: it is not ours, but left is %v and the host name %q", c.reason, seen.Left(), seen.Hostname())
			}
			if diff := cmp.Diff(before, b.Dump()); diff != "" {
				t.Errorf("%s: touched:\n%s", c.reason, diff)
			}
		})
	}
}

func TestOtherKind(t *testing.T) {
	t.Parallel()
	seen := &Observed{Name: lbName, LoadBalancer: &LoadBalancer{Type: "application", Tags: map[string]string{}}}
	if err := seen.NotOwned(); !errors.Is(err, apierr.ErrConflict) || !strings.Contains(err.Error(), "application") {
		t.Errorf("AWS-NLB-8: an application load balancer with the name is %v", err)
	}
	if seen.Left() {
		t.Error("an application load balancer is not ours")
	}
}

// TestAdopts applies plans that were made before another client did the same.
func TestAdopts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		there  *v1.Service
		tags   map[string]string
		text   string
	}{
		"the same":       {reason: "AWS responds as if it had created it", there: web()},
		"other settings": {reason: "of ours", there: web(kubetest.LocalTraffic(32000), annotated(request.AnnotationAdditionalTags, "a=b"))},
		"other listeners": {
			reason: "the port is taken by another protocol",
			there:  web(annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationAdditionalTags, "a=b")),
		},
		"another cluster": {
			reason: "AWS-CLUSTER-7: the tag of another cluster", there: web(annotated(request.AnnotationAdditionalTags, "a=b")),
			tags: map[string]string{"kubernetes.io/cluster/other": "owned"}, text: "kubernetes.io/cluster/other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			model, _ := b.model(web())
			steps := planFor(model, b.observe(web()))
			b.ensure(c.there)
			if c.tags != nil {
				b.retag(b.network().ARN, c.tags)
			}
			err := steps.Apply(t.Context(), &change.Env{ELBV2: b.shared()}, nil)
			if c.text != "" {
				if !errors.Is(err, apierr.ErrConflict) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%s: error is %v", c.reason, err)
				}

				return
			}
			if err != nil && !errors.Is(err, apierr.ErrConflict) {
				t.Fatalf("%s: %v", c.reason, err)
			}
			b.ensure(web())
			b.upToDate(web())
			b.remove(web())
			b.empty()
		})
	}
}

// TestTagsDenied is about policies that were made for other cloud controller
// managers: they do not allow to read tags.
func TestTagsDenied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		change func(*elbv2.CreateTargetGroupInput)
		// left is whether it alone is something left of the Service.
		left bool
		// stay is how many target groups are left after deleting.
		stay int
	}{
		"fitting": {
			reason: "AWS-TG-6: the one with the wanted name is used, and goes with the load balancer",
			change: func(in *elbv2.CreateTargetGroupInput) { in.UnhealthyThresholdCount = aws.Int32(5) },
			left:   true,
			stay:   1,
		},
		"not fitting": {
			reason: "AWS-TG-6: the one with the wanted name stays as it is",
			change: func(in *elbv2.CreateTargetGroupInput) { in.Protocol = "UDP" },
			stay:   2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			svc := web(kubetest.Port(v1.ProtocolTCP, 443))
			model, _ := b.model(svc)
			b.group(model.Listeners[0].TargetGroup.Name, tagged(nil), c.change)
			b.group("k8s-default-web-0123456789", tagged(nil), nil)
			b.Interceptor().Inject("elbv2.DescribeTags", simserver.Always(), sim.Denied())
			if got := b.observe(svc).Left(); got != c.left {
				t.Errorf("a name makes a target group ours only if it is made of its settings, but left is %v", got)
			}
			b.ensure(svc)
			b.upToDate(svc)
			b.remove(svc)
			if groups := b.TargetGroups(); len(groups) != c.stay {
				t.Errorf("%s: target groups are %v after deleting", c.reason, groups)
			}
		})
	}
}

// TestVanishing has target groups of others go away between two calls.
func TestVanishing(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.ensure(svc)
	other := b.group("k8s-default-web-0123456789", tagged(map[string]string{"kubernetes.io/service-name": "default/w-e-b"}), nil)
	b.Interceptor().Inject("elbv2.DescribeTags", simserver.Nth(1), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if _, err := b.api.DeleteTargetGroup(r.Context(), &elbv2.DeleteTargetGroupInput{TargetGroupArn: &other}); err != nil {
			t.Error(err)
		}
		apply.ServeHTTP(w, r)
	})
	seen := b.observe(svc)
	if len(seen.TargetGroups) != 1 || !seen.TargetGroups[0].Owned || seen.LoadBalancer.Tags == nil {
		t.Errorf("what is deleted meanwhile affects the rest: %+v", seen)
	}
	b.upToDate(svc)
}

// TestOtherNetworks is about clusters that have no ID to distinguish them.
func TestOtherNetworks(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	second := b.Seed("second")
	b.config.Cluster = cluster.ID{}
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.group("k8s-default-web-0123456789", map[string]string{"kubernetes.io/service-name": "default/web"},
		func(in *elbv2.CreateTargetGroupInput) { in.VpcId = &second.VPC })
	b.ensure(svc)
	b.upToDate(svc)
	b.remove(svc)
	if groups := b.TargetGroups(); len(groups) != 1 {
		t.Errorf("AWS-TG-4: target groups are %v, want that of the other VPC left alone", groups)
	}
}
