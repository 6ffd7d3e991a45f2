package simstate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// seconds returns a time after the start.
func seconds(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }

// taken returns how many calls in a row get a token.
func taken(limits *RateLimits, now time.Time, names ...string) int {
	for n := range 1000 {
		if !limits.Take(now, names...) {
			return n
		}
	}

	return -1
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	var limits RateLimits
	limits.Set("account", RateLimit{Rate: 10, Burst: 5})
	limits.Set("writes", RateLimit{Rate: 0.1, Burst: 2})
	steps := []struct {
		reason string
		at     float64
		names  []string
		want   int
	}{
		{"the burst of the smaller bucket", 0, []string{"account", "writes"}, 2},
		{"what is left of the other one: a refused call takes no token", 0, []string{"account"}, 3},
		{"a token less a moment", 0.0999, []string{"account"}, 0},
		{"one token after a tenth of a second", 0.1, []string{"account"}, 1},
		{"one token after ten seconds", 10, []string{"account", "writes"}, 1},
		{"a bucket holds no more than its burst", 1000, []string{"account"}, 5},
		{"no limit", 1000, []string{"unknown"}, -1},
	}
	for _, step := range steps {
		if got := taken(&limits, seconds(step.at), step.names...); got != step.want {
			t.Errorf("%s: %d calls, want %d", step.reason, got, step.want)
		}
	}
	if account, writes, unknown := limits.Refused("account"), limits.Refused("writes"), limits.Refused("unknown"); account != 4 || writes != 2 || unknown != 0 {
		t.Errorf("refused %d, %d and %d calls, want 4, 2 and 0", account, writes, unknown)
	}
	limits.Set("account", RateLimit{})
	if got := taken(&limits, start, "account"); got != -1 {
		t.Errorf("a removed limit refuses call %d", got)
	}
	limits.Set("never refilled", RateLimit{Burst: 1})
	if first, later := taken(&limits, start, "never refilled"), taken(&limits, start.AddDate(100, 0, 0), "never refilled"); first != 1 || later != 0 {
		t.Errorf("%d calls and %d after a century, want 1 and 0", first, later)
	}
}

func TestConsistency(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		consistency Consistency
		operations  []int // one for each look at the object, a second later each
		want        []bool
	}{
		"none":            {Consistency{}, []int{1, 2}, []bool{true, true}},
		"delay":           {Consistency{Delay: 2 * time.Second}, []int{1, 2, 3}, []bool{false, false, true}},
		"reads":           {Consistency{Reads: 2}, []int{1, 2, 3}, []bool{false, false, true}},
		"one operation":   {Consistency{Reads: 1}, []int{1, 1, 1, 2}, []bool{false, false, false, true}},
		"delay and reads": {Consistency{Delay: 3 * time.Second, Reads: 1}, []int{1, 2, 3, 4}, []bool{false, false, false, true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := Created{At: start, Consistency: tc.consistency}
			var got []bool
			for i, operation := range tc.operations {
				got = append(got, object.Visible(operation, seconds(float64(i))))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("visible (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHiddenObjectsChange(t *testing.T) {
	t.Parallel()
	reads := Created{At: start, Consistency: Consistency{Delay: time.Hour}}
	if reads.Visible(1, start) || !reads.Changeable(1, start) {
		t.Error("without Writes, only reads miss a hidden object")
	}
	writes := Created{At: start, Consistency: Consistency{Delay: time.Hour, Writes: true}}
	if writes.Changeable(1, start) || !writes.Changeable(2, start.Add(time.Hour)) {
		t.Error("with Writes, changes miss a hidden object until the delay has passed")
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	var schedule Schedule[*[]string]
	change := func(text string) func(*[]string) {
		return func(state *[]string) { *state = append(*state, text) }
	}
	schedule.At(seconds(2), change("second"))
	schedule.At(seconds(1), func(state *[]string) {
		change("first")(state)
		schedule.At(seconds(1), change("added by the first"))
	})
	saved := schedule.Clone()
	var state []string
	for at, want := range [][]string{nil, {"first"}, {"first", "second", "added by the first"}} {
		schedule.Run(seconds(float64(at)), &state)
		if diff := cmp.Diff(want, state); diff != "" {
			t.Errorf("after %d s (-want +got):\n%s", at, diff)
		}
	}
	var restored []string
	saved.Run(seconds(2), &restored)
	if want := []string{"second", "first"}; !slices.Equal(restored, want) {
		t.Errorf("a copy applied %v, want %v", restored, want)
	}
}
