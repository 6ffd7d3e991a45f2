package networks_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The operations in the request log.
const (
	opNetworks = "neutron.ListNetworks"
	opSubnets  = "neutron.ListSubnets"
	opSubnet   = "neutron.ShowSubnet"
	opPorts    = "neutron.ListPorts"
)

// id returns an ID that begins with a digit, so that IDs have an order.
func id(digit int) string { return fmt.Sprintf("%d0000000-2222-4333-8444-555555555555", digit) }

// fixture is a cloud, and a finder with a clock that only the test moves.
type fixture struct {
	*openstacktest.Cloud
	*networks.Finder

	clock *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T, options openstack.Options) *fixture {
	t.Helper()
	options.StaleReads = new(openstack.StaleReads) // nothing is written, and calls are counted
	f := &fixture{
		Cloud: openstacktest.Start(t, options),
		clock: clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
	}
	o := f.ClientOptions()
	o.RetryTime = time.Nanosecond // a fault is to be seen, not retried
	api := f.NewClient(t, f.ClientConfig(), credential.NewInFile(f.Credentials(openstack.UserCCM), nil), o)
	f.Finder = networks.New(api.Network(), networks.Options{Clock: f.clock})

	return f
}

// tick moves the clock.
func (f *fixture) tick(d time.Duration) { f.clock.SetTime(f.clock.Now().Add(d)) }

// wantCalls checks how many calls of operations there were in all.
func (f *fixture) wantCalls(t *testing.T, reason string, want map[string]int) {
	t.Helper()
	for op, n := range want {
		if got := f.Interceptor().Count(op); got != n {
			t.Errorf("%s: %d calls of %s, want %d", reason, got, op, n)
		}
	}
}

// addExternal adds an external network of another project with subnets, which the user
// cannot see, or of the own project.
func (f *fixture) addExternal(digit int, own bool, cidrs ...string) string {
	spec := openstack.NetworkSpec{Name: fmt.Sprint("public-", digit), ID: id(digit), External: true}
	if own {
		spec.Project = openstack.ProjectCCM
	}
	network := f.AddNetwork(spec)
	for _, cidr := range cidrs {
		f.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: cidr})
	}

	return network
}

// bounded is the context of a test, with an end.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	t.Cleanup(cancel)

	return ctx
}

// in is the subnet of a VIP.
func in(subnet string) networks.VIPSubnet {
	return func(context.Context) (string, error) { return subnet, nil }
}

func target(node, addr string) request.Target {
	return request.Target{Node: node, Address: netip.MustParseAddr(addr)}
}

// servers returns the server of a Node from a map. One that is not in it is not known.
func servers(byNode map[string]string) networks.ServerOf {
	return func(node string) (string, error) {
		if id, ok := byNode[node]; ok {
			return id, nil
		}

		return "", errUnknown
	}
}

var errUnknown = errors.New("the list of servers failed")

// must ends the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
