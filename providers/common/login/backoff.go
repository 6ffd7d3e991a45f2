package login

import "time"

// Backoff is a delay after a failure that grows with each one in a row. The zero value
// has none. It is not safe for concurrent use.
type Backoff struct {
	failures int
	until    time.Time
	cause    error
}

// Fail starts the delay after one more failure: the first of delays after the first
// failure, and so on. The last one is repeated.
func (b *Backoff) Fail(now time.Time, delays []time.Duration, cause error) {
	b.until, b.cause = now.Add(delays[min(b.failures, len(delays)-1)]), cause
	b.failures++
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
