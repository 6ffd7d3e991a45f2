package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// design "Choosing" and "Changes at run time": one line of the cloud-config
// switches the provider, with the same command line.
func TestSwitchProvider(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	vc := startCloud(t, smallVCenter("vc", "vm-1")).VCenter("vc")
	path := writeConfig(t, vsphereConfig(vc))
	first := c.run(t, path)
	c.join(t, controlplane.NodeSpec{Name: "vm-1"})
	c.awaitInitialised(t, "vm-1")
	wantChosen(t, first, "vsphere")
	virtual := c.node(t, "vm-1")

	write(t, path, staticConfig)
	first.awaitExit(t, 0)
	wantNoSessions(t, vc)
	calls := vc.Total()

	c.freeLease(t)
	second := c.run(t, path)
	c.join(t, controlplane.NodeSpec{Name: "static-1"})
	c.awaitInitialised(t, "static-1")
	wantChosen(t, second, "static")
	if id := c.node(t, "static-1").Spec.ProviderID; id != "static://static-1" {
		t.Errorf("the new node's providerID is %q", id)
	}
	if now := c.node(t, "vm-1"); now.ResourceVersion != virtual.ResourceVersion {
		t.Errorf("the other provider's node was changed: %+v", now)
	}
	if n := vc.Total() - calls; n != 0 {
		t.Errorf("the vCenter was called %d times: %v", n, vc.History())
	}
}

// wantChosen checks what the process says of itself.
func wantChosen(t *testing.T, m *manager, provider string) {
	t.Helper()
	page := m.page(t, "/configz")
	if want := `"Name":"` + provider + `"`; !strings.Contains(page, want) {
		t.Errorf("want %s in /configz: %s", want, page)
	}
}

// design "Changes at run time": content that cannot be used changes nothing,
// content that can ends the process well.
func TestChangedConfig(t *testing.T) {
	t.Parallel()
	const invalid = "multicloud_ccm_config_file_invalid"
	c := startCluster(t)
	path := writeConfig(t, staticConfig)
	m := c.run(t, path)
	c.join(t, controlplane.NodeSpec{Name: "static-1"})
	c.awaitInitialised(t, "static-1")
	m.awaitMetric(t, 0, invalid)

	write(t, path, staticConfig+"[Node \"static-2\"]\naddress = nowhere\n")
	m.awaitMetric(t, 1, invalid)
	m.awaitLog(t, path+":7:1")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	m.awaitLog(t, "no such file or directory")
	m.awaitMetric(t, 1, invalid)
	write(t, path, staticConfig)
	m.awaitMetric(t, 0, invalid)
	for _, cause := range []string{path + ":7:1", "no such file or directory"} {
		if lines := m.logged(t, cause); len(lines) != 1 {
			t.Errorf("want %q once in the log, it is there %d times: %q", cause, len(lines), lines)
		}
	}

	write(t, path, strings.ReplaceAll(staticConfig, "10.0.0.1", "10.0.0.2"))
	m.awaitExit(t, 0)
	c.freeLease(t)
	c.run(t, path)
	c.awaitNode(t, "static-1", "to have its new address", hasAddress(v1.NodeInternalIP, "10.0.0.2"))
}

// design "Choosing": what was checked is what the provider is made of.
func TestConfigChangesWhileStarting(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	path := filepath.Join(t.TempDir(), "cloud.conf")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	m := c.launch(t, "starting", path)
	offer(t, path, staticConfig)
	m.awaitLog(t, "FLAG: --cloud-config") // it has been read once, and whole
	offer(t, path, strings.ReplaceAll(staticConfig, "10.0.0.1", "10.0.0.2"))
	m.awaitExit(t, 1)
	if want := "cloud-config " + path + " changed while starting"; len(m.logged(t, want)) != 1 {
		t.Errorf("want %q once in the log", want)
	}
}

// offer lets one reader of a pipe have a text.
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
		pipe, _ := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // lets the writer go
		defer pipe.Close()
		t.Fatalf("nobody has read %s", path)
	}
}
