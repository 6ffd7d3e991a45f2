package network

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

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
