package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/test/parallelism"
)

const (
	// atOnce is how many tests run side by side at least: each minute of a test is
	// ten seconds of CPU time, and a control plane takes 400 MB.
	atOnce = 12
	// patience bounds every wait for something that has to happen.
	patience = 2 * time.Minute
	// period is how often that is checked at first, and longPeriod in a long wait:
	// a check costs CPU time.
	period     = 100 * time.Millisecond
	longPeriod = time.Second
)

func TestMain(m *testing.M) {
	if err := parallelism.AtLeast(atOnce); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(suite{m})
}

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

// await returns when check has nothing to complain about any more.
func await(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	ctx, began := within(t), time.Now()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
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

// within is the time that something which has to happen may take.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)

	return ctx
}

// ending is the time for what is left to do when a test has ended.
func ending() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}
