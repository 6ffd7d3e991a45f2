package e2e

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// FW-CONFIG-1, FW-CONFIG-11: the cloud-config alone switches the provider, there
// and back, with the same command line and environment.
func TestSwitchProvider(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	r := c.startRegion(t)
	instance := r.add(1)[0]
	vc := startCloud(t, smallVCenter("vc", "vm-1", "vm-2")).VCenter("vc")
	path := writeConfig(t, vsphereConfig(vc))
	first := c.run(t, path)
	c.join(t, controlplane.NodeSpec{Name: "vm-1"})
	c.awaitInitialized(t, "vm-1")
	wantChosen(t, first, "vsphere")
	if n := r.Interceptor().Total(); n != 0 {
		t.Errorf("AWS was called %d times: %v", n, r.Interceptor().Calls())
	}
	virtual := c.node(t, "vm-1")

	write(t, path, awsConfig)
	first.awaitExit(t, 0)
	wantNoSessions(t, vc)
	calls := vc.Total()
	c.wantReleased(t)
	second := c.run(t, path)
	c.join(t, controlplane.NodeSpec{Name: instance.name})
	c.awaitInitialized(t, instance.name)
	wantChosen(t, second, "aws")
	if id := c.node(t, instance.name).Spec.ProviderID; id != r.ProviderID(instance.id) {
		t.Errorf("the new node's providerID is %q", id)
	}
	c.wantUnchanged(t, virtual)
	if n := vc.Total() - calls; n != 0 {
		t.Errorf("the vCenter was called %d times: %v", n, vc.History())
	}

	elastic, total := c.node(t, instance.name), 0
	write(t, path, vsphereConfig(vc))
	second.awaitExit(t, 0)
	total = r.Interceptor().Total()
	c.wantReleased(t)
	c.run(t, path)
	c.join(t, controlplane.NodeSpec{Name: "vm-2"})
	c.awaitInitialized(t, "vm-2")
	c.wantUnchanged(t, elastic)
	if n := r.Interceptor().Total() - total; n != 0 {
		t.Errorf("AWS was called %d times: %v", n, r.Interceptor().Calls())
	}
}

// wantUnchanged checks that a node was not changed.
func (c *cluster) wantUnchanged(t *testing.T, before *v1.Node) {
	t.Helper()
	if now := c.node(t, before.Name); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("node %s was changed:\n%+v\nbefore:\n%+v", before.Name, now, before)
	}
}

// wantChosen checks what the process reports of itself.
func wantChosen(t *testing.T, m *manager, provider string) {
	t.Helper()
	page := m.page(t, "/configz")
	if want := `"Name":"` + provider + `"`; !strings.Contains(page, want) {
		t.Errorf("want %s in /configz: %s", want, page)
	}
}
