package aws

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

func TestMain(m *testing.M) { awstest.Main(m) }

const demo = "demo"

// region is a simulated region with the VPC of a cluster.
type region struct {
	*sim.Cloud

	t    testing.TB
	seed *sim.Seed
}

func newRegion(t testing.TB, options sim.Options) *region {
	t.Helper()
	cloud, err := sim.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return &region{Cloud: cloud, t: t, seed: cloud.Seed(demo)}
}

// impatient makes clients give up after few attempts.
var impatient = client.Tuning{Timeout: time.Minute, MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond}

// connect makes the provider and starts it as the binary does. Each line is one
// more of the section [Global].
func (r *region) connect(t cloudTuning, lines ...string) *cloud {
	r.t.Helper()

	return r.connectFile(t, r.file(lines...))
}

// file is a cloud-config with which the provider queries no identity.
func (r *region) file(lines ...string) string {
	return fmt.Sprintf(`[Global]
Region = %[1]s
VPC = %[2]s
KubernetesClusterID = %[3]s
%[4]s
[ServiceOverride "ec2"]
Service = EC2
Region = %[1]s
URL = %[5]s
SigningRegion = %[1]s
`, r.Region(), r.seed.VPC, demo, strings.Join(lines, "\n"), r.URL())
}

func (r *region) connectFile(t cloudTuning, text string) *cloud {
	r.t.Helper()
	file, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	cfg, problems := decode(file)
	if err := problems.Err(); err != nil {
		r.t.Fatal(err)
	}
	if t.client.Timeout == 0 {
		t.client = impatient
	}
	c, err := newCloudFrom(context.Background(), cfg, t)
	if err != nil {
		r.t.Fatal(err)
	}
	stop := make(chan struct{})
	c.Initialize(builder{}, stop)
	r.t.Cleanup(func() {
		close(stop)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			r.t.Error(err)
		}
	})

	return c
}

// builder returns a Kubernetes API for the Events of the provider.
type builder struct {
	cloudprovider.ControllerClientBuilder
}

func (builder) Client(string) (kubernetes.Interface, error) { return kubetest.NewClientset(), nil }

// withNodes passes the provider an informer with these Nodes, and returns its
// store.
func (r *region) withNodes(c *cloud, nodes ...*v1.Node) cache.Store {
	r.t.Helper()
	store := serveNodes(r.t, c)
	for _, node := range nodes {
		if err := store.Add(node); err != nil {
			r.t.Fatal(err)
		}
	}

	return store
}

// syncedInformer is an informer that has synced and does not run.
type syncedInformer struct{ cache.SharedIndexInformer }

func (syncedInformer) HasSynced() bool { return true }

// serveNodes passes the provider an informer that has synced, and returns its
// store.
func serveNodes(t testing.TB, c *cloud) cache.Store {
	t.Helper()
	informer := informers.NewSharedInformerFactory(kubetest.NewClientset(), 0).Core().V1().Nodes().Informer()
	index, err := nodes.IndexNodes(syncedInformer{informer})
	if err != nil {
		t.Fatal(err)
	}
	c.source.SetNodes(index)

	return informer.GetStore()
}

// calls are the calls that f makes, by operation.
func (r *region) calls(f func()) map[string]int {
	before := r.Interceptor().Calls()
	f()
	made := map[string]int{}
	for op, n := range r.Interceptor().Calls() {
		if n != before[op] {
			made[op] = n - before[op]
		}
	}

	return made
}

func total(calls map[string]int) int {
	sum := 0
	for n := range maps.Values(calls) {
		sum += n
	}

	return sum
}

// node is the Node of an instance, an hour old.
func node(id string, options ...kubetest.NodeOption) *v1.Node {
	old := []kubetest.NodeOption{kubetest.ProviderID("aws:///us-west-2a/" + id), kubetest.CreatedAt(time.Now().Add(-time.Hour))}

	return kubetest.Node("node-"+id, append(old, options...)...)
}

// findInstance has the provider find an instance: until then no missing one
// counts as deleted.
func (r *region) findInstance(c *cloud) {
	r.t.Helper()
	n := node(r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "prover"}))
	if exists, err := c.instances.InstanceExists(r.t.Context(), n); !exists || err != nil {
		r.t.Fatalf("InstanceExists of an instance is %t, %v", exists, err)
	}
}

// parallel does the work for every item, several at a time.
func parallel[T any](workers int, items []T, work func(T)) {
	next := make(chan T)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for item := range next {
				work(item)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	wg.Wait()
}

// quickly are times within which a test sees what expires.
var quickly = cloudTuning{
	instances: instance.Options{NegativeTTL: time.Nanosecond},
	source:    nodes.Tuning{MaxAge: time.Nanosecond, MissingAge: time.Nanosecond, Window: time.Nanosecond},
}
