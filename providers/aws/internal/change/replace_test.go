package change

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// TestReplace (AWS-TG-7): targets that leave make room for others, and at no time is there
// none, however often it is tried.
func TestReplace(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before string
		// fits is how many of the three targets that come are accepted in place of one
		// that leaves.
		fits  int
		empty bool
		want  string
		least int
	}{
		"room for all":         {"each takes a place", "abc", 1, true, "xyz", 1},
		"no room":              {"a free place does not help: those that left return", "abc", 0, true, "abc", 1},
		"the last one":         {"nothing replaces it", "a", 0, true, "a", 1},
		"the last one, a room": {"that there is room is not known before", "a", 1, true, "a", 1},
		"two":                  {"half of them is one", "ab", 0, true, "ab", 1},
		"others serve":         {"those that leave are not needed", "abc", 0, false, "", 0},
	}
	coming := []string{"x", "y", "z"}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registered := strings.Split(tc.before, "")
			least, free := len(registered), 0
			env := &Env{}
			add := func(items []string) error {
				for _, item := range items {
					switch comes := slices.Contains(coming, item); {
					case comes && free == 0:
						env.Refuse(Refusal{IDs: []string{item}, Quota: true})
					case comes:
						free--

						fallthrough
					default:
						registered = append(registered, item)
					}
				}

				return nil
			}
			for range 3 {
				leaving := lists.Without(registered, coming)
				env.retry("")
				if err := add(lists.Without(coming, registered)); err != nil {
					t.Fatal(err)
				}
				if len(leaving) == 0 {
					break
				}
				err := Replace(t.Context(), env, Replacement[string]{
					Items: leaving, Empty: tc.empty && len(leaving) == len(registered),
					Remove: Bulk[string]{ID: func(id string) string { return id }, Call: func(_ context.Context, items []string) error {
						registered = slices.DeleteFunc(registered, func(item string) bool { return slices.Contains(items, item) })
						free += tc.fits * len(items)
						least = min(least, len(registered))

						return nil
					}},
					Add: add, Named: func(ids []string) []string { return ids },
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(registered)
			if diff := cmp.Diff(tc.want, strings.Join(registered, "")); diff != "" || least != tc.least {
				t.Errorf("%s: %d targets at one time, -want +got:\n%s", tc.reason, least, diff)
			}
		})
	}
}
