package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

// gateway is a tier-1 gateway of a simulated NSX-T manager.
type gateway struct{ *nsxt.Cloud }

func startGateway(t *testing.T) gateway {
	t.Helper()
	cloud, err := nsxt.Start(nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "t1", EdgeCluster: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return gateway{cloud}
}

// config is the part of a cloud-config about the gateway.
func (g gateway) config(t *testing.T) string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "nsxt.pem")
	if err := os.WriteFile(ca, g.CertificatePEM(), 0o600); err != nil {
		t.Fatal(err)
	}

	return fmt.Sprintf("[Route]\nrouter-path = /infra/tier-1s/t1\n[NSXT]\nhost = %s\nuser = admin\npassword = secret\nca-file = %s\n", g.Host(), ca)
}

// awaitRoutes waits until the gateway has the routes to some ranges, and no other.
func (g gateway) awaitRoutes(t *testing.T, want ...string) {
	t.Helper()
	await(t, "the routes of the gateway", func(context.Context) error {
		var got []string
		for _, route := range g.List("StaticRoutes") {
			got = append(got, fmt.Sprint(route["network"]))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}

		return nil
	})
}
