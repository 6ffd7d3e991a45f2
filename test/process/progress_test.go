//go:build unix

package process_test

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/process"
)

// TestWhileProgress: a wait has two minutes for each step, and an end in any case.
func TestWhileProgress(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// steps is how many steps there are, one every period.
		steps  int
		period time.Duration
		want   time.Duration
		cause  string
	}{
		"None":    {reason: "nothing happens", want: process.Limit, cause: "no progress for 2m0s"},
		"Slow":    {reason: "each step takes most of the limit", steps: 3, period: 100 * time.Second, want: 300*time.Second + process.Limit, cause: "no progress"},
		"Forever": {reason: "steps that lead nowhere", steps: 1000, period: time.Second, want: process.Longest, cause: "not done after 10m0s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := process.WhileProgress(t.Context(), func() string {
					return strconv.Itoa(min(int(time.Since(began)/max(tc.period, 1)), tc.steps))
				})
				defer cancel()
				<-ctx.Done()
				if took := time.Since(began); took < tc.want || took > tc.want+2*time.Second {
					t.Errorf("%s: it ended after %v, want %v", tc.reason, took, tc.want)
				}
				if cause := context.Cause(ctx).Error(); !strings.Contains(cause, tc.cause) {
					t.Errorf("%s: the cause is %q, want %q", tc.reason, cause, tc.cause)
				}
			})
		})
	}
}

// TestWhileRunning: the end of the child is the cause.
func TestWhileRunning(t *testing.T) {
	t.Parallel()
	child := start(t, "polite")
	ready(t, child)
	ctx, cancel := child.WhileRunning(t.Context())
	defer cancel()
	if err := ctx.Err(); err != nil {
		t.Fatalf("while it runs: %v", err)
	}
	if err := child.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !strings.Contains(cause.Error(), "polite ended by itself") {
		t.Errorf("the cause is %v", cause)
	}
}
