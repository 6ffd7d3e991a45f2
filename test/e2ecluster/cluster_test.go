//go:build e2ecluster

package e2ecluster

import (
	"strings"
	"testing"
	"time"
)

// TestCluster runs its cases one after the other, in one cluster with one node. Each begins with
// the provider of the node, vSphere, and the kind DaemonSet.
func TestCluster(t *testing.T) {
	c := connect(t)
	t.Cleanup(func() {
		t.Log("measured:\n| case | what | figure |\n|---|---|---|\n" + strings.Join(c.figures, "\n"))
	})
	if !t.Run("Image", c.testImage) {
		return // without it there is no Pod
	}
	for _, run := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Secret", c.testSecret},
		{"Provider", c.testProvider},
		{"Broken", c.testBroken},
		{"Stopped", c.testStopped},
		{"Deleted", c.testDeleted},
		{"Killed", c.testKilled},
		{"Frozen", c.testFrozen},
		{"NotReady", c.testNotReady},
		{"Kind", c.testKind},
		{"Uninstall", c.testUninstall},
	} {
		t.Run(run.name, func(t *testing.T) {
			began := time.Now()
			run.test(t)
			c.election.wantOne(t)
			t.Logf("the case took %s", round(time.Since(began)))
		})
	}
}
