package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason    string
		got, want string
	}{
		"words":    {reason: "any type that prints", got: plan.Words([]plan.Ref{{ID: "sg-1"}, {Key: "web"}}), want: "sg-1 <web>"},
		"no words": {reason: "an empty list is told", got: plan.Words[int](nil), want: "none"},
		"commas":   {reason: "items contain blanks", got: plan.Commas([]string{"80 to 1", "443 to 2"}), want: "80 to 1, 443 to 2"},
		"few":      {reason: "five are named", got: plan.FewWords([]int{1, 2, 3, 4, 5}), want: "1 2 3 4 5"},
		"more":     {reason: "the others are counted", got: plan.FewWords([]int{1, 2, 3, 4, 5, 6, 7}), want: "1 2 3 4 5 and 2 more"},
		"few, with commas": {
			reason: "for sentences", got: plan.FewCommas([]int{1, 2, 3, 4, 5, 6}), want: "1, 2, 3, 4, 5 and 1 more",
		},
		"few of none": {reason: "as in a long list", got: plan.FewWords[int](nil), want: "none"},
		"pairs":       {reason: "in the order of the keys", got: plan.Pairs(map[string]string{"b": "2", "a": ""}), want: "a= b=2"},
		"no pairs":    {reason: "an empty map is an empty text", got: plan.Pairs(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.got != test.want {
				t.Errorf("%s: got %q, want %q", test.reason, test.got, test.want)
			}
		})
	}
}

func TestSorted(t *testing.T) {
	t.Parallel()
	list := []int{3, 1, 3, 2}
	if diff := cmp.Diff([]int{1, 2, 3}, plan.Sorted(list)); diff != "" {
		t.Errorf("in order, without repetition: %s", diff)
	}
	if diff := cmp.Diff([]int{3, 1, 3, 2}, list); diff != "" {
		t.Errorf("the list was changed: %s", diff)
	}
	if got := plan.Sorted([]string{}); got != nil {
		t.Errorf("nil for an empty list: %v", got)
	}
}
