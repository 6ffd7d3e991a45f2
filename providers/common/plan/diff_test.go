package plan_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// port is what the tests compare: a port with where it leads to.
type port = map[int]string

func equal(desired, observed string) bool { return desired == observed }

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason            string
		desired, observed port
		want              plan.Set[int, string, string]
	}{
		"nothing": {reason: "two empty sides are the same"},
		"same":    {reason: "what is wanted is there", desired: port{80: "a"}, observed: port{80: "a"}},
		"create": {
			reason: "in the order of the keys", desired: port{443: "b", 80: "a"},
			want: plan.Set[int, string, string]{Create: []plan.Entry[int, string]{{Key: 80, Value: "a"}, {Key: 443, Value: "b"}}},
		},
		"change": {
			reason: "both sides are handed on", desired: port{80: "a"}, observed: port{80: "b"},
			want: plan.Set[int, string, string]{Change: []plan.Pair[int, string, string]{{Key: 80, Desired: "a", Observed: "b"}}},
		},
		"delete": {
			reason: "in the order of the keys", observed: port{443: "b", 80: "a"},
			want: plan.Set[int, string, string]{Delete: []plan.Entry[int, string]{{Key: 80, Value: "a"}, {Key: 443, Value: "b"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, plan.Diff(test.desired, test.observed, equal)); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}

// Doing what a difference says makes the observed side the desired one, touches
// every key once, and leaves nothing to do.
func TestDiffLeadsToTheDesired(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.MapOf(rapid.IntRange(1, 8), rapid.SampledFrom([]string{"a", "b"}))
		desired, observed := side.Draw(t, "desired"), side.Draw(t, "observed")
		set := plan.Diff(desired, observed, equal)

		state := maps.Clone(observed)
		var touched []int
		for _, e := range set.Create {
			if _, there := state[e.Key]; there {
				t.Errorf("%d is there and created", e.Key)
			}
			state[e.Key] = e.Value
			touched = append(touched, e.Key)
		}
		for _, p := range set.Change {
			if state[p.Key] != p.Observed || p.Desired == p.Observed {
				t.Errorf("%d is said to go from %q to %q", p.Key, p.Observed, p.Desired)
			}
			state[p.Key] = p.Desired
			touched = append(touched, p.Key)
		}
		for _, e := range set.Delete {
			if state[e.Key] != e.Value {
				t.Errorf("%d is said to be %q", e.Key, e.Value)
			}
			delete(state, e.Key)
			touched = append(touched, e.Key)
		}
		if !maps.Equal(desired, state) {
			t.Errorf("got %v, want %v", state, desired)
		}
		slices.Sort(touched)
		if len(slices.Compact(touched)) != len(set.Create)+len(set.Change)+len(set.Delete) {
			t.Errorf("a key appears twice: %v", touched)
		}
		if again := plan.Diff(desired, state, equal); len(again.Create)+len(again.Change)+len(again.Delete) != 0 {
			t.Errorf("something is left to do: %v", again)
		}
	})
}
