package e2e

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// VS-NODE-8: the Node of a VM that is off is tainted, and only while it is off.
func TestPoweredOffNodeIsTainted(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	cloud := startCloud(t, smallVCenter("vc", "off", "suspended", "on"))
	c.run(t, writeConfig(t, vsphereConfig(cloud.VCenters()...)))
	names := []string{"off", "suspended", "on"}
	for _, name := range names {
		c.join(t, controlplane.NodeSpec{Name: name})
	}
	c.awaitInitialized(t, names...)

	for _, change := range []func() error{cloud.VM("off").PowerOff, cloud.VM("suspended").Suspend} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	c.setReady(t, v1.ConditionUnknown, names...)
	c.awaitNode(t, "off", "to be tainted", tainted(shutdown))
	c.awaitNode(t, "suspended", "to be tainted", tainted(shutdown))
	if err := untainted(shutdown)(c.node(t, "on")); err != nil {
		t.Errorf("the VM of node on is on, but %v", err)
	}

	for _, name := range names {
		if err := cloud.VM(name).PowerOn(); err != nil {
			t.Fatal(err)
		}
	}
	c.setReady(t, v1.ConditionTrue, names...)
	for _, name := range names {
		c.awaitNode(t, name, "to lose its taint", untainted(shutdown))
	}
}

// FW-ID-1: foreign nodes cost no call and are never changed or deleted.
func TestForeignNodeIsNotChanged(t *testing.T) {
	t.Parallel()
	const providerID = "aws:///eu-central-1a/i-0123"
	c := startCluster(t)
	cloud := startCloud(t, smallVCenter("vc", "own"))
	vc := cloud.VCenter("vc")
	// Addresses are refreshed often: that is where (nil, nil) ends the process.
	m := c.run(t, writeConfig(t, vsphereConfig(vc)), "--node-status-update-frequency=500ms")
	c.join(t, controlplane.NodeSpec{Name: "own"})
	c.awaitInitialized(t, "own")
	m.awaitPasses(t, 2)
	calls := callsForNodes(vc)

	c.join(t, controlplane.NodeSpec{Name: "new", ProviderID: providerID}, controlplane.NodeSpec{Name: "done", ProviderID: providerID + "4"})
	c.initializeByHand(t, "done")
	foreign := []string{"new", "done"}
	c.setReady(t, v1.ConditionUnknown, foreign...)
	c.age(t, foreign...)
	before := map[string]*v1.Node{}
	for _, name := range foreign {
		before[name] = c.node(t, name)
		m.awaitLog(t, fmt.Sprintf(`Node belongs to another cloud and is left alone" node=%q`, name))
	}
	m.awaitPasses(t, 3)
	for _, ip := range []string{"10.1.0.8", "10.1.0.9"} { // each new address takes a refresh of all nodes
		if err := cloud.VM("own").SetNICs(vsphere.NIC{IPs: []string{ip}}); err != nil {
			t.Fatal(err)
		}
		c.awaitNode(t, "own", "to have its new address", hasAddress(v1.NodeInternalIP, ip))
	}
	for _, node := range before {
		c.wantUnchanged(t, node)
	}
	if n := callsForNodes(vc) - calls; n != 0 {
		t.Errorf("foreign nodes cost %d calls: %v", n, vc.History())
	}
}

// callsForNodes counts the calls that find VMs. What describes the VMs of Nodes
// that were found is read again for each refresh.
func callsForNodes(vc *vsphere.VCenter) int { return vc.Total() - vc.Count("RetrievePropertiesEx") }
