package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// outage is one way for a vCenter to be of no use.
type outage struct {
	reason     string
	begin, end func(vc *vsphere.VCenter) error
	// noticed waits until the process is aware of it.
	noticed func(t *testing.T, m *manager)
}

func outages() map[string]outage {
	return map[string]outage{
		"down": {
			reason: "nothing listens: an error is not a result",
			begin: func(vc *vsphere.VCenter) error {
				vc.Down()

				return nil
			},
			end:     (*vsphere.VCenter).Up,
			noticed: func(t *testing.T, m *manager) { m.awaitMetric(t, 0, "multicloud_ccm_connected") },
		},
		"refusing the login": {
			reason: "the password was changed and all sessions ended: bad credentials are errors",
			begin: func(vc *vsphere.VCenter) error {
				vc.SetPassword("another one")
				vc.TerminateSessions()

				return nil
			},
			// The new password is used at once; the old one would be tried again
			// after up to three minutes, so that the account is not locked.
			end: func(*vsphere.VCenter) error { return nil },
			noticed: func(t *testing.T, m *manager) {
				m.await(t, "the login to be refused", func(ctx context.Context) error {
					refused, err := m.metric(ctx, "multicloud_ccm_logins_total", `code="denied"`)
					if err == nil && refused == 0 {
						err = errors.New("it was not")
					}

					return err
				})
			},
		},
	}
}

// FW-NODE-6, FW-METRIC-3: while the vCenter is of no use no Node is deleted and
// the process lives; afterwards it continues without a restart. The conformance suite
// has more kinds of outages, and what is deleted after them.
func TestOutageDeletesNothing(t *testing.T) {
	t.Parallel()
	for name, o := range outages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(o.reason)
			testOutage(t, o)
		})
	}
}

func testOutage(t *testing.T, o outage) {
	c := startCluster(t)
	cloud := startCloud(t, smallVCenter("vc", "there", "gone"))
	vc := cloud.VCenter("vc")
	credentials := t.TempDir()
	writeCredentials(t, credentials, vc)
	m := c.run(t, writeConfig(t, fmt.Sprintf("[Global]\nprovider = vsphere\nsecrets-directory = %q\n\n%s", credentials, section(vc))))
	c.join(t, controlplane.NodeSpec{Name: "there"}, controlplane.NodeSpec{Name: "gone"})
	c.awaitInitialized(t, "there", "gone")
	// A second one, whose VM never was: the process has no record of it.
	c.join(t, controlplane.NodeSpec{Name: "unknown", ProviderID: "vsphere://00000000-0000-4000-8000-00000000dead"})
	c.initializeByHand(t, "unknown")
	all := []string{"there", "gone", "unknown"}

	if err := o.begin(vc); err != nil {
		t.Fatal(err)
	}
	if err := cloud.VM("gone").Destroy(); err != nil {
		t.Fatal(err)
	}
	late := vsphere.VMSpec{Name: "late", NICs: []vsphere.NIC{{IPs: []string{"10.1.0.9"}}}}
	if _, err := vc.AddVM("dc-vc", late); err != nil {
		t.Fatal(err)
	}
	c.join(t, controlplane.NodeSpec{Name: "late"})
	c.setReady(t, v1.ConditionUnknown, all...)
	o.noticed(t, m)
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

	if err := o.end(vc); err != nil {
		t.Fatal(err)
	}
	writeCredentials(t, credentials, vc)
	c.awaitInitialized(t, "late")
	m.awaitPasses(t, 2)
	c.node(t, "there")
	m.terminate(t)
	wantNoSessions(t, vc)
}

// writeCredentials writes a directory with the account of a vCenter.
func writeCredentials(t *testing.T, directory string, vc *vsphere.VCenter) {
	t.Helper()
	write(t, filepath.Join(directory, server(vc)+".username"), vc.User())
	write(t, filepath.Join(directory, server(vc)+".password"), vc.Password())
}

// FW-START-4, VS-SESSION-3: close is bounded, whatever the vCenter does.
func TestStopWhileVCenterHangs(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	vc := startCloud(t, smallVCenter("vc", "a")).VCenter("vc")
	m := c.run(t, writeConfig(t, vsphereConfig(vc)))
	c.join(t, controlplane.NodeSpec{Name: "a"})
	c.awaitInitialized(t, "a")
	vc.Hang()
	m.terminate(t)
	if len(m.logged(t, "Closing the cloud provider left something behind")) != 1 {
		t.Error("the log does not report that a session could not be ended")
	}
}
