package pending_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opGet is a read of a load balancer in the request log.
const opGet = "octavia.ShowLoadBalancer"

// The statuses that the tests set.
const (
	active  = string(client.ProvisioningActive)
	failed  = string(client.ProvisioningError)
	updated = string(client.ProvisioningPendingUpdate)
	deleted = string(client.ProvisioningPendingDelete)
)

// fixture is a cloud in virtual time, and a waiter.
type fixture struct {
	*openstacktest.Cloud
	*pending.Waiter

	t      *testing.T
	api    *client.LoadBalancerService
	subnet string
}

// inBubble runs a test in virtual time. No read is stale unless the test wants it: the
// tests assert after how many looks a wait ends.
func inBubble(t *testing.T, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, Cloud: openstacktest.Start(t, openstack.Options{InMemory: true, StaleReads: new(openstack.StaleReads)})}
		network := f.AddNetwork(openstack.NetworkSpec{Name: "private"})
		f.subnet = f.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "10.0.0.0/16"})
		f.api = f.Client(t).LoadBalancer()
		if err := f.api.Available(t.Context()); err != nil { // logs in
			t.Fatal(err)
		}
		f.Interceptor().Reset()
		f.Waiter = pending.NewWaiter(f.api, pending.Options{})
		test(f)
	})
}

// add adds load balancers with a status that stays.
func (f *fixture) add(n int, status string) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: fmt.Sprintf("lb-%d", i), Subnet: f.subnet})
		f.SetLoadBalancerStatus(ids[i], status)
	}

	return ids
}

// looks checks how often load balancers were read since the last time.
func (f *fixture) looks(reason string, want int) {
	f.t.Helper()
	if got := f.Interceptor().Count(opGet); got != want {
		f.t.Errorf("%s: %d load balancers read, want %d", reason, got, want)
	}
	f.Interceptor().Reset()
}

// ends checks how a wait ends, and after which time. No error is nil.
func (f *fixture) ends(reason string, wait func() error, want error, after time.Duration) {
	f.t.Helper()
	began := time.Now()
	if err := wait(); !errors.Is(err, want) {
		f.t.Errorf("%s: error = %v, want %v", reason, err, want)
	}
	if took := time.Since(began); took != after {
		f.t.Errorf("%s: took %s, want %s", reason, took, after)
	}
}

// later calls a function after a time.
func later(after time.Duration, do func()) { time.AfterFunc(after, do) }
