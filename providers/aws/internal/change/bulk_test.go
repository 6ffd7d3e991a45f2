package change_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// TestBulkAcceptsAllButTheRejected draws which instances AWS rejects, and how it
// reports it: all others are accepted, each in one call that succeeds.
func TestBulkAcceptsAllButTheRejected(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`i-[0-9a-f]{4}`), 0, 35, rapid.ID).Draw(t, "ids")
		bad := map[string]bool{}
		for _, id := range ids {
			bad[id] = rapid.Bool().Draw(t, "bad")
		}
		named := rapid.IntRange(0, 3).Draw(t, "named in each error")
		var accepted []string
		calls := 0
		out, err := bulk(func(page []string) error {
			calls++
			refused := slices.DeleteFunc(slices.Clone(page), func(id string) bool { return !bad[id] })
			if len(refused) > 0 {
				return rejection("InvalidTarget", "not valid: '"+strings.Join(refused[:min(named, len(refused))], "', '")+"'")
			}
			accepted = append(accepted, page...)

			return nil
		}).Do(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return bad[id] })
		slices.Sort(want)
		slices.Sort(accepted)
		if !slices.Equal(want, accepted) || out.Accepted != len(want) || len(out.Excess) != 0 {
			t.Fatalf("accepted %q (%d, excess %d), want %q", accepted, out.Accepted, len(out.Excess), want)
		}
		count := 0
		for _, refused := range out.Refused {
			count += len(refused)
		}
		if count != len(ids)-len(want) || (count > 0) != (out.Cause != nil) {
			t.Fatalf("rejected are %v, of %d, because of %v", out.Refused, len(ids)-len(want), out.Cause)
		}
		if calls > 2*len(ids)+4 {
			t.Fatalf("%d calls for %d items", calls, len(ids))
		}
	})
}

// TestBulkFillsAQuota draws a quota: as many items are accepted as it permits.
func TestBulkFillsAQuota(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`i-[0-9a-f]{4}`), 0, 35, rapid.ID).Draw(t, "ids")
		quota := rapid.IntRange(0, 40).Draw(t, "quota")
		count, calls := 0, 0
		out, err := bulk(func(page []string) error {
			calls++
			if count+len(page) > quota {
				return rejection("TooManyTargets", "the maximum is reached")
			}
			count += len(page)

			return nil
		}).Do(t.Context(), ids)
		want := min(quota, len(ids))
		if err != nil || out.Accepted != want || count != want || len(out.Excess) != len(ids)-want {
			t.Fatalf("%d are accepted, %d left out (error %v), want %d of %d", count, len(out.Excess), err, want, len(ids))
		}
		if pages := (len(ids) + 9) / 10; calls > pages+2*4 {
			t.Fatalf("%d calls for %d pages", calls, pages)
		}
	})
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
