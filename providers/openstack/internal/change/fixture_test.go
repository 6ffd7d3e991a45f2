package change_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The operations of the request log.
const (
	opPut     = "octavia.UpdatePool"
	opMembers = "octavia.UpdateMembers"
	opDelete  = "octavia.DeleteLoadBalancer"
)

// fixture is a cloud in virtual time with one load balancer, and an environment. A change
// takes three seconds.
type fixture struct {
	*openstacktest.Cloud
	*change.Env

	t                *testing.T
	subnet, lb, pool string
	wrote            []string
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, stale openstack.StaleReads, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cloud := openstacktest.Start(t, openstack.Options{InMemory: true, StaleReads: &stale, Delays: new(openstack.TypicalDelays())})
		f := &fixture{t: t, Cloud: cloud}
		network := f.AddNetwork(openstack.NetworkSpec{Name: "private"})
		f.subnet = f.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "10.0.0.0/24"})
		f.lb = f.AddLoadBalancer(openstack.LoadBalancerSpec{
			Name: "lb", Subnet: f.subnet,
			Listeners: []openstack.ListenerSpec{{Protocol: "TCP", Port: 80, Pool: &openstack.LBPoolSpec{Name: "pool"}}},
		})
		f.pool = f.LoadBalancer(f.lb).Pools[0]
		api := f.Client(t)
		if _, err := api.Project(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.Env = &change.Env{
			Octavia: api.LoadBalancer(), Network: api.Network(), Waiter: pending.NewWaiter(api.LoadBalancer(), pending.Options{}),
			Wrote: func(id string) { f.wrote = append(f.wrote, id) }, Refused: new(change.Refusals),
		}
		test(f)
	})
}

// rename returns a change of the pool.
func (f *fixture) rename(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := f.Octavia.UpdatePool(ctx, f.pool, client.PoolUpdate{Name: client.Set(name)})

		return err
	}
}

// setMembers returns a change of the members of the pool.
func (f *fixture) setMembers(members ...client.MemberSpec) func(context.Context) error {
	return func(ctx context.Context) error { return f.Octavia.UpdateMembers(ctx, f.pool, members) }
}

// name returns the name of the pool.
func (f *fixture) name() string {
	f.t.Helper()
	pools, err := f.Octavia.PoolsByLoadBalancer(f.t.Context(), f.lb)
	if err != nil || len(pools) != 1 {
		f.t.Fatalf("%d pools: %v", len(pools), err)
	}

	return pools[0].Name
}

// sent checks how often an operation was called.
func (f *fixture) sent(reason, op string, want int) {
	f.t.Helper()
	if got := f.Interceptor().Count(op); got != want {
		f.t.Errorf("%s: %d calls of %s, want %d", reason, got, op, want)
	}
}

// takes checks how long a function takes.
func (f *fixture) takes(reason string, want time.Duration, do func()) {
	f.t.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took != want {
		f.t.Errorf("%s: took %s, want %s", reason, took, want)
	}
}
