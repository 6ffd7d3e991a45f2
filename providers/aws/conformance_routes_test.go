package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestConformanceRoutes runs the suite of all providers over routes.
func TestConformanceRoutes(t *testing.T) {
	t.Parallel()
	conformance.Routes(t, conformance.RouteSuite{
		Provider: ProviderName,
		NewCloud: func(t testing.TB) conformance.RouteCloud {
			w := &routeLab{workshop: newWorkshop(t)}
			w.others = w.Cloud.Routes(w.table)
			return w
		},
		Budget:   conformance.RouteBudget{List: 2, Create: 3},
		Timeout:  longest,
		Patience: time.Minute,
		Points:   6,
	})
}

// routeLab is the workshop as the cases about routes see it.
type routeLab struct {
	*workshop

	others []string
}

// Routes gives a route to the instance that gets its traffic: one that forwards
// what is not for itself.
func (l *routeLab) Routes() []conformance.CloudRoute {
	var routes []conformance.CloudRoute
	for _, line := range without(l.Cloud.Routes(l.table), l.others) {
		cidr, rest, _ := strings.Cut(line, " ")
		id, _, _ := strings.Cut(rest, " ")
		route := conformance.CloudRoute{CIDR: cidr}
		if l.State(id) != "" && !l.SourceDestCheck(l.Interfaces(id)[0]) {
			route.ProviderID = inventory.FormatProviderID(labZone, id)
		}
		routes = append(routes, route)
	}
	return routes
}

// Plant makes routes to gateways, to an instance that is no Node, to one that is
// gone, and to a network interface of nobody's.
func (l *routeLab) Plant(t testing.TB) (describe func() []string) {
	t.Helper()
	return l.plant(func() {
		nat := l.AddInstance(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Subnet: l.subnet}})
		gone := l.AddInstance(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Subnet: l.subnet}})
		pod := l.AddFargate(sim.FargateSpec{Subnet: l.subnet})
		for _, spec := range []sim.RouteSpec{
			{Destination: "172.16.0.0/12", Gateway: "igw-0b"},
			{Destination: "::/0", Gateway: "igw-0b"},
			{Destination: "192.168.1.0/24", Instance: nat},
			{Destination: "192.168.2.0/24", Instance: gone},
			{Destination: "192.168.3.0/24", Interface: pod.InterfaceID},
			{Destination: "fd00:245::/64", Instance: nat},
			{Destination: "10.245.1.0/24", Instance: gone},
		} {
			l.AddRoute(l.table, spec)
		}
		l.Remove(gone)
		l.others = l.Cloud.Routes(l.table)
	}, func(line string) bool {
		return strings.HasPrefix(line, "route ") && !strings.HasPrefix(line, "route 10.244.") && !strings.HasPrefix(line, "route fd00:244:")
	})
}
