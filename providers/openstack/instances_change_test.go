package openstack

import (
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestRenamedServer (OS-NODE-3): a Node with a provider ID keeps its server under another name,
// and one without has none.
func TestRenamedServer(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, openstack.Options{})
	f.RenameServer(idOf(f.nodes[0]), "renamed")
	c := f.connect(t, "", production())
	if exists, err := c.instances.InstanceExists(bounded(t), f.nodes[0]); err != nil || !exists {
		t.Errorf("by ID: %t, %v", exists, err)
	}
	metadata, err := c.instances.InstanceMetadata(bounded(t), kubetest.Node("renamed"))
	if err != nil || metadata.ProviderID != f.nodes[0].Spec.ProviderID {
		t.Errorf("by the new name: %v, %v", metadata, err)
	}
	if metadata, err = c.instances.InstanceMetadata(bounded(t), kubetest.Node("node-1")); err == nil {
		t.Errorf("by the old name: %v", metadata)
	}
}

// TestMovedServer (OS-NODE-10): the zone is the present one.
func TestMovedServer(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, openstack.Options{})
	f.SetServerZone(idOf(f.nodes[0]), "az 2")
	metadata, err := f.connect(t, "", production()).instances.InstanceMetadata(bounded(t), f.nodes[0])
	if err != nil || metadata.Zone != "az-2" {
		t.Errorf("%v, %v, want the zone az-2", metadata, err)
	}
}

// TestDisabledProject (OS-NODE-6): while the project is disabled no token is valid and no Node is
// gone.
func TestDisabledProject(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, openstack.Options{})
	f.DeleteServer(idOf(f.nodes[0]))
	f.SetProjectEnabled(openstack.ProjectCCM, false)
	c := f.connect(t, "", quick())
	for _, node := range f.nodes {
		if exists, err := c.instances.InstanceExists(bounded(t), node); apierr.Code(err) != apierr.CodeDenied {
			t.Errorf("%s: %t, %v, want it denied", node.Name, exists, err)
		}
	}
	f.SetProjectEnabled(openstack.ProjectCCM, true)
	for deadline := time.Now().Add(openstacktest.Timeout); ; time.Sleep(50 * time.Millisecond) {
		exists, err := c.instances.InstanceExists(bounded(t), f.nodes[1])
		if err == nil && exists {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the project was enabled: %t, %v", exists, err)
		}
	}
}
