package openstack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// The names of the Service that most tests are about, and of its load balancer.
const (
	clusterName = "kubernetes"
	webUID      = "11111111-1111-4111-8111-111111111111"
	webName     = "kube_service_kubernetes_default_web"
	apiUID      = "22222222-2222-4222-8222-222222222222"
	apiName     = "kube_service_kubernetes_default_api"
)

// balanced is a cluster whose Services get load balancers.
type balanced struct {
	*fleet

	t testing.TB
	// network, subnet, external and outside are the IDs of the network of the Nodes, and of
	// that of floating IPs.
	network, subnet, external, outside string
	kube                               *kubetest.Clientset
	cloud                              *cloud
	lb                                 *loadBalancer
	events                             *record.FakeRecorder
}

// balance starts a cloud with a cluster of three Nodes. No read is stale: the requests are
// counted.
func balance(t testing.TB, more string) *balanced {
	t.Helper()

	return balanceIn(t, openstack.Options{StaleReads: new(openstack.StaleReads)}, more)
}

// balanceIn is balance with options. More is appended to the cloud-config.
func balanceIn(t testing.TB, options openstack.Options, more string) *balanced {
	t.Helper()
	b := &balanced{fleet: newFleet(t, 0, options), t: t}
	b.network = b.AddNetwork(openstack.NetworkSpec{Name: network})
	b.subnet = b.AddSubnet(openstack.SubnetSpec{Network: b.network, CIDR: "10.0.0.0/16", Name: "nodes"})
	b.external = b.AddNetwork(openstack.NetworkSpec{Name: "public", External: true})
	b.outside = b.AddSubnet(openstack.SubnetSpec{Network: b.external, CIDR: "203.0.113.0/24"})
	b.AddRouter(openstack.RouterSpec{Name: "router", External: b.external, Subnets: []string{b.subnet}})
	for i := range 3 {
		b.addNode(fmt.Sprintf("node-%d", i+1))
	}
	b.kube = kubetest.NewClientset(b.objects()...)
	b.start(more)

	return b
}

// addNode adds a server with its Node to the fleet.
func (b *balanced) addNode(name string) *v1.Node {
	ip := fmt.Sprintf("10.0.%d.%d", 200+len(b.nodes)/200, 10+len(b.nodes)%200)
	node := b.add(name, openstack.ServerSpec{Networks: []openstack.ServerNetwork{{Name: network, IPs: []string{ip}}}})
	kubetest.Address(v1.NodeInternalIP, ip)(node)

	return node
}

func (b *balanced) objects() []runtime.Object {
	objects := make([]runtime.Object, len(b.nodes))
	for i, node := range b.nodes {
		objects[i] = node
	}

	return objects
}

// start starts the provider anew, as after a restart.
func (b *balanced) start(more string) {
	b.t.Helper()
	times := quick()
	times.balancing = loadBalancerTuning{Waits: pending.Options{Interval: 5 * time.Millisecond, Limit: openstacktest.Timeout}}
	if b.Options().InMemory {
		times.client.Dial = b.Server().Dial
		times.balancing.Waits.Limit = 10 * time.Second // each look takes a while, no time passes meanwhile
	}
	b.cloud = connectTo(b.t, b.kube, noEnvironment(), b.CloudConfig(openstack.UserCCM, more), times)
	b.lb = b.cloud.loadBalancer
	b.events = record.NewFakeRecorder(100)
	b.lb.services.SetRecorder(b.events)
}

// web is the Service with the TCP ports 80 and 443.
func web(options ...kubetest.ServiceOption) *v1.Service {
	return kubetest.Service("default", "web", append([]kubetest.ServiceOption{
		kubetest.ServiceUID(webUID), kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443),
	}, options...)...)
}

// apiService is another Service, with the TCP port 8080.
func apiService(options ...kubetest.ServiceOption) *v1.Service {
	return kubetest.Service("default", "api", append([]kubetest.ServiceOption{
		kubetest.ServiceUID(apiUID), kubetest.Port(v1.ProtocolTCP, 8080),
	}, options...)...)
}

func annotate(name annotation.Name, value string) kubetest.ServiceOption {
	return kubetest.ServiceAnnotated(string(name), value)
}

func isInternal() kubetest.ServiceOption { return annotate(request.AnnotationInternal, "true") }

// create adds a Service to the cluster.
func (b *balanced) create(svc *v1.Service) *v1.Service {
	b.t.Helper()
	made, err := b.kube.CoreV1().Services(svc.Namespace).Create(b.t.Context(), svc, metav1.CreateOptions{})
	must(b.t, err)

	return made
}

// now returns a Service as it is.
func (b *balanced) now(svc *v1.Service) *v1.Service { return serviceNow(b.t, b.kube, svc) }

func serviceNow(t testing.TB, kube kubernetes.Interface, svc *v1.Service) *v1.Service {
	t.Helper()
	found, err := kube.CoreV1().Services(svc.Namespace).Get(t.Context(), svc.Name, metav1.GetOptions{})
	must(t, err)

	return found
}

// sync makes the load balancer once, as the service controller does, and stores the status.
func (b *balanced) sync(svc *v1.Service) error {
	b.t.Helper()
	svc = b.now(svc)
	status, err := b.lb.EnsureLoadBalancer(bounded(b.t), clusterName, svc, b.nodes)
	if err != nil {
		return err
	}
	svc = b.now(svc)
	svc.Status.LoadBalancer = *status
	if _, err := b.kube.CoreV1().Services(svc.Namespace).UpdateStatus(b.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}

	return nil
}

// ensure makes the load balancer, which must not fail, until no annotation is written any
// more. It returns the Service.
func (b *balanced) ensure(svc *v1.Service) *v1.Service {
	b.t.Helper()
	for {
		before := b.now(svc).Annotations
		must(b.t, b.sync(svc))
		if after := b.now(svc); maps.Equal(before, after.Annotations) {
			return after
		}
	}
}

// update changes the Nodes of the load balancer.
func (b *balanced) update(svc *v1.Service, nodes ...*v1.Node) error {
	b.t.Helper()

	return b.lb.UpdateLoadBalancer(bounded(b.t), clusterName, b.now(svc), nodes)
}

// remove deletes the load balancer as the service controller does.
func (b *balanced) remove(svc *v1.Service) error {
	b.t.Helper()
	svc = b.now(svc)
	_, exists, err := b.lb.GetLoadBalancer(bounded(b.t), clusterName, svc)
	if err != nil || !exists {
		return err
	}

	return b.lb.EnsureLoadBalancerDeleted(bounded(b.t), clusterName, svc)
}

// exists is the query of the service controller before it deletes.
func (b *balanced) exists(svc *v1.Service) bool {
	b.t.Helper()
	_, exists, err := b.lb.GetLoadBalancer(bounded(b.t), clusterName, b.now(svc))
	must(b.t, err)

	return exists
}

// change edits a Service in the cluster.
func (b *balanced) change(svc *v1.Service, edit func(*v1.Service)) *v1.Service {
	b.t.Helper()
	svc = b.now(svc)
	edit(svc)
	changed, err := b.kube.CoreV1().Services(svc.Namespace).Update(b.t.Context(), svc, metav1.UpdateOptions{})
	must(b.t, err)

	return changed
}

// balancerOf returns the load balancer of a Service, which must have one.
func (b *balanced) balancerOf(svc *v1.Service) openstack.LoadBalancer {
	b.t.Helper()
	id := b.now(svc).Annotations[string(request.AnnotationLoadBalancerID)]
	if id == "" {
		b.t.Fatalf("%s has no annotation with the ID", svc.Name)
	}

	return b.LoadBalancer(id)
}

// address returns the address in the status of a Service.
func (b *balanced) address(svc *v1.Service) string {
	b.t.Helper()
	ingress := b.now(svc).Status.LoadBalancer.Ingress
	if len(ingress) != 1 {
		b.t.Fatalf("%s has the ingresses %v", svc.Name, ingress)
	}

	return ingress[0].IP
}

// serves fails the test unless an address and port has these Nodes.
func (b *balanced) serves(address string, port int, nodes ...*v1.Node) {
	b.t.Helper()
	var want []string
	for _, node := range nodes {
		want = append(want, fmt.Sprintf("%s:%d", node.Status.Addresses[0].Address, 30000+port))
	}
	slices.Sort(want)
	if got := b.ServedBy(address, "TCP", port); !slices.Equal(got, want) {
		b.t.Errorf("%s port %d is served by %v, want %v", address, port, got, want)
	}
}

// recorded returns the Events since the last call.
func (b *balanced) recorded() []string { return kubetest.Events(b.events) }

// wrote reports whether an Event of a reason was recorded among these.
func wrote(events []string, reason string) bool {
	return slices.ContainsFunc(events, func(event string) bool { return strings.HasPrefix(event, "Warning "+reason+" ") })
}

// warned reports an Event of a reason that is missing since the last call.
func (b *balanced) warned(reason service.Reason) {
	b.t.Helper()
	if events := b.recorded(); !wrote(events, string(reason)) {
		b.t.Errorf("no Event %s in %q", reason, events)
	}
}

// notWarned reports an Event of a reason since the last call.
func (b *balanced) notWarned(reason service.Reason) {
	b.t.Helper()
	if events := b.recorded(); wrote(events, string(reason)) {
		b.t.Errorf("an Event %s in %q", reason, events)
	}
}

// incomplete reports an error after which the Service is not synced again.
func (b *balanced) incomplete(err error) {
	b.t.Helper()
	if again(err) < minRetryAfter {
		b.t.Errorf("it is not synced again: %v", err)
	}
}

// written counts the writes to the cloud that a function makes.
func (b *balanced) written(do func()) map[string]int {
	before := b.Writes()
	do()
	after := b.Writes()
	for op, n := range before {
		if after[op] -= n; after[op] == 0 {
			delete(after, op)
		}
	}
	maps.DeleteFunc(after, func(op string, _ int) bool { return strings.HasPrefix(op, "keystone.") })

	return after
}

// nothingLeft fails the test if the provider has left anything.
func (b *balanced) nothingLeft() {
	b.t.Helper()
	if left := b.Leaks(); len(left) > 0 {
		b.t.Errorf("left behind: %v", left)
	}
}

// production restarts the provider with the times of production.
func (b *balanced) production() {
	b.t.Helper()
	b.cloud = connectTo(b.t, b.kube, noEnvironment(), b.CloudConfig(openstack.UserCCM, ""), tuning{
		client: client.Options{Dial: b.Server().Dial, LoginGuard: openstacktest.EagerGuard()},
	})
	b.lb = b.cloud.loadBalancer
	b.lb.services.SetRecorder(b.events)
}

// all calls a function with all Services, by as many workers as the service controller has.
func (b *balanced) all(services []*v1.Service, do func(*v1.Service)) {
	work := make(chan *v1.Service)
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() {
			for svc := range work {
				do(svc)
			}
		})
	}
	for _, svc := range services {
		work <- svc
	}
	close(work)
	running.Wait()
}
