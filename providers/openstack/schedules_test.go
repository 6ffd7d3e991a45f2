package openstack

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/schedules"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

const (
	// faultyPasses is how many passes a schedule has with faults.
	faultyPasses = 10
	// detection is within what time the Nodes of deleted servers are gone when there are
	// no faults any more, and convergence within what time load balancers are as wanted.
	detection, convergence = time.Minute, 10 * time.Minute
)

// TestSchedules (OS-NODE-4, OS-NODE-5, OS-NODE-6, OS-LB-2, OS-LB-3, OS-LB-4, OS-LB-9): whatever
// fails, and in whatever order, no Node of a living server is gone, no load balancer is made
// twice, nothing of others is written, and what was served and is still wanted is served.
// The Nodes of deleted servers are gone within a minute after it works again, also if they
// are half of the cluster, and the load balancers are those of a cloud without faults. With a
// source that proves nothing, Nodes of living servers are gone.
func TestSchedules(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	for name, tc := range map[string]struct {
		trusting         bool
		race, short, all int
	}{
		"proven":   {race: 2, short: 2, all: schedules.Group},
		"trusting": {trusting: true, race: 1, short: 1, all: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := &schedules.Report{Trusting: tc.trusting}
			t.Cleanup(func() { report.Print(t) })
			// They run one after the other in the same cloud, each from the same state and with a
			// process of its own. Five groups have all settings, and all sizes of pages.
			schedules.Groups(t, profile.Of(1, schedules.AllGroups, schedules.AllGroups), profile.Of(tc.race, tc.short, tc.all), func(t *testing.T, first, end int) {
				c := newScheduledCloud(t, first/schedules.Group)
				c.report = report
				for seed := first; seed < end; seed++ {
					c.schedule(t, uint64(seed)).run() //nolint:gosec // not negative
				}
			})
		})
	}
}

// scheduledCloud is a cloud in which schedules run.
type scheduledCloud struct {
	*lbSite

	// lost are the Nodes that are not ready. The others are members of load balancers.
	lost []*v1.Node
	// start is the state at the beginning of each schedule, services are the Services then.
	start    *openstack.Snapshot
	services []*v1.Service
	// foreign are the IDs of what belongs to others.
	foreign sets.Set[string]
	// want is what there is at the end.
	want []string
	// report counts deletions, nil if it does not.
	report *schedules.Report
}

// newScheduledCloud makes a cloud, with pages and settings that depend on a number.
func newScheduledCloud(t *testing.T, number int) *scheduledCloud {
	t.Helper()
	pages := []int{40, 60, 0, 40, 5}
	configs := []string{"", "manage-security-groups = true\n", "create-monitor = true\n", "provider-requires-serial-api-calls = true\n"}
	// Load balancers are read less often while they are pending.
	delays := openstack.TypicalDelays()
	delays.LoadBalancerCreate, delays.LoadBalancerUpdate = 15*time.Second, 2*time.Second
	c := &scheduledCloud{lbSite: newSite(t, openstack.Options{
		// Reads are stale while that is one of the faults.
		Regions: []string{"RegionOne", "RegionTwo"}, Delays: &delays, PageSize: pages[number%len(pages)], StaleReads: new(openstack.StaleReads),
	}, configs[number%len(configs)])}
	c.addNode(len(c.nodes)) // it joins
	for i := range schedules.Nodes - len(c.nodes) {
		name := fmt.Sprintf("lost-%d", i+1)
		id := c.AddServer(openstack.ServerSpec{
			Name: name, Cell: fmt.Sprintf("cell%d", 1+i%3),
			Networks: []openstack.ServerNetwork{{Name: network, IPs: []string{fmt.Sprintf("10.9.249.%d", i+1)}}},
		})
		c.lost = append(c.lost, kubetest.Node(name, kubetest.ProviderID("openstack:///"+id), kubetest.NotReady(), old))
	}
	c.prepare(t)
	before := c.ids()
	c.addForeign()
	c.foreign = c.ids().Difference(before)
	c.start = c.Snapshot()
	c.want = c.schedule(t, 0).withoutFaults()

	return c
}

// objectID matches the IDs of objects.
var objectID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// ids returns the IDs of all objects.
func (c *scheduledCloud) ids() sets.Set[string] {
	return sets.New(objectID.FindAllString(c.Dump(), -1)...)
}

// schedule is a cluster in a cloud in which faults come and go.
type schedule struct {
	*scheduledCloud

	t    *testing.T
	seed uint64
	rnd  *rand.Rand
	api  *kubetest.Clientset
	// user and region are those of the cloud-config.
	user, region string
	process      *scheduledProcess

	// unlimited means that the cloud-config limits no deletions.
	unlimited bool

	// deleted are the servers that were deleted, gone the Nodes that were, too, and when. Wrong is how
	// many of these are Nodes of living servers.
	deleted, gone map[string]time.Time
	wrong         int
	// whole is when the last fault has ended.
	whole time.Time
	// last is the last error about each server.
	last map[string]error
	// faults are those that have begun.
	faults []string
	// members are how many Nodes load balancers have.
	members int

	mu sync.Mutex
	// created has the load balancers that were created, by name. Creating is the fault of
	// calls that create one.
	created  map[string]int
	creating []*creation
}

// schedule begins a schedule.
func (c *scheduledCloud) schedule(t *testing.T, seed uint64) *schedule {
	t.Helper()
	c.Restore(c.start)
	c.Interceptor().Clear()
	c.Interceptor().Reset()
	s := &schedule{
		scheduledCloud: c, t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 7)),
		user: openstack.UserCCM, region: c.Regions()[0], members: 3,
		deleted: map[string]time.Time{}, gone: map[string]time.Time{}, last: map[string]error{}, created: map[string]int{},
	}
	objects := make([]runtime.Object, 0, len(c.nodes)+len(c.lost)+len(c.services))
	for _, node := range slices.Concat(c.nodes, c.lost) {
		objects = append(objects, node)
	}
	for _, service := range c.services {
		objects = append(objects, service.DeepCopy())
	}
	s.api = kubetest.NewClientset(objects...)
	c.Interceptor().Inject("octavia.CreateLoadBalancer", always, s.create)

	return s
}

// run makes passes with faults, and then without.
func (s *schedule) run() {
	switch s.rnd.IntN(10) {
	case 0:
		s.user = openstack.UserOperator
	case 1:
		s.user = openstack.UserOther // another project
	case 2:
		s.region = s.Regions()[1]
	}
	s.unlimited = s.seed%20 == 0
	ended := len(s.Outages())
	s.process = s.begin()
	s.SetStaleReads(oftenStale)
	var undo []func()
	events := s.events()
	for pass := range faultyPasses {
		if s.rnd.IntN(3) == 0 {
			undo = append(undo, s.fault())
		}
		if len(undo) > 0 && s.rnd.IntN(3) == 0 {
			undo[0]()
			undo = undo[1:]
		}
		if s.rnd.IntN(2) == 0 {
			s.delete(1)
		}
		for _, event := range events[pass] {
			event()
		}
		s.pass()
		time.Sleep(certainty.Pass)
	}
	switch {
	case s.unlimited:
		s.delete(len(s.lost) / 2)
	case s.seed%20 == 10:
		s.delete(schedules.Nodes/5 - len(s.deleted)) // as many as the limit allows
	}
	for _, end := range undo {
		end()
	}
	s.SetStaleReads(openstack.StaleReads{}) // all databases have all writes by now
	s.mend()
	s.whole = time.Now()
	s.finish()
	if outages := s.Outages()[ended:]; len(outages) > 0 {
		s.errorf("not served any more after %v", outages)
	}
	if diff := cmp.Diff(s.want, s.left()); diff != "" {
		s.errorf("the cloud is not as without faults (-want +got):\n%s", diff)
	}
	s.checkWrites()
}

// mend corrects a cloud-config that was wrong.
func (s *schedule) mend() {
	if s.user != openstack.UserOther && s.region == s.Regions()[0] {
		return
	}
	s.process.end()
	s.user, s.region = openstack.UserCCM, s.Regions()[0]
	s.process = s.begin()
}

// finish makes passes until all deletions were seen, and syncs all load balancers.
func (s *schedule) finish() {
	until := time.Now().Add(detection)
	s.process.resync()
	for s.pass(); len(s.gone) < len(s.deleted) && time.Now().Before(until); s.pass() {
		time.Sleep(certainty.Pass)
	}
	s.countDeletions()
	s.process.converge()
	s.process.end()
}

// withoutFaults returns what there is after a schedule without faults.
func (s *schedule) withoutFaults() []string {
	s.process = s.begin()
	for _, events := range s.events() {
		for _, event := range events {
			event()
		}
	}
	s.process.resync()
	s.process.converge()
	s.process.end()

	return s.left()
}

func (s *schedule) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("schedule %d, user %s, %s, %s, repeat with -run '^TestSchedules$' -schedule %[1]d: "+format, append([]any{s.seed, s.user, s.region, s.faults}, args...)...)
}
