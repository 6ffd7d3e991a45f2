package e2e

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// FW-START-3: a cluster without an ID is an error, unless the flag allows it.
//
// FW-START-6: with an account for each controller all of it works as well, Events
// of the provider included.
func TestUntaggedCloudWithAccounts(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	r := c.startRegion(t)
	nodes := r.add(3)
	for _, id := range ids(nodes) {
		r.SetTags(id, map[string]string{"Name": "untagged"})
	}
	path := writeConfig(t, awsConfig)
	refused := c.launch(t, "refused", path)
	refused.awaitExit(t, 1)
	if len(refused.logged(t, "no cluster ID found: tag the instances with one, or give --allow-untagged-cloud")) != 1 {
		t.Error("the log does not contain what to do")
	}

	c.run(t, path, "--allow-untagged-cloud", "--use-service-account-credentials")
	c.joinAll(t, nodes)
	c.awaitInitialized(t, names(nodes)...)
	c.join(t, controlplane.NodeSpec{Name: "unknown"})
	c.setReady(t, v1.ConditionUnknown, "unknown")
	c.awaitEvent(t, "Node", "unknown", "InstanceNotFound")

	both := []string{"classic", "network"}
	c.create(t, newService("classic", classic, 80), newService("network", network, 80))
	c.awaitServed(t, r, nodes, both...)
	c.change(t, annotate(internalAnnotation, "true"), "network")
	c.awaitEvent(t, "Service", "network", "LoadBalancerSchemeFixed")
	for line := range strings.Lines(r.Dump()) {
		if strings.Contains(line, "kubernetes.io/cluster/") && !strings.HasPrefix(line, "security-group nodes.e2e:") {
			t.Errorf("AWS-CLUSTER-4: nothing is tagged for a cluster that has no ID: %s", line)
		}
	}
	c.remove(t, both...)
	c.awaitRemoved(t, both...)
	r.wantNoLeaks(t)
}
