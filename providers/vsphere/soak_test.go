package vsphere

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// soakSize is how much of a vCenter a soak test simulates, and for how long.
type soakSize struct {
	nodes, foreign int
	period         time.Duration
	// churn and faults are the longest times between two changes of VMs and
	// between two faults.
	churn, faults time.Duration
	// page is how long the vCenter takes for each response of the change feed, and objects
	// is how many that has at most, 0 for the vCenter's own limit.
	page    time.Duration
	objects int
	// config is the end of the cloud-config.
	config string
}

// TestSoak runs the provider, with the times of production, for a simulated day
// against a vCenter whose VMs change all the time and that fails in every way a
// vCenter can; with the race detector and with -short for two hours with few VMs.
func TestSoak(t *testing.T) {
	t.Parallel()
	hours := soakSize{nodes: 20, foreign: 100, period: 2 * time.Hour, churn: time.Minute, faults: 15 * time.Minute, page: 700 * time.Millisecond, objects: 15}
	day := soakSize{nodes: 200, foreign: 10_000, period: 24 * time.Hour, churn: 3 * time.Minute, faults: 25 * time.Minute}
	size, seed := profile.Of(hours, hours, day), profile.Seed(t)
	t.Logf("%+v, repeat with %s=%d", size, profile.Variable, seed)
	synctest.Test(t, func(t *testing.T) {
		s := newSoak(t, size, seed)
		s.run()
		s.finish()
	})
}

// soak is a cluster whose Nodes are VMs of one simulated vCenter.
type soak struct {
	t    *testing.T
	size soakSize
	seed uint64
	// closeFleet ends the vCenter.
	closeFleet func() error
	vc         *sim.VCenter
	// nodes are those of the cluster, as the provider lists them.
	nodes   cache.Indexer
	index   *nodeindex.Index
	began   time.Time
	foreign []*sim.VM

	// stop ends the controllers, churn what happens to VMs.
	stop    context.CancelFunc
	running context.Context //nolint:containedctx // of the controllers
	control sync.WaitGroup
	events  sync.WaitGroup

	mu      sync.Mutex
	cloud   *cloud
	members map[string]*member // by the name of the Node
	created int
	zones   map[string][]zoneName // by cluster, the latest last
	removed sets.Set[string]      // hosts that are not in the inventory
	faults  faults
	history []string
	totals  totals
}

// totals are what a soak test reports at its end.
type totals struct {
	events, initialized, deleted, exists, metadata int
	slowest                                        time.Duration // deletion
}

const (
	soakHosts = 4 // in each cluster
	// zoneCategory is the tag category of zones.
	zoneCategory = "k8s-zone"
)

// clusters are where the Nodes are; other VMs have a cluster of their own, none of
// whose hosts is ever removed.
var clusters = []string{"a", "b"}

func newSoak(t *testing.T, size soakSize, seed uint64) *soak {
	t.Helper()
	s := &soak{
		t: t, size: size, seed: seed, began: time.Now(), members: map[string]*member{}, zones: map[string][]zoneName{},
		removed: sets.New[string](),
	}
	s.nodes, s.index = newNodes(t)
	spec := sim.DatacenterSpec{Name: "dc", Clusters: []sim.ClusterSpec{{Name: "foreign"}}}
	for _, name := range clusters {
		cluster := sim.ClusterSpec{Name: name, Tags: sim.Tags{zoneCategory: {"zone-" + name}}}
		for i := range soakHosts {
			cluster.Hosts = append(cluster.Hosts, sim.HostSpec{Name: hostName(name, i)})
		}
		spec.Clusters = append(spec.Clusters, cluster)
		s.zones[name] = []zoneName{{name: "zone-" + name}}
	}
	fleet, err := sim.Start(sim.Spec{VCenters: []sim.VCenterSpec{{
		Name: "vc", InMemory: true, Latency: 30 * time.Millisecond, Datacenters: []sim.DatacenterSpec{spec},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s.closeFleet = sync.OnceValue(fleet.Close)
	t.Cleanup(func() {
		if err := s.closeFleet(); err != nil {
			t.Error(err)
		}
	})
	s.vc = fleet.VCenters()[0]
	s.vc.SetCalculationTime(size.page)
	s.vc.SetUpdatePage(size.objects)
	for _, vm := range sim.Fleet("foreign", size.foreign) {
		s.addForeign(vm)
	}
	s.running, s.stop = context.WithCancel(context.Background())

	return s
}

func hostName(cluster string, i int) string { return fmt.Sprintf("%s-%d", cluster, i) }

// addForeign makes a VM that is no Node.
func (s *soak) addForeign(spec sim.VMSpec) {
	spec.Pool = "foreign"
	vm, err := s.vc.AddVM("dc", spec)
	if err != nil {
		s.t.Fatal(err)
	}
	s.foreign = append(s.foreign, vm)
}

// start begins a process of the provider, with the default times.
func (s *soak) start() {
	s.t.Helper()
	text := configOf(s.vc) + "[Labels]\nzone = " + zoneCategory + "\n" + s.size.config
	file, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	cfg, _, problems := decode(file, environment{hasDirectory: func(string) bool { return false }})
	if err := problems.Err(); err != nil {
		s.t.Fatal(err)
	}
	c, err := newCloudFrom(cfg, environment{}, nil, tuning{session: session.Options{Dial: s.vc.Dial}})
	if err != nil {
		s.t.Fatal(err)
	}
	c.source.SetNodes(s.index)
	c.SetNodeRequeue(func(string) {})
	c.Initialize(builder{client: kubetest.NewClientset()}, s.running.Done())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cloud = c
}

// close ends the process.
func (s *soak) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	return s.process().Close(ctx)
}

// process is the provider as it runs now.
func (s *soak) process() *cloud {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.cloud
}

// run lets the time pass. The last quarter of each hour is quiet.
func (s *soak) run() {
	s.start()
	s.control.Go(s.watchHealth)
	s.control.Go(s.updateNodes)
	s.control.Go(s.checkNodes)
	random := s.random(0)
	for range s.size.nodes {
		s.createNode(random)
	}
	for hour := uint64(1); time.Since(s.began) < s.size.period; hour++ {
		end := time.Now().Add(45 * time.Minute)
		s.events.Go(func() { s.churn(s.random(2*hour), end) })
		s.events.Go(func() { s.injectFaults(s.random(2*hour+1), end) })
		s.events.Wait()
		s.checkBudget()
	}
}

// random returns numbers that depend on the seed.
func (s *soak) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, stream)) }

// fail reports a fault with what happened before.
func (s *soak) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed(format, args...)
}

// failed is fail for callers that hold the lock.
func (s *soak) failed(format string, args ...any) {
	recent := s.history[max(0, len(s.history)-12):]
	s.t.Errorf("%s: %s, after\n%s", time.Since(s.began), fmt.Sprintf(format, args...), strings.Join(recent, "\n"))
}

// note records an event.
func (s *soak) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.events++
	s.history = append(s.history, fmt.Sprintf("%s %s", time.Since(s.began).Round(time.Second), fmt.Sprintf(format, args...)))
	s.history = slices.Delete(s.history, 0, max(0, len(s.history)-100))
}
