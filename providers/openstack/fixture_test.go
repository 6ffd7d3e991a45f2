package openstack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// quick returns settings with which what was read is soon read again, and no call ends
// because the machine is busy. Refused logins are repeated soon: the cloud of a test locks
// no account.
func quick() tuning {
	return tuning{
		instances: instance.Options{Timeout: time.Minute, NegativeTTL: time.Second},
		client: client.Options{
			LoginGuard:   openstacktest.EagerGuard(),
			LoginTimeout: time.Minute, RetryTime: time.Second,
		},
		inventory: inventory.Config{
			MaxAge: 2 * time.Second, RetryAge: 200 * time.Millisecond, ReadAge: 200 * time.Millisecond, ListWait: time.Minute,
		},
	}
}

// hasty is quick with timeouts by which an outage fits into seconds, for simulated time.
func hasty() tuning {
	times := quick()
	times.instances.Timeout, times.inventory.ListWait, times.client.LoginTimeout = 3*time.Second, time.Second, 2*time.Second

	return times
}

// builder provides a Kubernetes API for Events.
type builder struct {
	cloudprovider.ControllerClientBuilder
	client kubernetes.Interface
}

func (b builder) Client(string) (kubernetes.Interface, error) { return b.client, nil }

// noEnvironment is that of a process without variables and files.
func noEnvironment() environment {
	return environment{readFile: func(path string) ([]byte, error) { return nil, fmt.Errorf("no file %s", path) }}
}

// connect starts the provider with a cloud-config the way the binary does, for a cluster
// with some Nodes.
func connect(t testing.TB, text string, times tuning, nodes ...*v1.Node) *cloud {
	t.Helper()

	return connectIn(t, noEnvironment(), text, times, nodes...)
}

// connectIn is connect with an environment.
func connectIn(t testing.TB, env environment, text string, times tuning, nodes ...*v1.Node) *cloud {
	t.Helper()
	objects := make([]runtime.Object, len(nodes))
	for i, node := range nodes {
		objects[i] = node
	}

	return connectTo(t, kubetest.NewClientset(objects...), env, text, times)
}

// connectTo is connectIn with a Kubernetes API.
func connectTo(t testing.TB, api kubernetes.Interface, env environment, text string, times tuning) *cloud {
	t.Helper()
	c, _ := connectWith(t, api, env, text, times)

	return c
}

// connectWith is connectTo, and also returns the informers.
func connectWith(t testing.TB, api kubernetes.Interface, env environment, text string, times tuning) (*cloud, informers.SharedInformerFactory) {
	t.Helper()
	c, factory, stop := startProvider(t, api, env, text, times)
	t.Cleanup(stop)

	return c, factory
}

// startProvider starts the provider, and returns its informers and what ends it.
func startProvider(
	t testing.TB, api kubernetes.Interface, env environment, text string, times tuning,
) (c *cloud, factory informers.SharedInformerFactory, end func()) {
	t.Helper()
	file, err := config.Parse("cloud.conf", []byte(text))
	must(t, err)
	c, err = newCloudFrom(file, env, times)
	must(t, err)
	stop := make(chan struct{})
	factory = informers.NewSharedInformerFactory(api, 0)
	c.SetServiceWorkers(serviceSyncs)
	c.Initialize(builder{client: api}, stop)
	c.SetInformers(factory)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)

	return c, factory, func() {
		close(stop)
		factory.Shutdown()
		ctx, cancel := context.WithTimeout(context.Background(), openstacktest.Timeout)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Logf("close the provider: %v", err) // a cloud that fails cannot revoke tokens
		}
	}
}

// sessions lists the tokens that were used and not revoked.
func sessions(cloud *openstacktest.Cloud) []string {
	used := sets.New[string]()
	for _, op := range []string{"nova.ListServersDetail", "nova.ShowServer", "neutron.ListPorts"} {
		for _, request := range cloud.Requests(op) {
			used.Insert(request.Header.Get("X-Auth-Token"))
		}
	}
	for _, request := range cloud.Requests("keystone.RevokeToken") {
		used.Delete(request.Header.Get("X-Subject-Token"))
	}

	return sets.List(used)
}

// fleet is a simulated cloud with the servers of a cluster.
type fleet struct {
	*openstacktest.Cloud

	nodes []*v1.Node
}

// network is the network of the servers of a fleet.
const network = "cluster"

// newFleet starts a cloud with n servers.
func newFleet(t testing.TB, n int, options openstack.Options) *fleet {
	t.Helper()
	f := &fleet{Cloud: openstacktest.Start(t, options)}
	for i := range n {
		f.add(fmt.Sprintf("node-%d", i+1), openstack.ServerSpec{Zone: "az-1"})
	}

	return f
}

// add adds a server with its Node, which is an hour old and initialized.
func (f *fleet) add(name string, spec openstack.ServerSpec) *v1.Node {
	spec.Name = name
	if spec.Networks == nil {
		i := len(f.nodes)
		spec.Networks = []openstack.ServerNetwork{{Name: network, IPs: []string{fmt.Sprintf("10.0.%d.%d", 1+i/250, 2+i%250)}}}
	}
	node := kubetest.Node(name, kubetest.ProviderID("openstack:///"+f.AddServer(spec)), old)
	f.nodes = append(f.nodes, node)

	return node
}

// connect starts the provider for all Nodes of the fleet.
func (f *fleet) connect(t testing.TB, more string, times tuning) *cloud {
	t.Helper()
	times.client.Dial = f.ClientOptions().Dial

	return connect(t, f.CloudConfig(openstack.UserCCM, more), times, f.nodes...)
}

// old makes a Node that was made an hour ago.
func old(node *v1.Node) { node.CreationTimestamp.Time = time.Now().Add(-time.Hour) }

// uninitialized returns a copy of a Node as the kubelet registers it.
func uninitialized(node *v1.Node) *v1.Node {
	fresh := node.DeepCopy()
	kubetest.Tainted()(fresh)

	return fresh
}

// idOf is the ID of a Node's server.
func idOf(node *v1.Node) string { return strings.TrimPrefix(node.Spec.ProviderID, "openstack:///") }

// requests counts the requests of the cloud so far, without logins and version documents.
func (f *fleet) requests() int {
	n := 0
	for op, count := range f.Interceptor().Calls() {
		if !strings.HasPrefix(op, "keystone.") && !strings.Contains(op, "Version") {
			n += count
		}
	}

	return n
}

// budget fails the test if more requests were made since than the limit.
func (f *fleet) budget(t *testing.T, what string, since, limit int) {
	t.Helper()
	if n := f.requests() - since; n > limit {
		t.Errorf("%s cost %d requests, allowed are %d: %v", what, n, limit, f.Interceptor().Calls())
	}
}

// each calls a function for all Nodes, by as many workers at a time.
func (f *fleet) each(workers int, do func(*v1.Node)) {
	work := make(chan *v1.Node)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for node := range work {
				do(node)
			}
		})
	}
	for _, node := range f.nodes {
		work <- node
	}
	close(work)
	all.Wait()
}

// bounded is the context of a test, with an end.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	t.Cleanup(cancel)

	return ctx
}

// must ends the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is reports an error that is not the wanted one.
func is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// check compares two values.
func check(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
