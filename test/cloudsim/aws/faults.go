package aws

import (
	"strconv"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// Consistency delays the view that reads have of new things. A thing is hidden
// until both the time has passed and the reads have looked for it in vain.
type Consistency struct {
	// Delay is how long a new thing stays hidden.
	Delay time.Duration
	// Reads is the number of operations that do not see a new thing.
	Reads int
	// Writes makes operations that change a hidden thing miss it too.
	Writes bool
}

// birth is when a thing came into being, as far as readers know.
type birth struct {
	at     time.Time
	missed int // operations that looked for it in vain
	last   int // the latest of these
	lag    Consistency
}

// SetConsistency says how long things that are made from now on stay hidden.
func (c *Cloud) SetConsistency(lag Consistency) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = lag
}

func (c *Cloud) born() birth { return birth{at: c.opts.Clock.Now(), lag: c.lag} }

// visible tells whether the running operation sees a thing, and counts when it
// does not.
func (c *Cloud) visible(b *birth) bool {
	if b.missed < b.lag.Reads {
		if b.last != c.now {
			b.last = c.now
			b.missed++
		}
		return false
	}
	if b.last == c.now && b.missed > 0 {
		return false // once hidden, for the whole operation
	}
	return b.lag.Delay <= 0 || !c.opts.Clock.Now().Before(b.at.Add(b.lag.Delay))
}

// changeable tells whether an operation that changes a thing finds it.
func (c *Cloud) changeable(b *birth) bool { return !b.lag.Writes || c.visible(b) }

// bucket is a token bucket.
type bucket struct {
	rate, burst, tokens float64
	filled              time.Time
	refused             int
}

// SetThrottle bounds the calls of an operation or group, by its name in the
// gate's log, or of all APIs together when op is [front.Any]: burst calls at
// once, refilled with rate calls a second. More are answered as AWS does when it
// is called too often. A burst of 0 removes the bound.
func (c *Cloud) SetThrottle(op string, rate float64, burst int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if burst <= 0 {
		delete(c.throttle, op)
		return
	}
	c.throttle[op] = &bucket{rate: rate, burst: float64(burst), tokens: float64(burst), filled: c.opts.Clock.Now()}
}

// Throttles returns how many calls the bound of op has refused.
func (c *Cloud) Throttles(op string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.throttle[op]; b != nil {
		return b.refused
	}
	return 0
}

// tooFast takes a token for a call and tells whether one is missing.
func (c *Cloud) tooFast(service *api, op string) bool {
	for _, name := range []string{op, service.group, front.Any} {
		if b := c.throttle[name]; b != nil && !b.take(c.opts.Clock.Now()) {
			return true
		}
	}
	return false
}

func (b *bucket) take(now time.Time) bool {
	b.tokens = min(b.burst, b.tokens+b.rate*now.Sub(b.filled).Seconds())
	b.filled = now
	if b.tokens < 1 {
		b.refused++
		return false
	}
	b.tokens--
	return true
}

// SetSparse makes answers leave out what AWS leaves out now and then: instances
// without placement and state, balancers without state.
func (c *Cloud) SetSparse(sparse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sparse = sparse
}

func itoa(n int) string { return strconv.Itoa(n) }
