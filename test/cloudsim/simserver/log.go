package simserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// historyLimit bounds the memory of a Log; older calls stay counted.
const historyLimit = 10_000

// Call is one request, as the simulated cloud understands it.
type Call struct {
	// Op is the stable name of the operation, such as "Login".
	Op string
	// Group is a name that several operations share, such as "tags".
	Group string
	// Poll marks a call that waits for something to happen, for as long as
	// its caller likes. Budgets leave such calls out.
	Poll bool
}

// Log counts calls by operation, in the order of their arrival and whatever
// their result. The zero value is ready to use.
type Log struct {
	mu      sync.Mutex
	counts  map[string]int
	total   int
	polls   int
	history []Call
	changed chan struct{} // closed at the next call; made on demand
}

// Calls returns the number of calls by operation, polls included.
func (l *Log) Calls() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := make(map[string]int, len(l.counts))
	maps.Copy(calls, l.counts)

	return calls
}

// Count returns the number of calls of one operation.
func (l *Log) Count(op string) int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.counts[op]
}

// Total returns the number of calls without polls.
func (l *Log) Total() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.total
}

// Polls returns the number of polls.
func (l *Log) Polls() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.polls
}

// History returns the latest calls, oldest first.
func (l *Log) History() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.Clone(l.history)
}

// Reset drops all calls. Rules keep their own counts.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts, l.total, l.polls, l.history = nil, 0, 0, nil
}

// WaitFor returns once op has been called n times since the last Reset, or
// with an error that names the count when ctx ends first.
func (l *Log) WaitFor(ctx context.Context, op string, n int) error {
	for {
		l.mu.Lock()
		count := l.counts[op]
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if count >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for call %d of %s, saw %d: %w", n, op, count, context.Cause(ctx))
		}
	}
}

func (l *Log) add(call Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = make(map[string]int)
	}
	l.counts[call.Op]++
	if call.Poll {
		l.polls++
	} else {
		l.total++
	}
	if len(l.history) == historyLimit {
		l.history = slices.Delete(l.history, 0, historyLimit/2)
	}
	l.history = append(l.history, call)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
