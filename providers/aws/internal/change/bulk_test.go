package change_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// bulk returns a Bulk of IDs.
func bulk(call func(ids []string) error) change.Bulk[string] {
	return change.Bulk[string]{
		Call: func(_ context.Context, ids []string) error { return call(ids) }, ID: func(id string) string { return id },
		Refused: []string{"InvalidTarget"}, Page: 10,
	}
}

func rejection(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}

func TestBulkReturnsOtherErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		err    error
	}{
		"denied":    {reason: "nothing is accepted", err: apierr.Mark(apierr.ErrDenied, rejection("AccessDenied", "no"))},
		"throttled": {reason: "too many calls are not too many targets", err: apierr.Mark(apierr.ErrThrottled, rejection("TooManyRequestsException", "slow down"))},
		"canceled":  {reason: "the run ends", err: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			out, err := bulk(func([]string) error {
				calls++

				return c.err
			}).Do(t.Context(), []string{"i-1", "i-2"})
			if !errors.Is(err, c.err) || calls != 1 || out.Accepted+len(out.Excess) > 0 {
				t.Errorf("%s: got %v and %+v after %d calls", c.reason, err, out, calls)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	env := &change.Env{}
	for _, ids := range [][]string{{"i-2", "i-1"}, {"i-1", "i-2"}} {
		out := change.Outcome{Refused: map[string][]string{"not running": ids}, Excess: []string{"i-3", "i-4"}, QuotaReason: "the maximum is 3"}
		env.Refuse(out.Refusals("web", "a")...)
	}
	want := []service.Warning{
		{Reason: change.TargetRefused, Message: "Load balancer web sends nothing to instances that AWS refuses: i-1, i-2 (not running)"},
		{Reason: change.TargetQuotaExceeded, Message: "Load balancer web sends nothing to 2 instances in target group a, which exceed a quota of AWS (the maximum is 3)"},
	}
	if diff := cmp.Diff(want, env.Warnings()); diff != "" {
		t.Errorf("each is reported once: -want +got:\n%s", diff)
	}
}
