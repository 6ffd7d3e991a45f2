package login

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Backoff is a delay after a failure that grows with each one in a row. The zero value
// has none. It is not safe for concurrent use.
type Backoff struct {
	failures int
	until    time.Time
	cause    error
}

// Fail starts the delay after one more failure. Steps and Jitter of the delays do not
// count: without them, each failure makes the delay longer, up to the cap.
func (b *Backoff) Fail(now time.Time, delays wait.Backoff, cause error) {
	delays.Jitter = 0
	for delays.Steps = b.failures; delays.Steps > 0; {
		delays.Step()
	}
	b.failures++
	b.until, b.cause = now.Add(delays.Duration), cause
}

// Err returns the cause of the last failure during the delay after it.
func (b *Backoff) Err(now time.Time) error {
	if now.Before(b.until) {
		return b.cause
	}

	return nil
}

// Until returns when the delay ends.
func (b *Backoff) Until() time.Time { return b.until }
