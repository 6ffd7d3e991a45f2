// Package schedules checks which Nodes a provider deletes while faults of its cloud come and go:
// none whose instance exists, and all others soon after the last fault.
//
// A schedule is determined by its number, and runs in the time of testing/synctest. The tests of a
// provider bring a cluster in a simulated cloud for each schedule. [Trusting] shows that the faults
// are such that a provider which does not prove an absence deletes wrongly.
package schedules

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

const (
	// Nodes is how many Nodes the cluster of a schedule has.
	Nodes = 200
	// AllGroups is how many groups there are, of [Group] schedules each: 1,000 in all.
	AllGroups = 20
	// Group is how many schedules are a subtest, one after the other.
	Group = 50
	// Within is the time after the last fault in which 99 % of the Nodes are deleted whose
	// instances are gone, and limit the time for all of them.
	Within, limit = 120 * time.Second, 10 * time.Minute
	// passes is how many passes of the lifecycle controller have faults.
	passes = 10
	// period is that of the lifecycle controller, and workers how many Nodes it looks up at once.
	period, workers = 5 * time.Second, 10
	// notReady is how many Nodes are looked up although their instances exist, in most schedules.
	notReady = 20
	// most is how many instances are deleted in a schedule: as many as may be in ten minutes.
	most = Nodes / 5
)

var only = flag.Int("schedule", -1, "run only the schedule with this number")

// Groups runs schedules as subtests, so many groups of them, and so many of each group.
func Groups(t *testing.T, groups, each int, run func(t *testing.T, first, end int)) {
	t.Helper()
	for first := 0; first < groups*Group; first += Group {
		begin, end := first, first+each
		if *only >= 0 {
			if *only/Group != first/Group {
				continue
			}
			begin, end = *only, *only+1
		}
		t.Run(fmt.Sprintf("%d-%d", begin, end-1), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { run(t, begin, end) })
		})
	}
}

// Cluster is a cluster in a cloud at the begin of a schedule.
type Cluster struct {
	// Nodes are those of instances that all exist.
	Nodes []*v1.Node
	// Instances look up the instances of the Nodes.
	Instances *instance.V2
	// Delete deletes the instance of the Node with a number, and reports whether that was possible.
	Delete func(i int) bool
	// Remove removes the Node with a number from the cluster.
	Remove func(i int)
	// Fault begins a fault and returns what ends it.
	Fault func(*rand.Rand) (what string, end func())
	// Close ends the process, and everything that the schedule has begun.
	Close func()
}

// Report counts what schedules have deleted. It is safe for concurrent use.
type Report struct {
	// Trusting means that wrong deletions are expected, so that they are counted only, and Limited that
	// the default limit of deletions counts.
	Trusting, Limited bool

	mu               sync.Mutex
	schedules, wrong int
	// most is the largest number of deletions of a schedule within ten minutes.
	most   int
	delays []time.Duration
}

// Add counts a schedule, with the delays of the right deletions after the last fault, how many were wrong,
// and how many there were within ten minutes.
func (r *Report) Add(delays []time.Duration, wrong, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schedules++
	r.wrong += wrong
	r.most = max(r.most, most)
	r.delays = append(r.delays, delays...)
}

// Print logs the numbers, and checks those that are about all schedules.
func (r *Report) Print(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.delays)
	var p99, longest time.Duration
	if n := len(r.delays); n > 0 {
		p99, longest = r.delays[(n*99+99)/100-1], r.delays[n-1]
	}
	fmt.Printf("%s: %d schedules of %d Nodes: %d right and %d wrong deletions, %d within ten minutes at most, after the last fault p99 %s, longest %s\n", //nolint:forbidigo // it is shown without -v, too
		t.Name(), r.schedules, Nodes, len(r.delays), r.wrong, r.most, p99, longest)
	switch { // few schedules need not show what all do
	case !r.Trusting && p99 > Within:
		t.Errorf("99 %% of the right deletions took up to %s", p99)
	case r.Limited && r.most > most:
		t.Errorf("%d deletions within ten minutes, despite the limit", r.most)
	case r.Trusting && r.wrong == 0 && r.schedules >= AllGroups:
		t.Error("nothing was deleted wrongly without a proof: the faults show nothing")
	case r.Trusting && !r.Limited && r.most <= most && r.schedules >= AllGroups:
		t.Error("no more were deleted than the limit allows: it shows nothing")
	}
}

// schedule is a schedule that runs.
type schedule struct {
	Cluster

	t      *testing.T
	seed   int
	rnd    *rand.Rand
	report *Report

	// lookedUp are the Nodes that are not ready, deleted the times of deleted instances.
	lookedUp []bool
	deleted  map[int]time.Time
	faults   []string

	mu    sync.Mutex
	gone  map[int]time.Time
	wrong int
	last  map[int]error
}

// Run runs a schedule.
func (c Cluster) Run(t *testing.T, seed int, report *Report) {
	t.Helper()
	s := &schedule{
		Cluster: c, t: t, seed: seed, rnd: rand.New(rand.NewPCG(uint64(seed), 7)), report: report, //nolint:gosec // not negative
		lookedUp: make([]bool, len(c.Nodes)), deleted: map[int]time.Time{}, gone: map[int]time.Time{}, last: map[int]error{},
	}
	defer c.Close()
	count := notReady
	if seed%4 == 0 {
		count = len(c.Nodes)
	}
	for _, i := range s.rnd.Perm(len(c.Nodes))[:count] {
		s.lookedUp[i] = true
	}
	if s.rnd.IntN(4) > 0 {
		s.pass() // else it starts with faults
	}
	s.fail()
	whole := time.Now()
	for s.pass(); !s.finished() && time.Since(whole) < limit; s.pass() {
		time.Sleep(period)
	}
	var delays []time.Duration
	for i, at := range s.deleted {
		if end, ok := s.gone[i]; !ok && !report.Trusting {
			s.errorf("%s is not deleted %s after the last fault: %v", c.Nodes[i].Name, limit, s.last[i])
		} else if ok {
			if at.Before(whole) {
				at = whole
			}
			delays = append(delays, max(0, end.Sub(at)))
		}
	}
	report.Add(delays, s.wrong, Busiest(slices.Collect(maps.Values(s.gone))))
}

// Busiest returns how many deletions there were within ten minutes at most.
func Busiest(deletions []time.Time) (most int) {
	slices.SortFunc(deletions, time.Time.Compare)
	first := 0
	for i, at := range deletions {
		for at.Sub(deletions[first]) >= limit {
			first++
		}
		most = max(most, i-first+1)
	}

	return most
}

// fail makes passes while faults come and go and instances are deleted.
func (s *schedule) fail() {
	var undo []func()
	for range passes {
		if s.rnd.IntN(2) == 0 {
			what, end := s.Fault(s.rnd)
			s.faults = append(s.faults, what)
			undo = append(undo, end)
		}
		if len(undo) > 0 && s.rnd.IntN(3) == 0 {
			undo[0]()
			undo = undo[1:]
		}
		if s.rnd.IntN(2) == 0 {
			s.delete(1)
		}
		if s.seed%10 == 0 && s.rnd.IntN(passes) == 0 {
			s.delete(most)
		}
		s.pass()
		time.Sleep(period + time.Duration(s.rnd.Int64N(int64(3*period))))
	}
	for _, end := range undo {
		end()
	}
}

// delete deletes instances, as many as may be.
func (s *schedule) delete(n int) {
	for _, i := range s.rnd.Perm(len(s.Nodes))[:n] {
		if _, done := s.deleted[i]; done || len(s.deleted) == most {
			continue
		}
		if s.Delete(i) {
			s.deleted[i], s.lookedUp[i] = time.Now(), true
		}
	}
}

// pass looks up all Nodes that are not ready, as the lifecycle controller does.
func (s *schedule) pass() {
	var nodes []int
	for i, lookedUp := range s.lookedUp {
		if _, gone := s.gone[i]; lookedUp && !gone {
			nodes = append(nodes, i)
		}
	}
	workqueue.ParallelizeUntil(s.t.Context(), workers, len(nodes), func(piece int) { s.look(nodes[piece]) })
}

func (s *schedule) look(i int) {
	exists, err := s.Instances.InstanceExists(s.t.Context(), s.Nodes[i])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[i] = err
	if err != nil || exists {
		return
	}
	if _, deleted := s.deleted[i]; !deleted {
		s.wrong++
		if !s.report.Trusting {
			s.errorf("%s is deleted, and its instance exists", s.Nodes[i].Name)
		}
	}
	s.gone[i] = time.Now()
	s.Remove(i)
}

// finished reports whether the Nodes of all deleted instances are gone.
func (s *schedule) finished() bool {
	for i := range s.deleted {
		if _, gone := s.gone[i]; !gone {
			return false
		}
	}

	return true
}

func (s *schedule) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("schedule %d, %q: %s, repeat with -run '^TestSchedules$' -schedule %d", s.seed, s.faults, fmt.Sprintf(format, args...), s.seed)
}
