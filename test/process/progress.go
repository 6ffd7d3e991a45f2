//go:build unix

package process

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	// Limit is how long a wait goes on without progress: how long something takes depends on the
	// machine, which may be slow or busy.
	Limit = 2 * time.Minute
	// Longest is when a wait ends in spite of progress: a process may repeat its errors forever.
	Longest = 10 * time.Minute

	progressPeriod = time.Second
)

// WhileProgress returns a context that ends when state has returned the same for [Limit], or after
// [Longest].
func WhileProgress(ctx context.Context, state func() string) (context.Context, context.CancelFunc) {
	ctx, end := context.WithTimeoutCause(ctx, Longest, fmt.Errorf("not done after %v", Longest))
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		ticker := time.NewTicker(progressPeriod)
		defer ticker.Stop()
		for last, changed := state(), time.Now(); time.Since(changed) < Limit; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now := state(); now != last {
				last, changed = now, time.Now()
			}
		}
		stop(fmt.Errorf("no progress for %v", Limit))
	}()

	return ctx, func() { stop(nil); end() }
}

// WhileRunning returns a context that ends when the child has ended, with its failure as the
// cause, or has written nothing into its log for [Limit] and the others return the same.
func (p *Process) WhileRunning(ctx context.Context, others ...func() string) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	bounded, end := WhileProgress(ctx, func() string {
		state := []string{p.logSize()}
		for _, other := range others {
			state = append(state, other())
		}

		return strings.Join(state, " ")
	})
	go func() {
		select {
		case <-p.ended:
			stop(p.Failure())
		case <-bounded.Done():
		}
	}()

	return bounded, func() { end(); stop(nil) }
}

// logSize is the progress of a child.
func (p *Process) logSize() string {
	info, err := os.Stat(p.log)
	if err != nil {
		return err.Error()
	}

	return fmt.Sprint(info.Size())
}
