package openstack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	// schedules is how many of them there are, sampledSchedules how many of them run with
	// the race detector. scheduledNodes is how many Nodes each has.
	schedules, sampledSchedules, scheduledNodes = 1000, 12, 40
	// scheduleGroup is how many of them one subtest has. A subtest that is done keeps the
	// memory of its cleanups until those next to it are done, 3 MB for each schedule.
	scheduleGroup = 50
	// faultyPasses is how many passes a schedule has with faults; in as many as
	// detection afterwards, all deletions must be seen.
	faultyPasses, detection = 10, 12
)

// schedule is a cluster in a cloud in which faults come and go.
type schedule struct {
	*fleet

	t     *testing.T
	seed  uint64
	rnd   *rand.Rand
	cloud *cloud
	clock *clocktesting.FakeClock
	// user deletes servers.
	user *gophercloud.ServiceClient
	// deleted are the servers that were deleted, gone the Nodes that were, too.
	deleted, gone map[string]bool
	// last is the last error about each server.
	last map[string]error
}

// TestSchedules (OS-NODE-4, OS-NODE-5, OS-NODE-6): whatever fails, and in whatever order, no Node of a
// living server is gone, and the Nodes of deleted servers are within a minute after
// it works again.
func TestSchedules(t *testing.T) {
	t.Parallel()
	n := schedules
	if raceDetector {
		n = sampledSchedules
	}
	for first := 0; first < n; first += scheduleGroup {
		end := min(first+scheduleGroup, n)
		t.Run(fmt.Sprintf("%d-%d", first, end-1), func(t *testing.T) {
			for seed := first; seed < end; seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					newSchedule(t, uint64(seed)).run()
				})
			}
		})
	}
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	t.Helper()
	s := &schedule{
		t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 7)), clock: clocktesting.NewFakeClock(time.Now()),
		deleted: map[string]bool{}, gone: map[string]bool{}, last: map[string]error{},
	}
	s.fleet = newFleet(t, 0, openstack.Options{PageSize: 15, Regions: []string{"RegionOne", "RegionTwo"}})
	for i := range scheduledNodes {
		s.add(fmt.Sprintf("node-%d", i+1), openstack.ServerSpec{Cell: fmt.Sprintf("cell%d", 1+i%3)})
	}
	s.logIn()
	times := quick()
	times.instances.Clock, times.inventory.Clock = s.clock, s.clock
	times.inventory = inventory.Config{Clock: s.clock, Window: time.Millisecond, Timeout: 3 * time.Second}
	times.client.RetryTime, times.client.Clock = time.Nanosecond, s.clock

	user, more := openstack.UserCCM, ""
	switch s.rnd.IntN(10) {
	case 0:
		user = openstack.UserOperator
	case 1:
		user = openstack.UserOther // another project
	case 2:
		more = "region = RegionTwo\n"
	}
	s.cloud = connect(t, s.CloudConfig(user, more), times, s.nodes...)

	return s
}

// logIn makes the client of the user.
func (s *schedule) logIn() {
	s.t.Helper()
	api, err := s.Connect(bounded(s.t), s.AuthOptions(openstack.UserCCM))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(api.HTTPClient.CloseIdleConnections)
	if s.user, err = gopheropenstack.NewComputeV2(api, gophercloud.EndpointOpts{Region: s.Regions()[0]}); err != nil {
		s.t.Fatal(err)
	}
	s.SetStaleReads(openstack.StaleReads{Every: 2, Reads: 3})
}

// run makes passes with faults, and then without.
func (s *schedule) run() {
	wrong := s.cloud.client.Region() == "RegionTwo"
	project, err := s.cloud.client.Project(bounded(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	wrong = wrong || project != s.ProjectID(openstack.ProjectCCM)
	var undo []func()
	for range faultyPasses {
		if s.rnd.IntN(3) == 0 {
			undo = append(undo, s.fault())
		}
		if len(undo) > 0 && s.rnd.IntN(3) == 0 {
			undo[0]()
			undo = undo[1:]
		}
		if s.rnd.IntN(2) == 0 {
			s.delete()
		}
		s.pass()
	}
	for _, end := range undo {
		end()
	}
	s.SetStaleReads(openstack.StaleReads{}) // all databases have all writes by now
	for range detection {
		s.pass()
	}
	for id := range s.deleted {
		if !s.gone[id] && !wrong {
			s.t.Errorf("seed %d: the Node of a deleted server is not gone after a minute: %v", s.seed, s.last[id])
		}
	}
}

// delete deletes a server. By a call of the API, which may fail, some of the next reads
// show the state before.
func (s *schedule) delete() {
	id := idOf(s.nodes[s.rnd.IntN(len(s.nodes))])
	if s.deleted[id] {
		return
	}
	if s.rnd.IntN(2) == 0 || servers.Delete(bounded(s.t), s.user, id).ExtractErr() != nil {
		s.DeleteServer(id)
	}
	s.deleted[id] = true
}

// pass looks at all Nodes as the lifecycle controller does.
func (s *schedule) pass() {
	ctx, cancel := context.WithTimeout(s.t.Context(), openstacktest.Timeout)
	defer cancel()
	s.clock.SetTime(s.clock.Now().Add(certainty.Pass))
	for _, node := range s.nodes {
		if s.gone[idOf(node)] {
			continue
		}
		s.look(ctx, node)
	}
}

func (s *schedule) look(ctx context.Context, node *v1.Node) {
	id := idOf(node)
	exists, err := s.cloud.instances.InstanceExists(ctx, node)
	s.last[id] = err
	if err == nil && !exists {
		if !s.deleted[id] {
			s.t.Errorf("seed %d: the Node of a living server is gone", s.seed)
		}
		s.gone[id] = true
	}
	if shutdown, err := s.cloud.instances.InstanceShutdown(ctx, node); shutdown && err == nil {
		s.t.Errorf("seed %d: a running server is shut down", s.seed)
	}
}

// fault begins a random fault and returns what ends it.
func (s *schedule) fault() func() {
	inject := func(op string, fault simserver.Fault) func() {
		rule := s.Interceptor().Inject(op, simserver.Always(), fault)

		return rule.Remove
	}
	get, list := "nova.ShowServer", "nova.ListServersDetail"
	cell := fmt.Sprintf("cell%d", 1+s.rnd.IntN(3))
	switch s.rnd.IntN(11) {
	case 0:
		s.SetCell("", cell, openstack.CellDown)

		return func() { s.SetCell("", cell, openstack.CellUp) }
	case 1:
		s.SetCell("", cell, openstack.CellUnknown)

		return func() { s.SetCell("", cell, openstack.CellUp) }
	case 2:
		return s.unmap()
	case 3:
		return inject(get, openstack.Proxy(http.StatusNotFound, ""))
	case 4:
		return inject(list, openstack.Proxy(http.StatusNotFound, ""))
	case 5:
		return inject(get, openstack.Error(http.StatusInternalServerError, "", "database"))
	case 6:
		return inject("nova.ListServerActions", openstack.Error(http.StatusInternalServerError, "", "database"))
	case 7:
		return inject(list, lostPage)
	case 8:
		s.RevokeTokens()

		return func() {}
	case 9:
		return inject("nova", openstack.Denied())
	default:
		return inject("nova", openstack.Unauthorized())
	}
}

// unmap makes the mapping of some living servers incomplete.
func (s *schedule) unmap() func() {
	var ids []string
	for range 1 + s.rnd.IntN(scheduledNodes) {
		id := idOf(s.nodes[s.rnd.IntN(len(s.nodes))])
		if !s.deleted[id] {
			s.SetServerMapped(id, false)
			ids = append(ids, id)
		}
	}

	return func() {
		for _, id := range ids {
			s.SetServerMapped(id, true)
		}
	}
}

// lostPage is a list without a server.
func lostPage(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"servers": []}`))
}
