package vsphere

import (
	"runtime"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// finish checks that nothing is left of the day.
func (s *soak) finish() {
	time.Sleep(31 * time.Minute) // sessions that were lost have ended
	s.stop()
	s.control.Wait()
	s.mu.Lock()
	for _, m := range s.members {
		if m.destroyed {
			s.failed("Node %s still exists", m.name)
		}
	}
	s.mu.Unlock()
	for _, left := range s.vc.Sessions() {
		if left.Collectors > 1 || left.Filters > 1 || left.Views > 1 {
			s.t.Errorf("a session holds more than one feed: %+v", left)
		}
	}
	if n := len(s.vc.Sessions()); n > 2 {
		s.t.Errorf("%d sessions, want one for each API: %+v", n, s.vc.Sessions())
	}
	if err := s.close(); err != nil {
		s.t.Errorf("close the provider: %v", err)
	}
	if left := s.vc.Sessions(); len(left) > 0 {
		s.t.Errorf("%d sessions are left: %+v", len(left), left)
	}
	s.checkMemory()
	s.t.Logf("%+v, %d calls and %d polls", s.totals, s.vc.Total(), s.vc.Polls())
}

// checkMemory checks how much the provider holds. With the race detector, other tests
// run at the same time and use the same heap.
func (s *soak) checkMemory() {
	if profile.Race {
		return
	}
	held := heap()
	s.nodes.Replace(nil, "")
	s.cloud = nil
	held -= heap()
	const perVM, perNode = 1 << 10, 64 << 10
	limit := int64(s.size.foreign)*perVM + int64(s.size.nodes)*perNode
	s.t.Logf("the provider held %d KiB", held>>10)
	if held > limit {
		s.t.Errorf("the provider held %d KiB, want no more than %d KiB", held>>10, limit>>10)
	}
}

// heap returns the size of what is in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers kept
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)

	return int64(stats.HeapAlloc)
}

// checkBudget waits until all is well and counts the calls of five minutes.
func (s *soak) checkBudget() {
	time.Sleep(9 * time.Minute)
	before, polls := s.vc.Calls(), s.vc.Polls()
	time.Sleep(5 * time.Minute)
	after := s.vc.Calls()
	total := 0
	for op, n := range after {
		if op != "WaitForUpdatesEx" {
			total += n - before[op]
		}
	}
	if total > 10 {
		s.fail("%d calls in 5 idle minutes, want 10 at most: before %v, after %v", total, before, after)
	}
	if n := s.vc.Polls() - polls; n > 160 {
		s.fail("%d polls in 5 idle minutes", n)
	}
	time.Sleep(time.Minute)
}
