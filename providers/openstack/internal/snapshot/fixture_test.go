package snapshot_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The operations of the request log.
const (
	opBalancers = "octavia.ListLoadBalancers"
	opListeners = "octavia.ListListeners"
	opPools     = "octavia.ListPools"
	opMonitors  = "octavia.ListHealthMonitors"
	opTree      = "octavia.ShowLoadBalancerStatus"
	opMembers   = "octavia.ListMembers"
	opAddresses = "neutron.ListFloatingIPs"
	opGroups    = "neutron.ListSecurityGroups"
)

// fixture is a cloud in virtual time, and a snapshot of the project of the cluster.
type fixture struct {
	*openstacktest.Cloud
	*snapshot.Snapshot

	t                testing.TB
	client           *client.Client
	subnet, external string
	foreign          string // a subnet of another project
	nodes            map[string]string
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newFixture(t, openstack.UserCCM)) })
}

// newFixture starts a cloud and logs in as a user of the project of the cluster. No read is
// stale: the tests assert which state a result shows.
func newFixture(t testing.TB, user string) *fixture {
	t.Helper()
	// There are more addresses and ports than a project may have by default.
	quotas := openstack.Quotas{Ports: 1000, FloatingIPs: 1000}
	// Lists are counted, which a stale read repeats.
	options := openstack.Options{InMemory: true, StaleReads: new(openstack.StaleReads), Quotas: quotas, TokenLifetime: 24 * time.Hour}
	f := &fixture{
		t: t, Cloud: openstacktest.Start(t, options),
		nodes: map[string]string{"node-1": "10.0.255.1", "node-2": "10.0.255.2", "node-3": "10.0.255.3"},
	}
	network := f.AddNetwork(openstack.NetworkSpec{Name: "private"})
	f.subnet = f.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "10.0.0.0/16"})
	f.external = f.AddNetwork(openstack.NetworkSpec{Name: "public", External: true, Project: openstack.ProjectOther})
	f.AddSubnet(openstack.SubnetSpec{Network: f.external, CIDR: "192.0.2.0/24"})
	f.AddRouter(openstack.RouterSpec{Name: "router", External: f.external, Subnets: []string{f.subnet}})
	other := f.AddNetwork(openstack.NetworkSpec{Name: "other", Project: openstack.ProjectOther})
	f.foreign = f.AddSubnet(openstack.SubnetSpec{Network: other, CIDR: "10.1.0.0/16"})
	f.client = f.NewClient(t, f.ClientConfig(), credential.NewInFile(f.Credentials(user), nil), f.ClientOptions())
	if _, err := f.client.LoadBalancer().Version(t.Context()); err != nil { // logs in
		t.Fatal(err)
	}
	openstacktest.Must(t, f.client.Network().Available(t.Context()))
	f.restart()

	return f
}

// restart makes a snapshot that has read nothing.
func (f *fixture) restart() {
	f.Snapshot = snapshot.New(snapshot.API{Octavia: f.client.LoadBalancer(), Network: f.client.Network()}, snapshot.Options{})
	f.t.Cleanup(f.Close)
	f.Interceptor().Reset()
}

// add adds the load balancer of a Service with two ports.
func (f *fixture) add(name string) string {
	return f.AddServiceLoadBalancer(openstack.ServiceSpec{
		Name: name, Subnet: f.subnet, Nodes: f.nodes,
		Ports: []openstack.ServicePort{{Protocol: "TCP", Port: 80, NodePort: 30080}, {Protocol: "UDP", Port: 53, NodePort: 30053}},
	})
}

func (f *fixture) addAll(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = f.add(fmt.Sprintf("service-%d", i))
	}

	return ids
}

// observed returns a load balancer, nil if it cannot be used.
func (f *fixture) observed(id string) *octavia.Observed {
	f.t.Helper()
	o, _, ok, err := f.Observed(f.t.Context(), id)
	if err != nil {
		f.t.Errorf("load balancer %s: %v", id, err)
	}
	if ok != (o != nil) {
		f.t.Errorf("load balancer %s: %t, with %v", id, ok, o)
	}

	return o
}

// alone reads a load balancer alone.
func (f *fixture) alone(id string) *octavia.Observed {
	f.t.Helper()
	lb, err := f.client.LoadBalancer().GetLoadBalancer(f.t.Context(), id)
	openstacktest.Must(f.t, err)
	o, err := octavia.Read(f.t.Context(), f.client.LoadBalancer(), lb, func(request.Part, string, []string) bool { return true })
	openstacktest.Must(f.t, err)

	return o
}

// pass reads all load balancers as the workers of the service controller do.
func (f *fixture) pass(ids []string) {
	f.t.Helper()
	work := make(chan string)
	var workers sync.WaitGroup
	for range 5 {
		workers.Go(func() {
			for id := range work {
				if o := f.observed(id); o == nil {
					f.t.Errorf("load balancer %s cannot be used", id)
				}
				if _, err := f.Groups(f.t.Context(), "lb-sg-"+id); err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	for _, id := range ids {
		work <- id
	}
	close(work)
	workers.Wait()
}

// lists are calls of each list, with pages of the list of pools.
func lists(pages int, more map[string]int) map[string]int {
	all := map[string]int{opBalancers: 1, opListeners: 1, opPools: pages, opMonitors: 1, opAddresses: 1, opGroups: 1}
	maps.Copy(all, more)

	return all
}

// calls checks the calls since the last time.
func (f *fixture) calls(reason string, want map[string]int) {
	f.t.Helper()
	openstacktest.Check(f.t, reason, want, f.Interceptor().Calls())
	f.Interceptor().Reset()
}
