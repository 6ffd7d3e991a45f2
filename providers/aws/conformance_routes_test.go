package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	suite "github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/routes"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestConformanceRoutes runs the suite of all providers over routes. A range that moves to
// another Node is routed there, in either order of creation and deletion (AWS-ROUTE-9).
func TestConformanceRoutes(t *testing.T) {
	t.Parallel()
	suite.Run(t, suite.Adapter{
		Provider: ProviderName,
		NewCloud: func(t testing.TB) suite.Cloud {
			a := &routesAdapter{mutableAdapter: newMutableAdapter(t)}
			a.others = a.Cloud.Routes(a.table)

			return a
		},
		Budget:      suite.Budget{List: 2, Create: 3},
		Timeout:     longest,
		NoticeTime:  time.Minute,
		FaultPoints: 6,
		How:         suite.How{InMemory: true},
	})
}

// routesAdapter is the test cloud with routes.
type routesAdapter struct {
	*mutableAdapter

	others []string
}

// Routes returns routes with the instance that receives their traffic: one that
// forwards what is not for itself.
func (a *routesAdapter) Routes() []suite.Route {
	var routes []suite.Route
	for _, line := range without(a.Cloud.Routes(a.table), a.others) {
		cidr, rest, _ := strings.Cut(line, " ")
		id, _, _ := strings.Cut(rest, " ")
		route := suite.Route{CIDR: cidr}
		if a.State(id) != "" && !a.SourceDestCheck(a.Interfaces(id)[0]) {
			route.ProviderID = inventory.FormatProviderID(testZone, id)
		}
		routes = append(routes, route)
	}

	return routes
}

// SeedDecoys creates routes to gateways, to an instance that is no Node, to one that
// is gone, and to the network interface of a pod.
func (a *routesAdapter) SeedDecoys(t testing.TB) (describe func() []string) {
	t.Helper()

	return a.seedDecoys(func() {
		nat := a.AddInstance(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Subnet: a.subnet}})
		gone := a.AddInstance(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Subnet: a.subnet}})
		pod := a.AddFargate(sim.FargateSpec{Subnet: a.subnet})
		for _, spec := range []sim.RouteSpec{
			{Destination: "172.16.0.0/12", Gateway: "igw-0b"},
			{Destination: "::/0", Gateway: "igw-0b"},
			{Destination: "192.168.1.0/24", Instance: nat},
			{Destination: "192.168.2.0/24", Instance: gone},
			{Destination: "192.168.3.0/24", Interface: pod.InterfaceID},
			{Destination: "fd00:245::/64", Instance: nat},
			{Destination: "10.245.1.0/24", Instance: gone},
		} {
			a.AddRoute(a.table, spec)
		}
		a.Remove(gone)
		a.others = a.Cloud.Routes(a.table)
	}, func(line string) bool {
		return strings.HasPrefix(line, "route ") && !strings.HasPrefix(line, "route 10.244.") && !strings.HasPrefix(line, "route fd00:244:")
	})
}
