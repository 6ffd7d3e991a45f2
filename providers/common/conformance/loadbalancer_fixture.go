package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// The clusters in an account: ours, and another with a name like it.
const (
	ourCluster   = "east"
	otherCluster = "east-2"
)

// balancerFixture is what one case about load balancers works with: a fresh test
// cloud, and the provider of one cluster once it is connected.
type balancerFixture struct {
	*fixture
	suite     LoadBalancerSuite
	cloud     LoadBalancerCloud
	cluster   string
	balancers cloudprovider.LoadBalancer
}

// newBalancerFixture makes the test cloud of one case.
func newBalancerFixture(t testing.TB, suite LoadBalancerSuite) *balancerFixture {
	t.Helper()
	cloud := suite.NewCloud(t)
	common := Suite{Provider: suite.Provider, Timeout: suite.Timeout, Patience: suite.Patience}

	return &balancerFixture{fixture: &fixture{t: t, suite: common, cloud: cloud}, suite: suite, cloud: cloud, cluster: ourCluster}
}

// connectAs connects a provider for a cluster, without waiting for it. The fixture
// that it gives works with it in the same test cloud.
func (b *balancerFixture) connectAs(cluster string) *balancerFixture {
	b.t.Helper()
	balancers, ok := b.cloud.ConnectAs(b.t, cluster).LoadBalancer()
	if !ok || balancers == nil {
		b.t.Fatal("the provider does not offer LoadBalancer")
	}
	next := *b
	next.cluster, next.balancers = cluster, balancers

	return &next
}

// startAs connects a provider for a cluster and waits until it works.
func (b *balancerFixture) startAs(cluster string) *balancerFixture {
	b.t.Helper()
	next := b.connectAs(cluster)
	unknown := kubetest.Service("default", "unknown", kubetest.ServiceUID("ffffffff-5e1f-4c0d-8a7b-00c0ffee0000"))
	b.eventually("GetLoadBalancer of a Service that never was", func() error {
		_, exists, err := next.get(unknown)
		if exists {
			b.t.Fatal("GetLoadBalancer knows a Service that never was")
		}

		return err
	})

	return next
}

// start connects the provider of our cluster.
func (b *balancerFixture) start() { *b = *b.startAs(ourCluster) }

// restart gives a provider of the same cluster that knows nothing.
func (b *balancerFixture) restart() *balancerFixture { return b.startAs(b.cluster) }

// service is a new Service with the ports given, TCP 80 and 443 without any.
// Its node ports and its UID are its own.
func (b *balancerFixture) service(name string, ports ...kubetest.ServiceOption) *v1.Service {
	b.t.Helper()
	b.services++
	if len(ports) == 0 {
		ports = []kubetest.ServiceOption{kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443)}
	}
	uid := fmt.Sprintf("%08x-5e1f-4c0d-8a7b-00c0ffee0000", b.services)
	service := kubetest.Service("default", name, append(ports, kubetest.ServiceUID(uid))...)
	for i := range service.Spec.Ports {
		service.Spec.Ports[i].NodePort = nodePort(b.services, i)
	}
	maps.Copy(service.Annotations, b.suite.Annotations)

	return service
}

// nodePort is the i-th node port of the n-th Service.
func nodePort(n, i int) int32 { return int32(30000 + 10*(n%270) + i) } //nolint:gosec // small numbers

// nodesOf are the Nodes of machines, with the addresses that they have.
func nodesOf(machines ...machine) []*v1.Node {
	nodes := make([]*v1.Node, len(machines))
	for i, m := range machines {
		nodes[i] = newNode(m.Ref)
		for _, ip := range m.ips {
			nodes[i].Status.Addresses = append(nodes[i].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
		}
	}

	return nodes
}

// untouched makes a call that must leave the Service and the Nodes as they are,
// and come back.
func untouched[T any](
	b *balancerFixture, what string, service *v1.Service, nodes []*v1.Node, call func(context.Context) (T, error),
) (T, error) {
	b.t.Helper()
	serviceBefore, order := service.DeepCopy(), slices.Clone(nodes)
	nodesBefore := make([]*v1.Node, len(nodes))
	for i, node := range nodes {
		nodesBefore[i] = node.DeepCopy()
	}
	value, err := bounded(b.fixture, what+" of "+service.Name, call)
	if errors.Is(err, errNoAnswer) {
		return value, err
	}
	if !equality.Semantic.DeepEqual(serviceBefore, service) {
		b.t.Errorf("%s changed the Service (-before +after):\n%s", what, cmp.Diff(serviceBefore, service))
	}
	if !slices.Equal(order, nodes) || !equality.Semantic.DeepEqual(nodesBefore, nodes) {
		b.t.Errorf("%s changed the Nodes (-before +after):\n%s", what, cmp.Diff(nodesBefore, nodes))
	}

	return value, err
}

// The four calls, each made once.

func (b *balancerFixture) get(service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	b.t.Helper()
	exists := false
	status, err := untouched(b, "GetLoadBalancer", service, nil, func(ctx context.Context) (*v1.LoadBalancerStatus, error) {
		status, found, err := b.balancers.GetLoadBalancer(ctx, b.cluster, service)
		exists = found

		return status, err
	})

	return status, exists && !errors.Is(err, errNoAnswer), err
}

func (b *balancerFixture) ensure(service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	b.t.Helper()
	status, err := untouched(b, "EnsureLoadBalancer", service, nodes, func(ctx context.Context) (*v1.LoadBalancerStatus, error) {
		return b.balancers.EnsureLoadBalancer(ctx, b.cluster, service, nodes)
	})
	if status == nil && err == nil {
		b.t.Errorf("EnsureLoadBalancer of %s gives neither a status nor an error", service.Name)
	}

	return status, err
}

func (b *balancerFixture) update(service *v1.Service, nodes []*v1.Node) error {
	b.t.Helper()
	_, err := untouched(b, "UpdateLoadBalancer", service, nodes, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.balancers.UpdateLoadBalancer(ctx, b.cluster, service, nodes)
	})

	return err
}

func (b *balancerFixture) remove(service *v1.Service) error {
	b.t.Helper()
	_, err := untouched(b, "EnsureLoadBalancerDeleted", service, nil, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.balancers.EnsureLoadBalancerDeleted(ctx, b.cluster, service)
	})

	return err
}

// name is the name of the Service's load balancer.
func (b *balancerFixture) name(service *v1.Service) string {
	return b.balancers.GetLoadBalancerName(b.t.Context(), b.cluster, service)
}

// store tells the Kubernetes API about the Service, if the provider writes there.
func (b *balancerFixture) store(service *v1.Service) {
	b.t.Helper()
	if store, ok := b.cloud.(ServiceStore); ok {
		service.Annotations = store.Store(b.t, b.cluster, service).Annotations
	}
}

// maxPause is how long the suite lets a provider wait that asks to be called
// again later, at most.
const maxPause = 100 * time.Millisecond

// persist makes a call as the framework's queue does, again as long as the
// provider asks for that.
func (b *balancerFixture) persist(call func() error) error {
	deadline := time.Now().Add(b.suite.Patience)
	for {
		err := call()
		later, ok := errors.AsType[*api.RetryError](err)
		if !ok || time.Now().After(deadline) {
			return err
		}
		time.Sleep(min(later.RetryAfter(), maxPause))
	}
}

// tryEnsure ensures the load balancer and gives the Service its status.
func (b *balancerFixture) tryEnsure(service *v1.Service, nodes []*v1.Node) error {
	b.t.Helper()
	b.store(service)
	defer b.store(service)

	return b.persist(func() error {
		status, err := b.ensure(service, nodes)
		if err == nil && status != nil {
			service.Status.LoadBalancer = *status
		}

		return err
	})
}

// mustEnsure ensures the load balancer and checks it.
func (b *balancerFixture) mustEnsure(service *v1.Service, machines ...machine) {
	b.t.Helper()
	if err := b.tryEnsure(service, nodesOf(machines...)); err != nil {
		b.t.Fatalf("EnsureLoadBalancer of %s: %v", service.Name, err)
	}
	b.check(service, machines)
}

// mustUpdate updates the load balancer and checks it.
func (b *balancerFixture) mustUpdate(service *v1.Service, machines ...machine) {
	b.t.Helper()
	b.store(service)
	if err := b.persist(func() error { return b.update(service, nodesOf(machines...)) }); err != nil {
		b.t.Fatalf("UpdateLoadBalancer of %s: %v", service.Name, err)
	}
	b.check(service, machines)
}

// mustRemove deletes the load balancer as the framework does: only if it is
// said to exist, which it must be as long as a piece of it is there.
func (b *balancerFixture) mustRemove(service *v1.Service) {
	b.t.Helper()
	b.store(service)
	if _, exists, err := b.get(service); err != nil {
		b.t.Fatalf("GetLoadBalancer of %s: %v", service.Name, err)
	} else if !exists {
		return
	}
	if err := b.persist(func() error { return b.remove(service) }); err != nil {
		b.t.Fatalf("EnsureLoadBalancerDeleted of %s: %v", service.Name, err)
	}
	b.checkAbsent(service)
}

// writes gives the number of writes that the work makes.
func (b *balancerFixture) writes(work func()) int {
	b.t.Helper()
	before := b.cloud.Writes()
	work()

	return b.cloud.Writes() - before
}

// writesNothing fails the case if the work writes to the cloud.
func (b *balancerFixture) writesNothing(what string, work func()) {
	b.t.Helper()
	if n := b.writes(work); n != 0 {
		b.t.Errorf("%s makes %d writes", what, n)
	}
}
