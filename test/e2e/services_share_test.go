package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// FW-LB-3: what the existing controller manager has made stays in use, without
// a write.
func TestExistingLoadBalancersStayInUse(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	r := c.startRegion(t)
	adopt(t, c, r, r.add(3))
	c.remove(t, "classic", "network")
	c.awaitRemoved(t, "classic", "network")
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
