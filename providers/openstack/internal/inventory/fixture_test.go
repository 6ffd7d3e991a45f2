package inventory_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The operations in the request log.
const (
	opList    = "nova.ListServersDetail"
	opGet     = "nova.ShowServer"
	opActions = "nova.ListServerActions"
	opFlavor  = "nova.ShowFlavor"
)

// fixture is a cloud, and an inventory with a clock that only the test moves.
type fixture struct {
	*openstacktest.Cloud
	*inventory.Inventory

	clock *clocktesting.FakePassiveClock

	mu sync.Mutex
	// nodes are the servers of the Nodes.
	nodes []string
	// unknown means that the Nodes are not known.
	unknown bool
}

// newFixture starts a cloud and logs in as a user.
func newFixture(t *testing.T, user string, options openstack.Options) *fixture {
	t.Helper()
	f := &fixture{
		Cloud: openstacktest.Start(t, options),
		clock: clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
	}
	f.connect(t, user, f.ClientConfig())

	return f
}

// connect makes the client and the inventory.
func (f *fixture) connect(t *testing.T, user string, cfg client.Config) {
	t.Helper()
	o := f.ClientOptions()
	o.Clock = clock.RealClock{}
	o.RetryTime = time.Nanosecond // a fault is to be seen, not retried
	api := f.NewClient(t, cfg, credential.NewInFile(f.Credentials(user), nil), o)
	f.Inventory = inventory.New(
		inventory.API{Compute: api.Compute(), Network: api.Network(), Project: api.Project},
		inventory.Config{Clock: f.clock, Nodes: f.listNodes, ListWait: openstacktest.Timeout},
	)
	t.Cleanup(f.Close)
}

func (f *fixture) listNodes() ([]string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Clone(f.nodes), !f.unknown
}

// addNodes adds servers with Nodes, called node-1 and so on.
func (f *fixture) addNodes(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = f.AddServer(openstack.ServerSpec{Name: fmt.Sprintf("node-%d", i+1)})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = append(f.nodes, ids...)

	return ids
}

// setNodes sets the servers that have Nodes.
func (f *fixture) setNodes(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = slices.Clone(ids)
}

// tick moves the clock.
func (f *fixture) tick(d time.Duration) { f.clock.SetTime(f.clock.Now().Add(d)) }

// calls returns the number of calls of operations since the last time.
func (f *fixture) calls(ops ...string) int {
	n := 0
	for _, op := range ops {
		n += f.Interceptor().Count(op)
	}

	return n
}

// bounded is the context of a test, with an end.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	t.Cleanup(cancel)

	return ctx
}
