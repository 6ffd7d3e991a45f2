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

// stalls has since when the load balancers of Services cannot be changed. The zero value
// is empty.
type stalls struct {
	mu  sync.Mutex
	all map[types.UID]since
}

// since is the start of a state, which a key names.
type since struct {
	key string
	at  time.Time
}

// lasts returns for how long a Service has been in a state, and when to look again.
func (s *stalls) lasts(uid types.UID, key string) (elapsed, again time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.all[uid]
	if !ok || known.key != key {
		known = since{key, time.Now()}
	}
	if s.all == nil {
		s.all = map[types.UID]since{}
	}
	s.all[uid] = known
	elapsed = time.Since(known.at)

	return elapsed, min(max(elapsed/retryShare, minRetryAfter), maxRetryAfter)
}

// end drops the state of a Service.
func (s *stalls) end(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, uid)
}
