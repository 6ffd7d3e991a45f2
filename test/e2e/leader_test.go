package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// FW-START-5: the successor of a leader that ends does not wait for the lease to expire, which would take
// longer than the test may.
func TestLeaderHandsOver(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	vc := startCloud(t, smallVCenter("vc", "before", "after")).VCenter("vc")
	config := writeConfig(t, vsphereConfig(vc))
	leader := c.run(t, config)
	c.join(t, controlplane.NodeSpec{Name: "before"})
	c.awaitInitialized(t, "before")
	standby := c.launch(t, "standby", config)
	standby.awaitLog(t, "Attempting to acquire leader lease")

	leader.terminate(t)
	ended := time.Now()
	if released := leader.logged(t, "Lease released"); len(released) != 1 {
		t.Fatalf("the lease was not released once: %q", released)
	}
	wantLast(t, leader, "Cloud provider closed", "Lease released")
	standby.awaitLog(t, "Successfully acquired lease")
	t.Logf("the standby is the leader %s after the process has ended", time.Since(ended).Round(time.Millisecond))
	c.join(t, controlplane.NodeSpec{Name: "after"})
	c.awaitInitialized(t, "after")
}

// wantLast checks that the log has both texts, in this order.
func wantLast(t *testing.T, m *manager, first, last string) {
	t.Helper()
	log := strings.Join(m.logged(t, ""), "\n")
	if i, j := strings.Index(log, first), strings.Index(log, last); i < 0 || j < i {
		t.Errorf("want %q before %q in the log:\n%s", first, last, log)
	}
}

// FW-START-11: the successor of a leader that was killed waits for the lease to expire,
// and has no session before it is the leader.
func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	vc := startCloud(t, smallVCenter("vc", "before", "after")).VCenter("vc")
	config := writeConfig(t, vsphereConfig(vc))
	leader := c.run(t, config)
	c.join(t, controlplane.NodeSpec{Name: "before"})
	c.awaitInitialized(t, "before")
	logins, sessions, holder := vc.Count("Login"), vc.Sessions(), *c.lease(t).Spec.HolderIdentity

	standby, spare := c.launch(t, "standby", config), c.launch(t, "spare", config)
	for _, m := range []*manager{standby, spare} {
		m.awaitLog(t, "Attempting to acquire leader lease")
		if err := m.WaitHealthy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(sessions, vc.Sessions()); diff != "" || vc.Count("Login") != logins {
		t.Errorf("a standby logged in: %d logins, %d before, sessions (-before +now):\n%s", vc.Count("Login"), logins, diff)
	}
	spare.terminate(t)

	if err := leader.Kill(); err != nil {
		t.Fatal(err)
	}
	leader.awaitExit(t, -1)
	c.expireLease(t)
	c.join(t, controlplane.NodeSpec{Name: "after"})
	c.awaitInitialized(t, "after")
	if now := *c.lease(t).Spec.HolderIdentity; now == holder {
		t.Errorf("the lease is still held by %s", holder)
	}
	if n := vc.Count("Login"); n == logins {
		t.Error("the standby is the leader without a login")
	}
}

// FW-START-4: logged out of the cloud on a lost lease, too.
func TestLostLeaseEndsTheSession(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		lose   func(*testing.T, *cluster)
	}{
		"stolen": {"another process holds it", func(t *testing.T, c *cluster) { await(t, "the lease to be stolen", c.stealLease) }},
		"silent": {"the API server no longer responds", func(t *testing.T, c *cluster) {
			if err := c.PauseAPIServer(); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t)
			vc := startCloud(t, smallVCenter("vc", "a")).VCenter("vc")
			m := c.run(t, writeConfig(t, vsphereConfig(vc)), "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s")
			c.join(t, controlplane.NodeSpec{Name: "a"})
			c.awaitInitialized(t, "a")
			if len(vc.Sessions()) == 0 {
				t.Fatal("there is no session to end")
			}
			tc.lose(t, c)
			m.awaitExit(t, 1)
			for _, session := range vc.Sessions() {
				t.Errorf("%s: a session is left: %+v", tc.reason, session)
			}
		})
	}
}
