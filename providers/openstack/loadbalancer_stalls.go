package openstack

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A load balancer that cannot be changed now is looked at again after a share of the time
// that this lasts, within these bounds. No worker waits meanwhile.
const (
	minRetryAfter = 5 * time.Second
	maxRetryAfter = 5 * time.Minute
	retryShare    = 4
	// pendingLimit is after how long a pending load balancer is an Event: the virtual
	// machine of an amphora is made or replaced in a few minutes.
	pendingLimit = 15 * time.Minute
)

// statePending is the state of a load balancer that is being changed.
const statePending = "pending"

// stalls has since when load balancers are in a state that others have to end, for each
// Service and load balancer. The zero value is empty.
type stalls struct {
	mu  sync.Mutex
	all map[types.UID]map[string]since
}

// since is the start of a state, which a text names.
type since struct {
	state string
	at    time.Time
}

// lasts returns for how long the load balancer with an ID has been in a state, and when to look
// again.
func (s *stalls) lasts(uid types.UID, id, state string) (elapsed, again time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began, ok := s.all[uid][id]
	if !ok || began.state != state {
		began = since{state, time.Now()}
	}
	if s.all == nil {
		s.all = map[types.UID]map[string]since{}
	}
	if s.all[uid] == nil {
		s.all[uid] = map[string]since{}
	}
	s.all[uid][id] = began
	elapsed = time.Since(began.at)

	return elapsed, min(max(elapsed/retryShare, minRetryAfter), maxRetryAfter)
}

// end drops the state of a load balancer.
func (s *stalls) end(uid types.UID, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all[uid], id)
	if len(s.all[uid]) == 0 {
		delete(s.all, uid)
	}
}

// drop drops all states of a Service.
func (s *stalls) drop(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, uid)
}
