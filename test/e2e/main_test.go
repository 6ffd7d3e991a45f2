package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/test/process"
)

const (
	// period is how often something that has to happen is checked at first, and
	// longPeriod in a long wait: a check costs CPU time.
	period     = 100 * time.Millisecond
	longPeriod = time.Second
)

// As many tests run side by side as there are processors, each with a control plane: more of them
// would only wait for each other.
func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

// suite is all tests, and the end of what they share.
type suite struct{ *testing.M }

// Run implements goleak.TestingM.
func (s suite) Run() int {
	code := s.M.Run()
	if err := clusters.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)

		return max(code, 1)
	}

	return code
}

// permanentError is a complaint that waiting will not change.
type permanentError struct{ error }

// await returns when check has nothing to complain about any more. Progress is another complaint.
func await(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	var complaint atomic.Value
	complaint.Store("")
	ctx, cancel := process.WhileProgress(t.Context(), func() string { return complaint.Load().(string) })
	defer cancel()
	for began := time.Now(); ; {
		err := check(ctx)
		if err == nil {
			return
		}
		complaint.Store(err.Error())
		if _, ok := errors.AsType[permanentError](err); ok {
			t.Fatalf("wait for %s: %v", what, err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("wait for %s: %v: %v", what, context.Cause(ctx), err)
		case <-time.After(min(max(period, time.Since(began)/10), longPeriod)):
		}
	}
}

// within bounds what shows no progress.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Longest)
	t.Cleanup(cancel)

	return ctx
}

// ending is the time for what is left to do when a test has ended.
func ending() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), process.Longest)
}
