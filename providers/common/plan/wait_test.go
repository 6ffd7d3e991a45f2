package plan_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

var errUsed = errors.New("in use")

func TestPoll(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason  string
		wait    plan.Wait
		done    int   // the call that is done
		err     error // of each call
		expires time.Duration
		calls   int
		takes   time.Duration
		want    error
		text    string
	}{
		"at once":     {reason: "there is no wait before the first call", done: 1, calls: 1},
		"later":       {reason: "at each interval", done: 3, calls: 3, takes: 4 * time.Second},
		"fails":       {reason: "an error that is done ends it", done: 1, err: errUsed, calls: 1, want: errUsed, text: "in use"},
		"limit":       {reason: "the last error is named", err: errUsed, calls: 5, takes: 9 * time.Second, want: errUsed, text: "still so after 9s: in use"},
		"no error":    {reason: "the limit ends it, too", calls: 5, takes: 9 * time.Second, text: "nothing after 9s"},
		"canceled":    {reason: "ctx ends it", err: errUsed, expires: 3 * time.Second, calls: 2, takes: 3 * time.Second, want: context.DeadlineExceeded, text: "context deadline exceeded"},
		"other times": {reason: "a test sets its own", wait: plan.Wait{Interval: time.Second, Limit: 3500 * time.Millisecond}, calls: 4, takes: 3500 * time.Millisecond, text: "nothing after 3.5s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.expires > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.expires)
					defer cancel()
				}
				start, calls := time.Now(), 0
				err := test.wait.Poll(ctx, 2*time.Second, 9*time.Second, func() (bool, error) {
					calls++

					return calls == test.done, test.err
				})
				if test.want != nil && !errors.Is(err, test.want) || (err == nil) != (test.text == "") || err != nil && err.Error() != test.text {
					t.Errorf("%s: got %v, want %q", test.reason, err, test.text)
				}
				if calls != test.calls || time.Since(start) != test.takes {
					t.Errorf("%s: %d calls in %s, want %d in %s", test.reason, calls, time.Since(start), test.calls, test.takes)
				}
			})
		})
	}
}
