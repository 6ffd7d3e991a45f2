package openstack

import "time"

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

// stall is the start of a state that others have to end, which a text names.
type stall struct {
	state string
	at    time.Time
}

// stallOf returns for how long the load balancer with an ID has been in a state, and when to look
// again.
func (s *state) stallOf(id, text string) (elapsed, again time.Duration) {
	began, ok := s.stalls[id]
	if !ok || began.state != text {
		began = stall{text, time.Now()}
	}
	if s.stalls == nil {
		s.stalls = map[string]stall{}
	}
	s.stalls[id] = began
	elapsed = time.Since(began.at)

	return elapsed, min(max(elapsed/retryShare, minRetryAfter), maxRetryAfter)
}

// endStall drops the state of a load balancer.
func (s *state) endStall(id string) { delete(s.stalls, id) }
