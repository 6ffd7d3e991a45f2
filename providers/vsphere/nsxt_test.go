package vsphere

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// listRoutes lists the routes of a provider.
func listRoutes(t *testing.T, c *cloud) error {
	t.Helper()
	routes, ok := c.Routes()
	if !ok {
		return errors.New("the provider has no routes")
	}
	_, err := routes.ListRoutes(t.Context(), "kubernetes")

	return err
}

// TestManagerDown (VS-NSXT-2): Nodes are initialized and deleted while the manager does not respond. Routes are there
// once it does.
func TestManagerDown(t *testing.T) {
	t.Parallel()
	manager := vspheretest.StartManager(t, nsxt.Spec{})
	manager.Server().Down()
	b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.1"}}}}))
	times := quick
	times.nsxt.Dial = manager.Dial
	b.cloud, _ = connectInformed(t, b.text+routeSection+manager.Section(t), kubetest.NewClientset(), times)
	node := kubetest.Node("node-1", kubetest.ProviderID(id(b.fleet.VM("node-1"))), old)
	b.describe(node)
	gone := kubetest.Node("gone", kubetest.ProviderID("vsphere://00000000-0000-4000-8000-000000000001"), old)
	b.eventually("a VM that is gone does not exist", func() error {
		if exists, err := b.instances.InstanceExists(t.Context(), gone); err != nil || exists {
			return fmt.Errorf("exists: %t, %w", exists, err)
		}

		return nil
	})
	if err := listRoutes(t, b.cloud); err == nil {
		t.Error("routes are listed without the manager")
	}
	if err := manager.Server().Up(); err != nil {
		t.Fatal(err)
	}
	if err := listRoutes(t, b.cloud); err != nil {
		t.Error(err)
	}
}

// TestManagerSecret (VS-NSXT-3): user and password of the file are used until there is a Secret, which may
// become incomplete or be deleted then.
func TestManagerSecret(t *testing.T) {
	t.Parallel()
	manager := vspheretest.StartManager(t, nsxt.Spec{})
	api := credentialtest.NewAPIServer(t, "kube-system", "nsxt")
	b := newFixture(t, "", one())
	times := quick
	times.nsxt.Dial = manager.Dial
	text := b.text + routeSection + manager.Section(t) + "secret-name = nsxt\nsecret-namespace = kube-system\n"
	b.cloud, _ = connectInformed(t, text, api.Client(t, runtime.ContentTypeJSON), times)
	works := func() error { return listRoutes(t, b.cloud) }
	b.eventually("user and password of the file are used", works)
	manager.SetPassword("admin", "rotated")
	api.Put("username", "admin", "password", "rotated")
	b.eventually("the changed Secret is used", works)
	for reason, change := range map[string]func(){"incomplete": func() { api.Put("username", "admin") }, "deleted": api.Delete} {
		change()
		time.Sleep(100 * time.Millisecond)
		if err := works(); err != nil {
			t.Errorf("the Secret is %s: %v", reason, err)
		}
	}
	if manager.RefusedLogins("admin") > 1 {
		t.Errorf("%d logins were refused", manager.RefusedLogins("admin"))
	}
}

// TestManagerRemoteUser (VS-NSXT-3): remote-auth is for a user of a directory.
func TestManagerRemoteUser(t *testing.T) {
	t.Parallel()
	manager := vspheretest.StartManager(t, nsxt.Spec{RemoteUsers: map[string]string{"u@example.com": "secret"}})
	for _, remote := range []bool{true, false} {
		n := &NSXT{Host: manager.Host(), User: "u@example.com", Password: "secret", RemoteAuth: remote, InsecureFlag: true}
		client, _, err := newNSXT(n, login.NewGuard(nsx.LoginLimits(), clock.RealClock{}), nsx.Options{Dial: manager.Dial})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.List(t.Context(), vspheretest.Tier1+"/static-routes"); remote != (err == nil) {
			t.Errorf("remote-auth %t: %v", remote, err)
		}
		if err := client.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
