package plan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// bulk is a call whose refusals name some of the items.
func bulk(send func(items []int) error) plan.Bulk[int] {
	return plan.Bulk[int]{
		Send:      func(_ context.Context, items []int) error { return send(items) },
		IsRefusal: func(err error) bool { return errors.As(err, new(namingError)) },
		IsQuota:   func(err error) bool { return errors.Is(err, errQuota) },
		Names: func(err error, item int) bool {
			named, ok := errors.AsType[namingError](err)

			return ok && slices.Contains(named, item)
		},
	}
}

// namingError is a refusal that names items.
type namingError []int

func (r namingError) Error() string { return fmt.Sprint("refused: ", []int(r)) }

var errQuota = errors.New("quota exceeded")

func upTo(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}

	return items
}

// TestBulkAcceptsAllButTheRefused draws which items are refused, how many of them a refusal names, and how many a
// call may have: all others are accepted, each in one call that succeeds.
func TestBulkAcceptsAllButTheRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := upTo(rapid.IntRange(0, 35).Draw(t, "items"))
		bad := rapid.SliceOfNDistinct(rapid.IntRange(0, 35), 0, 35, rapid.ID).Draw(t, "bad")
		named := rapid.IntRange(0, 3).Draw(t, "named in each error")
		var accepted []int
		calls := 0
		b := bulk(func(some []int) error {
			calls++
			refused := slices.DeleteFunc(slices.Clone(some), func(item int) bool { return !slices.Contains(bad, item) })
			if len(refused) > 0 {
				return namingError(refused[:min(named, len(refused))])
			}
			accepted = append(accepted, some...)

			return nil
		})
		b.Page = rapid.IntRange(0, 10).Draw(t, "page")
		out, err := b.Do(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(items), func(item int) bool { return slices.Contains(bad, item) })
		slices.Sort(accepted)
		if !slices.Equal(want, accepted) || out.Accepted != len(want) || len(out.Refused) != len(items)-len(want) || len(out.Excess)+len(out.Untried) > 0 {
			t.Fatalf("accepted %v, %+v, want %v", accepted, out, want)
		}
		if calls > 2*len(items)+1 {
			t.Fatalf("%d calls for %d items", calls, len(items))
		}
	})
}

// TestBulkFillsAQuota draws a quota: as many items are accepted as it permits.
func TestBulkFillsAQuota(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := upTo(rapid.IntRange(0, 35).Draw(t, "items"))
		quota := rapid.IntRange(0, 40).Draw(t, "quota")
		count, calls := 0, 0
		b := bulk(func(some []int) error {
			calls++
			if count+len(some) > quota {
				return errQuota
			}
			count += len(some)

			return nil
		})
		b.Page = 10
		out, err := b.Do(t.Context(), items)
		want := min(quota, len(items))
		if err != nil || out.Accepted != want || count != want || len(out.Excess) != len(items)-want || (out.Quota != nil) != (want < len(items)) {
			t.Fatalf("%+v, %d are accepted (error %v), want %d of %d", out, count, err, want, len(items))
		}
		if pages := (len(items) + 9) / 10; calls > pages+2*4 {
			t.Fatalf("%d calls for %d pages", calls, pages)
		}
	})
}

// TestBulkEnds ends a search for refused items that are not named, and a run for another error.
func TestBulkEnds(t *testing.T) {
	t.Parallel()
	calls := 0
	b := bulk(func([]int) error {
		calls++

		return namingError{}
	})
	b.Most = 4
	out, err := b.Do(t.Context(), upTo(8))
	if want := (plan.Outcome[int]{Refused: []plan.Refused[int]{{0, namingError{}}}, Untried: []int{1, 2, 3, 4, 5, 6, 7}}); err != nil || calls != 4 || !cmp.Equal(want, out) {
		t.Errorf("%d calls, error %v, %s", calls, err, cmp.Diff(want, out))
	}
	down := errors.New("no response")
	if out, err := bulk(func([]int) error { return down }).Do(t.Context(), upTo(8)); !errors.Is(err, down) || out.Accepted+len(out.Refused) > 0 {
		t.Errorf("error %v, %+v", err, out)
	}
}
