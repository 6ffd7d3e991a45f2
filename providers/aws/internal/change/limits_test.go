package change_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
)

// A quota counts as reached for some minutes, as long as nothing is removed.
func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var none *change.Limits
		none.Reach("a", 60)
		limits := change.NewLimits()
		limits.Reach("a", 60)
		for _, c := range []struct {
			reason  string
			limits  *change.Limits
			subject string
			count   int
			want    bool
		}{
			{reason: "as many as then", limits: limits, subject: "a", count: 60, want: true},
			{reason: "more", limits: limits, subject: "a", count: 61, want: true},
			{reason: "one was removed", limits: limits, subject: "a", count: 59},
			{reason: "another subject", limits: limits, subject: "b", count: 60},
			{reason: "nothing is stored", limits: none, subject: "a", count: 60},
		} {
			if got := c.limits.Reached(c.subject, c.count); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		}
		time.Sleep(5*time.Minute + time.Nanosecond)
		if limits.Reached("a", 60) {
			t.Error("the quota may have been raised")
		}
	})
}
