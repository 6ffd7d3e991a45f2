package requeue_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/node"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/cmd/multicloud-controller-manager/internal/requeue"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil // they measure the time between errors of all tests
	klog.SetLogger(klog.Logger{})
	debug.SetGCPercent(400)
	m.Run()
}

const provider = "sim"

// machine is an instance in one of several places.
type machine struct{ id string }

func (m machine) ProviderID() string    { return m.id }
func (m machine) State() instance.State { return instance.Running }

// window is how long a lookup waits for others of its endpoint.
const window = 50 * time.Millisecond

// source looks instances up in places, such as vCenters, that fail one by one.
// Lookups of one endpoint at about the same time are one call.
type source struct {
	mu sync.Mutex
	// failing are the places that fail, by name. An error of nil means that the
	// calls of the endpoint never return, not even after its recovery.
	failing map[string]error
	// late makes the endpoint fail only when an instance is described.
	late bool
	// missing makes a Lookup find nothing, so that instances must be confirmed.
	missing bool
	// batches gather the lookups of each endpoint, calls counts what they make
	// of them.
	batches map[string]*batch.Batcher[string, machine]
	calls   map[string]int
}

func (s *source) set(endpoint string, err error, fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failing, endpoint)
	if fails {
		s.failing[endpoint] = err
	}
}

// count returns the number of lookup calls of an endpoint so far.
func (s *source) count(endpoint string) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.calls[endpoint]
}

// endpointOf returns the endpoint that has an instance.
func endpointOf(id string) string {
	endpoint, _, _ := strings.Cut(strings.TrimPrefix(id, provider+"://"), "-")

	return endpoint
}

// probe returns the error of an endpoint.
func (s *source) probe(ctx context.Context, endpoint string) error {
	s.mu.Lock()
	err, fails := s.failing[endpoint]
	s.mu.Unlock()
	if fails && err == nil {
		<-ctx.Done()
		err = ctx.Err()
	}

	return err
}

// batch returns what gathers the lookups of an endpoint.
func (s *source) batch(endpoint string) *batch.Batcher[string, machine] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batches[endpoint] == nil {
		s.batches[endpoint] = batch.New(func(ctx context.Context, ids []string) (map[string]batch.Result[machine], error) {
			return s.list(ctx, endpoint, ids)
		}, batch.Options{Window: window})
	}

	return s.batches[endpoint]
}

// list is one call that looks up instances of an endpoint.
func (s *source) list(ctx context.Context, endpoint string, ids []string) (map[string]batch.Result[machine], error) {
	s.mu.Lock()
	s.calls[endpoint]++
	s.mu.Unlock()
	if !s.late {
		if err := s.probe(ctx, endpoint); err != nil {
			return nil, err
		}
	}
	found := map[string]batch.Result[machine]{}
	for _, id := range ids {
		found[id] = batch.Result[machine]{Value: machine{id}}
	}

	return found, nil
}

func (s *source) Accepts(string) error { return nil }

func (s *source) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	found, err := s.batch(endpointOf(ref.ProviderID)).Get(ctx, ref.ProviderID)
	switch {
	case s.missing:
		return instance.Absent()
	case err != nil:
		return instance.Failed(fmt.Errorf("look %s up: %w", ref, err))
	default:
		return instance.Found(found)
	}
}

func (s *source) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	if err := s.probe(ctx, endpointOf(ref.ProviderID)); err != nil {
		return instance.Failed(fmt.Errorf("confirm %s: %w", ref, err))
	}

	return instance.Found(machine{ref.ProviderID})
}

func (s *source) Metadata(ctx context.Context, _ *v1.Node, found instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{InstanceType: "small"}, s.probe(ctx, endpointOf(found.ProviderID()))
}

// cloud is a provider with nothing but Nodes.
type cloud struct {
	cloudprovider.Interface

	nodes *instance.V2
}

func (c cloud) Instances() (cloudprovider.Instances, bool)     { return nil, false }
func (c cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.nodes, true }

// workers is how many Nodes the controller initializes at once, as the binary
// does. More than twice as many Nodes that hang keep all of them busy twice.
const workers, many = 20, 2*workers + 5

// fixture is the framework's controller on a fake API, with the source.
type fixture struct {
	t      *testing.T
	source *source
	client *kubetest.Clientset
	nodes  []string
}

// run starts the controller as the binary does, in a bubble, and calls the test.
func run(t *testing.T, s *source, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fixture{t: t, source: s, client: kubetest.NewClientset()}
		s.failing, s.calls = map[string]error{}, map[string]int{}
		s.batches = map[string]*batch.Batcher[string, machine]{}
		factory := informers.NewSharedInformerFactory(f.client, 0)
		nodes := requeue.New(factory.Core().V1().Nodes())
		v2 := instance.New(s, instance.Options{Provider: provider})
		controller, err := node.NewCloudNodeController(nodes, f.client, cloud{nodes: v2}, 5*time.Minute, workers, workers)
		if err != nil {
			t.Fatal(err)
		}
		v2.SetRequeue(nodes.Requeue)
		var all sync.WaitGroup
		all.Go(func() { v2.Run(ctx) })
		all.Go(func() { controller.RunWithContext(ctx, controllersmetrics.NewControllerManagerMetrics("test")) })
		factory.Start(ctx.Done())
		cache.WaitForCacheSync(ctx.Done(), nodes.Informer().HasSynced)
		test(f)
		time.Sleep(time.Second) // let Events be written
		cancel()
		all.Wait()
		factory.Shutdown()
		time.Sleep(time.Hour) // let the queue's delayed items and tickers end
	})
}

// join registers Nodes of an endpoint.
func (f *fixture) join(endpoint string, n int) {
	f.t.Helper()
	for range n {
		name := fmt.Sprintf("%s-%d", endpoint, len(f.nodes))
		f.nodes = append(f.nodes, name)
		object := kubetest.Node(name, kubetest.Tainted(), kubetest.ProviderID(provider+"://"+name), kubetest.CreatedAt(time.Now()))
		if err := f.client.Tracker().Add(object); err != nil {
			f.t.Fatal(err)
		}
		synctest.Wait() // the watch of the fake API holds 100 events
	}
}

// uninitialized counts the Nodes of an endpoint that carry the taint.
func (f *fixture) uninitialized(endpoint string) int {
	f.t.Helper()
	n := 0
	for _, name := range f.nodes {
		object, err := f.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("nodes"), "", name)
		if err != nil {
			f.t.Fatal(err)
		}
		if strings.HasPrefix(name, endpoint) && !instance.Initialized(object.(*v1.Node)) {
			n++
		}
	}

	return n
}

// within waits until all Nodes of an endpoint are initialized.
func (f *fixture) within(endpoint string, limit time.Duration) {
	f.t.Helper()
	begun := time.Now()
	for f.uninitialized(endpoint) > 0 {
		if time.Since(begun) > limit {
			f.t.Fatalf("%d nodes of %s are not initialized after %s", f.uninitialized(endpoint), endpoint, limit)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// limit is how soon Nodes are initialized after the end of an outage, and hangLimit the same if
// the calls hung: the last one may take 30 seconds, and the next attempt begins within five.
const limit, hangLimit = 15 * time.Second, 36 * time.Second

// limitAfter returns the limit after a failure.
func limitAfter(failure error) time.Duration {
	if failure == nil {
		return hangLimit
	}

	return limit
}

// failures are the errors of an endpoint that is down. Nil means that it hangs.
var failures = map[string]error{
	"unavailable": apierr.ErrUnavailable, "throttled": apierr.ErrThrottled, "denied": apierr.ErrDenied, "hanging": nil,
}

// TestRecovery: however long an outage was, the Nodes that waited through it are
// initialized soon after its end, and it costs no more than one Lookup for all
// of them every five seconds.
func TestRecovery(t *testing.T) {
	t.Parallel()

	for name, failure := range failures {
		outages := []time.Duration{10 * time.Second, 100 * time.Second}
		if name == "unavailable" || name == "hanging" { // the delays of the queue grow in the same way with any error
			outages = append(outages, 30*time.Minute)
		}
		for _, outage := range outages {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s for %s, late %t", name, outage, late), func(t *testing.T) {
					t.Parallel()
					run(t, &source{late: late}, func(f *fixture) {
						f.source.set("a", failure, true)
						f.join("a", workers+1)
						time.Sleep(outage)
						if got := f.uninitialized("a"); got != workers+1 {
							t.Fatalf("%d nodes wait", got)
						}
						f.source.set("a", nil, false)
						f.within("a", limitAfter(failure))
						each, rounds := (workers+1)*2, int(outage/(5*time.Second))+3
						if got := f.source.count("a"); got > each+rounds {
							t.Errorf("%d lookups", got)
						}
					})
				})
			}
		}
	}
}

// TestHealthyEndpointIsNotSlowed: while one of two places is down, Nodes of the
// other one are initialized within 15 seconds if they join together with more
// Nodes of the endpoint that is down than there are workers, and at once later.
func TestHealthyEndpointIsNotSlowed(t *testing.T) {
	t.Parallel()

	for name, failure := range map[string]error{"unavailable": apierr.ErrUnavailable, "hanging": nil} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %t", name, late), func(t *testing.T) {
				t.Parallel()
				run(t, &source{late: late}, func(f *fixture) {
					f.source.set("b", failure, true)
					f.join("b", many)
					f.join("a", 10)
					f.within("a", limit)
					for range 10 {
						f.join("a", 3)
						f.within("a", 2*time.Second)
						time.Sleep(20 * time.Second)
					}
					if got := f.uninitialized("b"); got != many {
						t.Errorf("%d nodes of b wait", got)
					}
					f.source.set("b", nil, false)
					f.within("b", limitAfter(failure))
				})
			})
		}
	}
}

// TestRecoveryWhileAnotherEndpointHangs: the Nodes of an endpoint that recovers do
// not wait for another one that hangs, neither early in the outage nor late.
func TestRecoveryWhileAnotherEndpointHangs(t *testing.T) {
	t.Parallel()

	for name, failure := range map[string]error{"unavailable": apierr.ErrUnavailable, "hanging": nil} {
		for _, outage := range []time.Duration{2 * time.Second, 12 * time.Second, 3 * time.Minute} {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s for %s, late %t", name, outage, late), func(t *testing.T) {
					t.Parallel()
					run(t, &source{late: late}, func(f *fixture) {
						f.source.set("a", failure, true)
						f.source.set("b", nil, true)
						f.join("b", many)
						f.join("a", 10)
						time.Sleep(outage)
						f.source.set("a", nil, false)
						f.within("a", limitAfter(failure))
						if got := f.uninitialized("b"); got != many {
							t.Errorf("%d nodes of b wait", got)
						}
					})
				})
			}
		}
	}
}

// TestDeletedNodeIsNotQueued: a Node that went away while it waited is forgotten
// at the end of the outage.
func TestDeletedNodeIsNotQueued(t *testing.T) {
	t.Parallel()
	run(t, &source{}, func(f *fixture) {
		f.source.set("a", apierr.ErrUnavailable, true)
		f.join("a", 1)
		time.Sleep(time.Minute)
		if err := f.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("nodes"), "", f.nodes[0]); err != nil {
			t.Fatal(err)
		}
		f.source.set("a", nil, false)
		time.Sleep(time.Minute)
		before := f.source.count("a")
		time.Sleep(time.Minute)
		if got := f.source.count("a") - before; got != 0 {
			t.Errorf("%d lookups for a node that is gone", got)
		}
	})
}
