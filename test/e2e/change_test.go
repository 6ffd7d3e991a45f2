package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
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

// FW-CONFIG-11: content that cannot be used changes nothing, content that can
// ends the process well.
func TestChangedConfig(t *testing.T) {
	t.Parallel()
	const (
		invalid = "multicloud_ccm_config_file_invalid"
		both    = awsConfig + "NodeIPFamilies = ipv4\nNodeIPFamilies = ipv6\n"
	)
	c := startCluster(t)
	r := c.startRegion(t)
	instance := r.seed.AddNode(aws.InstanceSpec{InterfaceSpec: aws.InterfaceSpec{IPv6s: []string{"2001:db8::6"}}})
	name := r.PrivateDNSName(instance)
	path := writeConfig(t, awsConfig)
	m := c.run(t, path)
	c.join(t, controlplane.NodeSpec{Name: name})
	c.awaitInitialized(t, name)
	if hasAddress(v1.NodeInternalIP, "2001:db8::6")(c.node(t, name)) == nil {
		t.Error("no IPv6 address is configured yet")
	}
	m.awaitMetric(t, 0, invalid)

	write(t, path, awsConfig+"RoleARN = admin\n")
	m.awaitMetric(t, 1, invalid)
	m.awaitLog(t, path+":3:1")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	m.awaitLog(t, "no such file or directory")
	m.awaitMetric(t, 1, invalid)
	write(t, path, awsConfig)
	m.awaitMetric(t, 0, invalid)
	for _, cause := range []string{path + ":3:1", "no such file or directory"} {
		if lines := m.logged(t, cause); len(lines) != 1 {
			t.Errorf("want %q once in the log, it is there %d times: %q", cause, len(lines), lines)
		}
	}

	write(t, path, both)
	m.awaitExit(t, 0)
	c.wantReleased(t)
	c.run(t, path)
	c.awaitNode(t, name, "to have its new address", hasAddress(v1.NodeInternalIP, "2001:db8::6"))
}

// FW-CONFIG-11: what was checked is what the provider is made of.
func TestConfigChangesWhileStarting(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	path := filepath.Join(t.TempDir(), "cloud.conf")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	m := c.launch(t, "starting", path)
	offer(t, path, awsConfig)
	m.awaitLog(t, "FLAG: --cloud-config") // it has been read once, and whole
	offer(t, path, awsConfig+"Region = us-east-1\n")
	m.awaitExit(t, 1)
	if want := "cloud-config " + path + " changed while starting"; len(m.logged(t, want)) != 1 {
		t.Errorf("want %q once in the log", want)
	}
}

// offer writes a text for one reader of a pipe.
func offer(t *testing.T, path, text string) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(path, []byte(text), 0) }() // opening waits for the reader
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-within(t).Done():
		pipe, _ := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // unblocks the writer
		defer pipe.Close()
		t.Fatalf("%s was not read", path)
	}
}
