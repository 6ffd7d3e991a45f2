package lists_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

func even(n int) bool { return n%2 == 0 }

func TestLists(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		items  []int
		others []int

		text             []string
		even, odd        []int
		without, lastOne []int
	}{
		"nothing": {
			reason: "only Map returns an empty list that is not nil",
			text:   []string{},
		},
		"several": {
			reason: "the order of the items is kept", items: []int{3, 14, 2, 13, 4}, others: []int{14, 4, 9},
			text: []string{"3", "14", "2", "13", "4"}, even: []int{14, 2, 4}, odd: []int{3, 13}, without: []int{3, 2, 13}, lastOne: []int{3, 14, 2},
		},
		"all of one kind": {
			reason: "the other part is nil", items: []int{2, 4}, others: []int{2, 4},
			text: []string{"2", "4"}, even: []int{2, 4}, lastOne: []int{2, 4},
		},
		"repetition": {
			reason: "the first of equal items counts", items: []int{11, 1, 21}, others: []int{1},
			text: []string{"11", "1", "21"}, odd: []int{11, 1, 21}, without: []int{11, 21}, lastOne: []int{11},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items := slices.Clone(test.items)
			yes, no := lists.Split(items, even)
			for _, result := range []struct{ want, got any }{
				{test.text, lists.Map(items, strconv.Itoa)},
				{test.even, lists.Filter(items, even)},
				{test.even, yes},
				{test.odd, no},
				{test.without, lists.Without(items, test.others)},
				{test.lastOne, lists.DistinctBy(items, func(n int) int { return n % 10 })},
				{test.even, lists.Distinct(slices.Concat(yes, yes))},
				{test.items, items},
			} {
				if diff := cmp.Diff(result.want, result.got); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", test.reason, diff)
				}
			}
		})
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	list, equal, other := []string{"a", "b"}, []string{"a", "b"}, []string{"a"}
	if got := lists.Shared(list, equal); &got[0] != &equal[0] {
		t.Error("want the other list, which is equal")
	}
	if got := lists.Shared(list, other); &got[0] != &list[0] {
		t.Error("want the list itself: the other one is not equal")
	}
}

func TestTrueFirst(t *testing.T) {
	t.Parallel()
	sorted := []bool{false, true, false, true}
	slices.SortFunc(sorted, lists.TrueFirst)
	if !slices.Equal(sorted, []bool{true, true, false, false}) {
		t.Errorf("sorted %v", sorted)
	}
}
