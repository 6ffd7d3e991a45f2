package plan

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Wait shortens how steps wait for a state, for tests. The zero value leaves
// each step its own times.
type Wait struct {
	// Interval is how often a step checks the state, Limit for how long.
	Interval, Limit time.Duration
}

// Poll calls check at once and then at every interval until it is done, and
// returns its last error. It ends after the limit, with the last error if
// there is one, and when ctx ends. A call of check is not cut short by the limit.
func (w Wait) Poll(ctx context.Context, interval, limit time.Duration, check func() (done bool, err error)) error {
	interval, limit = cmp.Or(w.Interval, interval), cmp.Or(w.Limit, limit)
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, limit, true, func(context.Context) (bool, error) {
		var done bool
		done, last = check()

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
