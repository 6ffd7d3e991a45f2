package network

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// A load balancer is deleted, but not yet its target groups, which AWS reports to
// be in use for a while. They must not be leaked if tags may not be read.
func TestTargetGroupsInUseAreNotLostWithoutTags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason  string
		change  func(b *fixture, group string)
		restart bool
		want    bool
	}{
		"same process": {reason: "this process has seen that the load balancer uses them", want: true},
		"restart":      {reason: "their names are those of target groups for this Service", restart: true, want: true},
		"same process, other settings": {
			reason: "this process has seen that the load balancer uses them", change: slowProbe, want: true,
		},
		"restart, other settings": {
			reason: "neither their names nor anything else shows what they are for", change: slowProbe, restart: true, want: false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			svc := web()
			b.ensure(svc)
			if c.change != nil {
				for _, group := range b.TargetGroups() {
					c.change(b, group.ARN)
				}
			}
			b.Interceptor().Inject("elbv2.DescribeTags", simserver.Always(), sim.Denied())
			inUse := b.Interceptor().Inject("elbv2.DeleteTargetGroup", simserver.Always(),
				sim.Error(http.StatusBadRequest, "ResourceInUse", "the target group is in use"))
			api := b.shared()
			if err := b.removeWith(api, svc); !errors.Is(err, apierr.ErrConflict) {
				t.Fatalf("error is %v", err)
			}
			inUse.Remove()
			if c.restart {
				api = b.shared()
			}
			seen, err := Observe(t.Context(), api, b.query(svc))
			if err != nil {
				t.Fatal(err)
			}
			if seen.Left() != c.want {
				t.Errorf("%s, but left is %v", c.reason, seen.Left())
			}
			if err := b.removeWith(api, svc); err != nil {
				t.Fatal(err)
			}
			if groups := b.TargetGroups(); len(groups) > 0 == c.want {
				t.Errorf("%s, but left are %v", c.reason, groups)
			}
		})
	}
}

// slowProbe changes a setting that the name of a target group is made of.
func slowProbe(b *fixture, group string) {
	b.t.Helper()
	_, err := b.api.ModifyTargetGroup(b.t.Context(), &elbv2.ModifyTargetGroupInput{
		TargetGroupArn: &group, HealthCheckIntervalSeconds: aws.Int32(60),
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// removeWith deletes the load balancer of a Service in a process that has run
// before.
func (b *fixture) removeWith(api *snapshot.Snapshot, svc *v1.Service) error {
	b.t.Helper()
	query := b.query(svc)
	query.Brief = true
	seen, err := Observe(b.t.Context(), api, query)
	if err != nil {
		return err
	}
	env := &change.Env{ELBV2: api, Wait: change.Wait{Interval: 1, Limit: 1}}

	return DiffDeletion(seen).Apply(b.t.Context(), env, nil)
}

// The target groups of a Service that was deleted do not conflict with one that
// is created with the same name.
func TestTargetGroupsOfADeletedServiceAreReplaced(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	api := b.shared()
	former := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.ensure(former)
	if _, err := api.TargetGroupsNamed(t.Context(), "k8s-", true); err != nil {
		t.Fatal(err) // they are listed while they are in use
	}
	inUse := b.Interceptor().Inject("elbv2.DeleteTargetGroup", simserver.Always(),
		sim.Error(http.StatusBadRequest, "ResourceInUse", "the target group is in use"))
	if err := b.removeWith(api, former); !errors.Is(err, apierr.ErrConflict) {
		t.Fatalf("error is %v", err)
	}
	inUse.Remove()
	again := web(kubetest.Port(v1.ProtocolTCP, 443), kubetest.ServiceUID("ffffffff-1111-2222-3333-444455556666"))
	seen, err := Observe(t.Context(), api, b.query(again))
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.TargetGroups) != 1 || seen.TargetGroups[0].Attached {
		t.Errorf("target groups are %+v, want the one that nothing uses any more", seen.TargetGroups)
	}
}

// The name of a target group shows what it was created for.
func TestMadeFor(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	model, _ := b.model(web(kubetest.Port(v1.ProtocolTCP, 443)))
	want := model.Listeners[0].TargetGroup
	id, service := b.config.Cluster, model.Service
	for name, c := range map[string]struct {
		reason string
		change func(*GroupState)
		id     cluster.ID
		want   bool
	}{
		"name":               {reason: "it is named by its settings", id: id, want: true},
		"spare name":         {reason: "it has the second name", id: id, change: func(g *GroupState) { g.Name = want.Spare }, want: true},
		"other node port":    {reason: "it would have another name", id: id, change: func(g *GroupState) { g.Port++ }},
		"other health check": {reason: "it would have another name", id: id, change: func(g *GroupState) { g.HealthCheck.Interval = 60 }},
		"other protocol":     {reason: "it would have another name", id: id, change: func(g *GroupState) { g.Protocol = "UDP" }},
		"IP targets":         {reason: "others create those", id: id, change: func(g *GroupState) { g.Type = "ip" }},
		"short name":         {reason: "it is no name of this package", id: id, change: func(g *GroupState) { g.Name = request.NamePrefix(service) }},
		"no hexadecimals":    {reason: "it is no name of this package", id: id, change: func(g *GroupState) { g.Name = request.NamePrefix(service) + "ghijklmnop" }},
		"another cluster":    {reason: "the name has the cluster in it", id: cluster.ID{Name: "other"}},
		"no cluster ID":      {reason: "all clusters use that name", id: cluster.ID{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := GroupState{
				Name: want.Name, Protocol: want.Protocol, Port: want.Port, Type: "instance", HealthCheck: want.HealthCheck,
			}
			if c.change != nil {
				c.change(&group)
			}
			if got := madeFor(c.id, service, group); got != c.want {
				t.Errorf("%s, but got %v", c.reason, got)
			}
		})
	}
}
