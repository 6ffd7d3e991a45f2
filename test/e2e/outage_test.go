package e2e

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// FW-NODE-6, FW-METRIC-3: while the vCenter does not respond no Node is deleted and
// the process lives; afterwards it continues without a restart. The conformance suite
// has more kinds of outages, and what is deleted after them.
func TestOutageDeletesNothing(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	cloud := startCloud(t, smallVCenter("vc", "there", "gone"))
	vc := cloud.VCenter("vc")
	m := c.run(t, writeConfig(t, vsphereConfig(vc)))
	c.join(t, controlplane.NodeSpec{Name: "there"}, controlplane.NodeSpec{Name: "gone"})
	c.awaitInitialized(t, "there", "gone")
	// A second one, whose VM never was: the process has no record of it.
	c.join(t, controlplane.NodeSpec{Name: "unknown", ProviderID: "vsphere://00000000-0000-4000-8000-00000000dead"})
	c.initializeByHand(t, "unknown")
	all := []string{"there", "gone", "unknown"}

	vc.Down()
	if err := cloud.VM("gone").Destroy(); err != nil {
		t.Fatal(err)
	}
	late := vsphere.VMSpec{Name: "late", NICs: []vsphere.NIC{{IPs: []string{"10.1.0.9"}}}}
	if _, err := vc.AddVM("dc-vc", late); err != nil {
		t.Fatal(err)
	}
	c.join(t, controlplane.NodeSpec{Name: "late"})
	c.setReady(t, v1.ConditionUnknown, all...)
	m.awaitMetric(t, 0, "multicloud_ccm_connected")
	c.age(t, all...)
	m.awaitUndecided(t, "unknown")
	m.awaitPasses(t, 2)
	for _, name := range all {
		c.node(t, name)
	}
	if err := tainted(uninitialized)(c.node(t, "late")); err != nil {
		t.Errorf("node late was initialized by a vCenter that is out of reach: %v", err)
	}
	if err := m.WaitHealthy(t.Context()); err != nil {
		t.Errorf("an outage of the cloud is no reason for a restart: %v", err)
	}

	if err := vc.Up(); err != nil {
		t.Fatal(err)
	}
	c.awaitInitialized(t, "late")
	m.awaitPasses(t, 2)
	c.node(t, "there")
	m.terminate(t)
	wantNoSessions(t, vc)
}
