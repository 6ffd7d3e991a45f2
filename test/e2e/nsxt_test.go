package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

// gateway is a tier-1 gateway of a simulated NSX-T manager.
type gateway struct{ *nsxt.Cloud }

func startGateway(t *testing.T) gateway {
	t.Helper()
	cloud, err := nsxt.Start(nsxt.Spec{
		Tier1s: []nsxt.Tier1{{ID: "t1", EdgeCluster: true}},
		Pools:  []nsxt.Pool{{ID: "public", Ranges: []string{"203.0.113.10-203.0.113.99"}}},
	})
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

	const balancing = `[LoadBalancer]
size = SMALL
tier1-gateway-path = /infra/tier-1s/t1
ip-pool-name = public
tcp-app-profile-name = default-tcp-lb-app-profile
udp-app-profile-name = default-udp-lb-app-profile
`

	return balancing + fmt.Sprintf("[Route]\nrouter-path = /infra/tier-1s/t1\n[NSXT]\nhost = %s\nuser = admin\npassword = secret\nca-file = %s\n", g.Host(), ca)
}

// awaitServed waits until a Service has the address of its virtual servers, with all Nodes behind them.
func (g gateway) awaitServed(t *testing.T, c *cluster, name string, nodes int) {
	t.Helper()
	await(t, "the load balancer of "+name, func(context.Context) error {
		ingress := c.service(t, name).Status.LoadBalancer.Ingress //nolint:contextcheck // that of the test
		for _, v := range g.VirtualServers() {
			if len(ingress) == 1 && ingress[0].IP == v.Address && len(v.Members) == nodes {
				return nil
			}
		}

		return fmt.Errorf("status %v, virtual servers %v", ingress, g.VirtualServers())
	})
}

// awaitNoBalancers waits until nothing is left of load balancers.
func (g gateway) awaitNoBalancers(t *testing.T) {
	t.Helper()
	await(t, "no load balancer", func(context.Context) error {
		left := slices.DeleteFunc(g.Leaks(), func(path string) bool { return strings.Contains(path, "/static-routes/") })
		if len(left) > 0 {
			return fmt.Errorf("left: %q", left)
		}

		return nil
	})
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
