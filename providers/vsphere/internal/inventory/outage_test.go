package inventory

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// A vCenter that does not respond for an hour, or that is interrupted all the time, is
// logged first, once in ten minutes and at the end (VS-FEED-8).
func TestOutagesAreLoggedOnceInTenMinutes(t *testing.T) {
	t.Parallel()
	const interrupted, works = "Change feed of vCenter is interrupted", "Change feed of vCenter works again"
	cases := map[string]struct {
		reason string
		fails  func(after time.Duration) bool
		run    time.Duration
		want   map[string]int
	}{
		"an hour": {
			"the first failure, one in ten minutes, and the end", func(after time.Duration) bool {
				return after > 10*time.Minute && after < 70*time.Minute
			}, 2 * time.Hour, map[string]int{interrupted: 6, works: 1},
		},
		"two outages": {
			"each has a beginning and an end", func(after time.Duration) bool { return int(after.Minutes())%5 == 4 }, 13 * time.Minute,
			map[string]int{interrupted: 2, works: 2},
		},
		"every ten seconds": {
			"it flaps", func(after time.Duration) bool { return int(after.Seconds())%10 < 2 }, time.Hour,
			map[string]int{interrupted: 6, works: 6},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &scripted{}
				s.poll = func(ctx context.Context, req *types.WaitForUpdatesEx) (*types.UpdateSet, error) {
					if tc.fails(time.Since(began)) {
						return nil, errRecorded
					}
					if req.Version == "" {
						return &types.UpdateSet{Version: "1"}, nil
					}
					sleep(ctx, time.Second)

					return nil, ctx.Err()
				}
				var out bytes.Buffer
				ctx, stop := context.WithTimeout(t.Context(), tc.run)
				defer stop()
				ctx = klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
				New(s, Config{RereadPeriod: 24 * time.Hour}).Run(ctx)
				for line, want := range tc.want {
					if got := strings.Count(out.String(), line); got != want {
						t.Errorf("%s: %d lines %q, want %d:\n%s", tc.reason, got, line, want, out.String())
					}
				}
			})
		})
	}
}
