package loadbalancers

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

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// The clusters in an account: ours, and another with a similar name.
const (
	ourCluster   = "east"
	otherCluster = "east-2"
)

// machine is an instance of the test cloud.
type machine = harness.Machine

// fixture is what one case works with: a new test cloud, and the provider of one
// cluster once it is connected.
type fixture struct {
	harness.Mutable[Cloud]
	adapter   Adapter
	cluster   string
	balancers cloudprovider.LoadBalancer
	services  *int // how many there are
}

// newFixture makes the test cloud of one case.
func newFixture(t testing.TB, adapter Adapter) *fixture {
	t.Helper()
	limits := harness.Limits{Timeout: adapter.Timeout, NoticeTime: adapter.NoticeTime}

	return &fixture{
		Mutable: harness.Mutable[Cloud]{Fixture: harness.NewFixture(t, adapter.NewCloud(t), limits)},
		adapter: adapter, cluster: ourCluster, services: new(int),
	}
}

// connectAs connects a provider for a cluster, without waiting for it, and returns
// a fixture with it in the same test cloud.
func (f *fixture) connectAs(cluster string) *fixture {
	f.T.Helper()
	balancers, ok := f.Cloud.ConnectAs(f.T, cluster).LoadBalancer()
	if !ok || balancers == nil {
		f.T.Fatal("the provider does not offer LoadBalancer")
	}
	next := *f
	next.cluster, next.balancers = cluster, balancers

	return &next
}

// startAs connects a provider for a cluster and waits until it works.
func (f *fixture) startAs(cluster string) *fixture {
	f.T.Helper()
	next := f.connectAs(cluster)
	unknown := kubetest.Service("default", "unknown", kubetest.ServiceUID("ffffffff-5e1f-4c0d-8a7b-00c0ffee0000"))
	f.Eventually("GetLoadBalancer of a Service that never was", func() error {
		_, exists, err := next.get(unknown)
		if exists {
			f.T.Fatal("GetLoadBalancer finds a Service that never was")
		}

		return err
	})

	return next
}

// start connects the provider of our cluster.
func (f *fixture) start() { *f = *f.startAs(ourCluster) }

// restart connects another provider of the same cluster.
func (f *fixture) restart() *fixture { return f.startAs(f.cluster) }

// service is a new Service with the ports given, TCP 80 and 443 without any.
// Its node ports and its UID are its own.
func (f *fixture) service(name string, ports ...kubetest.ServiceOption) *v1.Service {
	f.T.Helper()
	*f.services++
	if len(ports) == 0 {
		ports = []kubetest.ServiceOption{kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443)}
	}
	uid := fmt.Sprintf("%08x-5e1f-4c0d-8a7b-00c0ffee0000", *f.services)
	service := kubetest.Service("default", name, append(ports, kubetest.ServiceUID(uid))...)
	for i := range service.Spec.Ports {
		service.Spec.Ports[i].NodePort = nodePort(*f.services, i)
	}
	maps.Copy(service.Annotations, f.adapter.Annotations)

	return service
}

// nodePort is the i-th node port of the n-th Service.
func nodePort(n, i int) int32 { return int32(30000 + 10*(n%270) + i) } //nolint:gosec // small numbers

// makeCall makes a call that must leave the Service and the Nodes as they are.
func makeCall[T any](
	f *fixture, what string, service *v1.Service, nodes []*v1.Node, method func(context.Context) (T, error),
) (T, error) {
	f.T.Helper()
	serviceBefore, order := service.DeepCopy(), slices.Clone(nodes)
	nodesBefore := make([]*v1.Node, len(nodes))
	for i, node := range nodes {
		nodesBefore[i] = node.DeepCopy()
	}
	value, err := harness.Call(f.Fixture, what+" of "+service.Name, method)
	if errors.Is(err, harness.ErrNoResult) {
		return value, err
	}
	if !equality.Semantic.DeepEqual(serviceBefore, service) {
		f.T.Errorf("%s changed the Service (-before +after):\n%s", what, cmp.Diff(serviceBefore, service))
	}
	if !slices.Equal(order, nodes) || !equality.Semantic.DeepEqual(nodesBefore, nodes) {
		f.T.Errorf("%s changed the Nodes (-before +after):\n%s", what, cmp.Diff(nodesBefore, nodes))
	}

	return value, err
}

// The four calls, each made once.

func (f *fixture) get(service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	f.T.Helper()
	exists := false
	status, err := makeCall(f, "GetLoadBalancer", service, nil, func(ctx context.Context) (*v1.LoadBalancerStatus, error) {
		status, found, err := f.balancers.GetLoadBalancer(ctx, f.cluster, service)
		exists = found

		return status, err
	})

	return status, exists && !errors.Is(err, harness.ErrNoResult), err
}

func (f *fixture) ensure(service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	f.T.Helper()
	status, err := makeCall(f, "EnsureLoadBalancer", service, nodes, func(ctx context.Context) (*v1.LoadBalancerStatus, error) {
		return f.balancers.EnsureLoadBalancer(ctx, f.cluster, service, nodes)
	})
	if status == nil && err == nil {
		f.T.Errorf("EnsureLoadBalancer of %s returns neither a status nor an error", service.Name)
	}

	return status, err
}

func (f *fixture) update(service *v1.Service, nodes []*v1.Node) error {
	f.T.Helper()
	_, err := makeCall(f, "UpdateLoadBalancer", service, nodes, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f.balancers.UpdateLoadBalancer(ctx, f.cluster, service, nodes)
	})

	return err
}

func (f *fixture) remove(service *v1.Service) error {
	f.T.Helper()
	_, err := makeCall(f, "EnsureLoadBalancerDeleted", service, nil, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f.balancers.EnsureLoadBalancerDeleted(ctx, f.cluster, service)
	})

	return err
}

// name is the name of the Service's load balancer.
func (f *fixture) name(service *v1.Service) string {
	return f.balancers.GetLoadBalancerName(f.T.Context(), f.cluster, service)
}

// store writes the Service to the Kubernetes API, if the provider writes there.
func (f *fixture) store(service *v1.Service) {
	f.T.Helper()
	if store, ok := f.Cloud.(ServiceStore); ok {
		service.Annotations = store.Store(f.T, f.cluster, service).Annotations
	}
}

// maxRetryDelay is how long the suite waits at most for a provider that requests
// to be called again later.
const maxRetryDelay = 100 * time.Millisecond

// persist makes a call as the service controller does, again as long as the
// provider requests that.
func (f *fixture) persist(call func() error) error {
	deadline := time.Now().Add(f.NoticeTime)
	for {
		err := call()
		later, ok := errors.AsType[*api.RetryError](err)
		if !ok || time.Now().After(deadline) {
			return err
		}
		time.Sleep(min(later.RetryAfter(), maxRetryDelay))
	}
}

// tryEnsure ensures the load balancer and writes the status of the Service.
func (f *fixture) tryEnsure(service *v1.Service, nodes []*v1.Node) error {
	f.T.Helper()
	f.store(service)
	defer f.store(service)

	return f.persist(func() error {
		status, err := f.ensure(service, nodes)
		if err == nil && status != nil {
			service.Status.LoadBalancer = *status
		}

		return err
	})
}

// mustEnsure ensures the load balancer and checks it.
func (f *fixture) mustEnsure(service *v1.Service, machines ...machine) {
	f.T.Helper()
	if err := f.tryEnsure(service, harness.NodesOf(machines...)); err != nil {
		f.T.Fatalf("EnsureLoadBalancer of %s: %v", service.Name, err)
	}
	f.check(service, machines)
}

// mustUpdate updates the load balancer and checks it.
func (f *fixture) mustUpdate(service *v1.Service, machines ...machine) {
	f.T.Helper()
	f.store(service)
	if err := f.persist(func() error { return f.update(service, harness.NodesOf(machines...)) }); err != nil {
		f.T.Fatalf("UpdateLoadBalancer of %s: %v", service.Name, err)
	}
	f.check(service, machines)
}

// mustRemove deletes the load balancer as the service controller does: only if
// GetLoadBalancer finds it, which it must as long as a part of it exists.
func (f *fixture) mustRemove(service *v1.Service) {
	f.T.Helper()
	f.store(service)
	if _, exists, err := f.get(service); err != nil {
		f.T.Fatalf("GetLoadBalancer of %s: %v", service.Name, err)
	} else if !exists {
		return
	}
	if err := f.persist(func() error { return f.remove(service) }); err != nil {
		f.T.Fatalf("EnsureLoadBalancerDeleted of %s: %v", service.Name, err)
	}
	f.checkAbsent(service)
}
