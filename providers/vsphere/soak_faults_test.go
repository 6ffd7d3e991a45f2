package vsphere

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// faults are what is wrong with the vCenter, which excuses the provider from
// deleting Nodes in time. It is guarded by soak.mu.
type faults struct {
	present bool      // one is
	ended   time.Time // the last one
	down    time.Time // since when the vCenter does not respond; zero while it does
	rest    bool      // the REST API does not respond
	// hidden is the number of hosts whose VMs have no readable UUID, and unread
	// reports whether the process started while there were some: each of their VMs
	// may be that of a missing Node.
	hidden int
	unread bool
	// healthy is since when there was no fault and the provider followed the
	// changes; zero while that is not so. restHealthy is so for the REST API.
	healthy, restHealthy time.Time
}

// injectFaults breaks the vCenter, or what is between, one time after the other.
func (s *soak) injectFaults(random *rand.Rand, end time.Time) {
	kinds := map[int]struct {
		what  string
		least time.Duration
		most  time.Duration
		begin func(*rand.Rand) (undo func())
	}{
		0: {"the vCenter restarts", time.Second, 5 * time.Minute, s.restartVCenter},
		1: {"the REST API restarts", time.Second, 5 * time.Minute, s.restartREST},
		2: {"the vCenter hangs", time.Second, 3 * time.Minute, s.hang},
		3: {"calls are dropped", time.Second, 3 * time.Minute, s.dropCalls},
		4: {"responses are cut", time.Second, 3 * time.Minute, s.cutResponses},
		5: {"all sessions end", time.Second, 2 * time.Second, s.endSessions},
		6: {"a proxy cuts idle connections", time.Minute, 5 * time.Minute, s.cutIdle},
		7: {"the vCenter is slow", time.Minute, 5 * time.Minute, s.slow},
		8: {"the process restarts", time.Second, 2 * time.Second, s.restartProcess},
		9: {"the network is away", time.Second, 3 * time.Minute, s.cutNetwork},
	}
	for {
		time.Sleep(between(random, time.Second, s.size.faults))
		if !time.Now().Before(end) {
			return
		}
		kind := kinds[random.IntN(len(kinds))]
		last := between(random, kind.least, kind.most)
		s.note("%s for %s", kind.what, last.Round(time.Second))
		s.fault(true)
		undo := kind.begin(random)
		time.Sleep(last)
		undo()
		s.fault(false)
		s.note("no longer: %s", kind.what)
	}
}

// fault notes the beginning or the end of a fault.
func (s *soak) fault(present bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.present, s.faults.ended = present, time.Now()
	s.faults.healthy = time.Time{}
}

// respond notes whether the vCenter responds at all.
func (s *soak) respond(responds bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.down = time.Time{}
	if !responds {
		s.faults.down = time.Now()
	}
}

// hide notes that the UUIDs of the VMs of a host cannot be read, or can be again.
func (s *soak) hide(hidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hidden {
		s.faults.hidden++

		return
	}
	s.faults.hidden--
	s.faults.unread = s.faults.unread && s.faults.hidden > 0
}

func (s *soak) respondREST(responds bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.rest, s.faults.restHealthy = !responds, time.Time{}
}

func (s *soak) cutNetwork(*rand.Rand) func() {
	s.vc.Down()
	s.respond(false)

	return s.up
}

func (s *soak) hang(*rand.Rand) func() {
	s.vc.Hang()
	s.respond(false)

	return s.up
}

// up lets the vCenter respond again.
func (s *soak) up() {
	s.must(s.vc.Up())
	s.respond(true)
}

// restartVCenter ends all sessions; the REST API comes up last.
func (s *soak) restartVCenter(random *rand.Rand) func() {
	s.vc.Down()
	s.respond(false)
	s.vc.TerminateSessions()
	undo := s.restartREST(random)
	later := between(random, time.Second, 3*time.Minute)

	return func() {
		s.up()
		s.events.Go(func() {
			time.Sleep(later)
			undo()
		})
	}
}

// restartREST does not excuse the provider from anything but zones.
func (s *soak) restartREST(*rand.Rand) func() {
	s.vc.RESTDown()
	s.respondREST(false)

	return func() {
		s.vc.RESTUp()
		s.respondREST(true)
	}
}

// dropCalls loses every few calls, or the responses to them.
func (s *soak) dropCalls(random *rand.Rand) func() {
	fault := simserver.Drop()
	if random.IntN(2) == 0 {
		fault = simserver.DropResponse()
	}

	return s.vc.Inject(simserver.Any, simserver.Always(), every(3+random.Int32N(5), fault)).Remove
}

func (s *soak) cutResponses(random *rand.Rand) func() {
	return s.vc.Inject(simserver.Any, simserver.Always(), every(2+random.Int32N(5), cutResponse)).Remove
}

// cutResponse sends half a response and cuts the connection.
func cutResponse(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	whole := httptest.NewRecorder()
	apply.ServeHTTP(whole, r)
	body := whole.Body.Bytes()
	w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(whole.Code)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func (s *soak) endSessions(*rand.Rand) func() {
	s.vc.TerminateSessions()

	return func() {}
}

func (s *soak) cutIdle(random *rand.Rand) func() {
	s.vc.SetIdleLimit(between(random, 3*time.Second, 9*time.Second))

	return func() { s.vc.SetIdleLimit(0) }
}

func (s *soak) slow(random *rand.Rand) func() {
	calculation := between(random, time.Second, 20*time.Second)
	s.vc.SetCalculationTime(calculation)
	s.vc.SetEarlyNull(between(random, time.Second, 5*time.Second))

	return func() {
		s.vc.SetCalculationTime(s.size.page)
		s.vc.SetEarlyNull(0)
		time.Sleep(calculation) // of the last slow response
	}
}

func (s *soak) restartProcess(*rand.Rand) func() {
	err := s.close()
	s.mu.Lock()
	if err != nil && !s.faults.rest { // else it cannot log out
		s.failed("%v", err)
	}
	s.faults.unread = s.faults.hidden > 0
	s.mu.Unlock()
	s.start()

	return func() {}
}
