package aws

import (
	"strconv"
	"time"
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

// visible reports whether the running operation sees a thing, and counts when it
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

// changeable reports whether an operation that changes a thing finds it.
func (c *Cloud) changeable(b *birth) bool { return !b.lag.Writes || c.visible(b) }

// SetSparse makes answers leave out what AWS leaves out now and then: instances
// without placement and state, balancers without state.
func (c *Cloud) SetSparse(sparse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sparse = sparse
}

func itoa(n int) string { return strconv.Itoa(n) }
