package e2e

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// vcenterLabel names the vCenter of the VM of a Node.
const vcenterLabel = "multicloud-ccm.io/vcenter-uuid"

// TestInitializedNodeGetsTheLabelOfItsVCenter: Nodes of earlier versions do not have
// it, and another vCenter has their VM after a migration.
func TestInitializedNodeGetsTheLabelOfItsVCenter(t *testing.T) {
	t.Parallel()
	const uuid = "11111111-0000-4000-8000-000000000001"
	c := startCluster(t)
	cloud := startCloud(t, smallVCenter("vc", "unlabeled", "migrated"))
	cloud.VCenter("vc").SetInstanceUUID(uuid)
	for name, labels := range map[string]map[string]string{
		"unlabeled": nil, "migrated": {vcenterLabel: "11111111-0000-4000-8000-000000000002"},
	} {
		c.join(t, controlplane.NodeSpec{Name: name, ProviderID: "vsphere://" + cloud.VM(name).UUID(), Labels: labels})
		c.initializeByHand(t, name)
	}
	c.run(t, writeConfig(t, vsphereConfig(cloud.VCenter("vc"))), "--node-status-update-frequency=500ms")
	for _, name := range []string{"unlabeled", "migrated"} {
		c.awaitNode(t, name, "to name its vCenter", func(node *v1.Node) error {
			if got := node.Labels[vcenterLabel]; got != uuid {
				return fmt.Errorf("it names %q", got)
			}

			return nil
		})
	}
}
