package change

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Wait shortens how steps wait for a state, for tests. The zero value leaves
// each step its own times.
type Wait struct {
	// Interval is how often a step asks, Limit for how long.
	Interval, Limit time.Duration
}

// Poll asks at once and then again and again until the answer is done, or an
// error that is done. It gives up after the limit, with the last error if there
// is one, and when ctx ends. What is asked is not cut short by the limit.
func (w Wait) Poll(ctx context.Context, interval, limit time.Duration, ask func() (done bool, err error)) error {
	if w.Interval > 0 {
		interval = w.Interval
	}
	if w.Limit > 0 {
		limit = w.Limit
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, limit, true, func(context.Context) (bool, error) {
		var done bool
		done, last = ask()
		return done, nil
	})
	switch {
	case err == nil:
		return last
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case last != nil:
		return fmt.Errorf("still so after %s: %w", limit, last)
	default:
		return fmt.Errorf("nothing after %s", limit)
	}
}
