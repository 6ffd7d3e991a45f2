package e2e

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// FW-LB-3: what the existing controller manager has made stays in use, without
// a write.
//
// AWS-LB-18: another cluster in the same VPC, with the same subnets, the same
// names of Services and the same security group of a user, touches none of it,
// and the other way round.
func TestClustersShareAVPC(t *testing.T) {
	t.Parallel()
	first := startCluster(t)
	r := first.startRegion(t)
	nodes := r.add(3)
	byo := r.AddSecurityGroup(aws.SecurityGroupSpec{
		VPC: r.seed.VPC, Name: "of-a-user", Rules: []aws.Rule{
			{Protocol: "tcp", From: 80, To: 80, Source: "0.0.0.0/0"}, {Protocol: "tcp", From: 443, To: 443, Source: "0.0.0.0/0"},
		},
	})
	second, others := r.secondCluster(t)
	all := []string{"classic", "network", "grouped"}

	adopt(t, first, r, nodes)
	first.create(t, grouped(byo))
	first.awaitServed(t, r, nodes, all...)
	before := r.Dump()

	second.run(t, writeConfig(t, r.configWithoutMetadata("other")))
	second.joinAll(t, others)
	second.awaitInitialized(t, names(others)...)
	second.create(t, newService("classic", classic, 80, 443), newService("network", network, 80, 443), grouped(byo))
	second.awaitServed(t, r, others, all...)
	first.awaitServed(t, r, nodes, all...)
	second.remove(t, "classic")
	second.awaitRemoved(t, "classic")
	first.awaitServed(t, r, nodes, all...)
	wantLines(t, before, r.Dump())

	first.remove(t, all...)
	first.awaitRemoved(t, all...)
	second.awaitServed(t, r, others, "network", "grouped")
	second.remove(t, "network", "grouped")
	second.awaitRemoved(t, "network", "grouped")
	r.wantNoLeaks(t)
}

// adopt makes a Service of each kind that has its load balancer already, and
// starts a process that finds nothing to do about them.
func adopt(t *testing.T, c *cluster, r *region, nodes []machine) {
	t.Helper()
	for _, node := range nodes {
		c.join(t, controlplane.NodeSpec{Name: node.name, ProviderID: r.ProviderID(node.id)})
		c.initializeByHand(t, node.name)
	}
	services := c.create(t, newService("classic", classic, 80, 443), newService("network", network, 80, 443))
	made := newUpstream(t, r, nodes)
	made.classic(services[0])
	made.network(services[1])
	state, writes := r.Dump(), r.Writes()
	c.run(t, writeConfig(t, awsConfig))
	c.awaitServed(t, r, nodes, "classic", "network")
	if diff := cmp.Diff(writes, r.Writes()); diff != "" {
		t.Errorf("an existing load balancer is written to (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(state, r.Dump()); diff != "" {
		t.Errorf("an existing load balancer was changed (-before +after):\n%s", diff)
	}
}

// grouped is a Service whose load balancer has the security group of a user.
func grouped(group string) *v1.Service {
	service := newService("grouped", classic, 80, 443)
	service.Annotations[groupsAnnotation] = group

	return service
}

// secondCluster makes a cluster with nodes of its own in the same VPC.
func (r *region) secondCluster(t *testing.T) (*cluster, []machine) {
	t.Helper()
	tag := aws.ClusterTag("other")
	for _, subnets := range []map[string]string{r.seed.Public, r.seed.Private} {
		for _, id := range subnets {
			tags := maps.Clone(r.Tags(id))
			tags[tag] = "shared"
			r.SetTags(id, tags)
		}
	}
	group := r.AddSecurityGroup(aws.SecurityGroupSpec{VPC: r.seed.VPC, Name: "nodes.other", Tags: map[string]string{tag: "owned"}})
	var nodes []machine
	for _, zone := range r.seed.Zones {
		id := r.AddInstance(aws.InstanceSpec{
			Tags:          map[string]string{tag: "owned"},
			InterfaceSpec: aws.InterfaceSpec{Subnet: r.seed.Private[zone], Groups: []string{group}},
		})
		nodes = append(nodes, machine{id, r.PrivateDNSName(id)})
	}
	c := startCluster(t)
	c.environment = r.Environment()

	return c, nodes
}

// wantLines checks that nothing of a state has changed, whatever came to it.
func wantLines(t *testing.T, before, after string) {
	t.Helper()
	now := map[string]bool{}
	for line := range strings.Lines(after) {
		now[line] = true
	}
	for line := range strings.Lines(before) {
		if !now[line] {
			t.Errorf("another cluster has changed this: %s", line)
		}
	}
}
