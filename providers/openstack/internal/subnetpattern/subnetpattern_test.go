package subnetpattern_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/subnetpattern"
)

func TestName(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, pattern string
		yes, no         []string
	}{
		"none":                {"selects all", "", []string{"", "a"}, nil},
		"exact":               {"the whole name", "public", []string{"public"}, []string{"", "public2", "a-public", "Public"}},
		"run":                 {"any run", "pub*", []string{"pub", "public"}, []string{"", "apub", "pub/a"}},
		"run in the middle":   {"on both sides", "a*z", []string{"az", "a-z"}, []string{"a", "a/z", "az2"}},
		"star":                {"every name without a slash, an empty one too", "*", []string{"", "a"}, []string{"a/b"}},
		"double star":         {"no more than one", "**", []string{"", "a"}, []string{"a/b"}},
		"one character":       {"exactly one", "v?", []string{"v4", "vé", "v/"}, []string{"v", "v44"}},
		"alternatives":        {"either", "{public,ext}-v4", []string{"public-v4", "ext-v4"}, []string{"-v4", "public,ext-v4"}},
		"empty alternative":   {"is a text too", "a{,b}", []string{"a", "ab"}, []string{"b"}},
		"nested":              {"one in the other", "{a{1,2},b}", []string{"a1", "a2", "b"}, []string{"a", "b1"}},
		"set":                 {"one of the characters", "v[46]", []string{"v4", "v6"}, []string{"v", "v5", "v46"}},
		"range":               {"from one to the other", "v[1-3a]", []string{"v1", "v3", "va"}, []string{"v4", "v-"}},
		"other characters":    {"with an exclamation mark", "v[!46]", []string{"v5"}, []string{"v4", "v"}},
		"other characters, ^": {"or a caret", "v[^46]", []string{"v5", "v^"}, []string{"v4"}},
		"set of special":      {"mean themselves", `[[:alpha\]]`, []string{"[", ":", "a", "]"}, []string{"b", "bc"}},
		"comma":               {"outside of braces", "a,b", []string{"a,b"}, []string{"a", "b"}},
		"escaped":             {"means itself", `a\*\\`, []string{`a*\`}, []string{`ab\`}},
		"dot":                 {"is no character of expressions", "a.b+", []string{"a.b+"}, []string{"aXb", "a.bb"}},
		"closing bracket":     {"alone", "a]", []string{"a]"}, []string{"a"}},
		"line break":          {"is a character", "a?b", []string{"a\nb"}, nil},
		"not exact":           {"all others", "!public", []string{"", "private"}, []string{"public"}},
		"not a run":           {"all others", "!pub*", []string{"", "a"}, []string{"pub", "public"}},
		"expression":          {"the whole name", "~a|ab", []string{"a", "ab"}, []string{"", "abc", "b"}},
		"expression, longest": {"not the first that begins so", "~(a|ab)(c|bcd)?", []string{"abcd", "a", "ac"}, []string{"abd"}},
		"anchors":             {"are allowed", "~^ext.*$", []string{"ext", "ext-1"}, []string{"", "an-ext"}},
		"line break, anchors": {"do not match in the middle", "~(?m)^a$", []string{"a"}, []string{"a\nb"}},
		"flags":               {"are allowed", "~(?i)ext", []string{"EXT"}, []string{"EX"}},
		"not an expression":   {"all others", "!~ext.*", []string{"", "a"}, []string{"ext", "ext-1"}},
		"exclamation inside":  {"only the first is one", "~!a", []string{"!a"}, []string{"a", "b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pattern, err := subnetpattern.ParseName(tc.pattern)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			for _, subnet := range tc.yes {
				if !pattern.Matches(subnet) {
					t.Errorf("%s: %q must match %q", tc.reason, tc.pattern, subnet)
				}
			}
			for _, subnet := range tc.no {
				if pattern.Matches(subnet) {
					t.Errorf("%s: %q must not match %q", tc.reason, tc.pattern, subnet)
				}
			}
			again, err := subnetpattern.ParseName(tc.pattern)
			if err != nil || !pattern.Equal(again) || pattern.Equal(subnetpattern.Name{}) != pattern.IsZero() {
				t.Errorf("%s: %q is equal to itself only", tc.reason, tc.pattern)
			}
			if pattern.String() != tc.pattern || pattern.IsZero() != (tc.pattern == "") {
				t.Errorf("%s: %q is %q", tc.reason, tc.pattern, pattern)
			}
		})
	}
}

func TestBadName(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[", "[]", "[a", "[!", "[!]", "[z-a]", `[a\`, "{a", "{a,b", "a}", "{a}}", `a\`, "!", "~", "!~", "~(", "~[", "~a**", "~)(", "!~*", "~a{2000}",
	} {
		if pattern, err := subnetpattern.ParseName(text); err == nil {
			t.Errorf("%.20q is %v", text, pattern)
		}
		if subnetpattern.Check(text, "") == nil {
			t.Errorf("%.20q must not pass", text)
		}
	}
}

// TestLongName proves that a pattern of a user does not take hours.
func TestLongName(t *testing.T) {
	t.Parallel()
	const times = 200
	for _, pattern := range []string{strings.Repeat("{a,a}", times), strings.Repeat("*a", times) + "b", "~" + strings.Repeat("(a|a)*", times) + "b"} {
		parsed, err := subnetpattern.ParseName(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Matches(strings.Repeat("a", times) + "c") {
			t.Errorf("%.20q must not match", pattern)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	none, a, b, both := []string{"other"}, []string{"a", "c"}, []string{"b"}, []string{"b", "a"}
	cases := map[string]struct {
		reason, text string
		want         subnetpattern.Tags
		yes, no      [][]string
		key, value   string
	}{
		"none":       {"selects all", "", subnetpattern.Tags{}, [][]string{nil, a}, nil, "", ""},
		"blank":      {"like none", " ", subnetpattern.Tags{}, [][]string{nil, a}, nil, "", ""},
		"one":        {"has it", "a", subnetpattern.Tags{List: []string{"a"}}, [][]string{a, both}, [][]string{nil, none, b}, "tags-any", "a"},
		"any":        {"has one", "a, b", subnetpattern.Tags{List: []string{"a", "b"}}, [][]string{a, b, both}, [][]string{nil, none}, "tags-any", "a,b"},
		"all":        {"has all", "&a,b", subnetpattern.Tags{List: []string{"a", "b"}, All: true}, [][]string{both}, [][]string{nil, none, a, b}, "tags", "a,b"},
		"none of":    {"has none", "!a,b", subnetpattern.Tags{List: []string{"a", "b"}, Not: true}, [][]string{nil, none}, [][]string{a, b, both}, "not-tags-any", "a,b"},
		"not all of": {"lacks one", "!&a,b", subnetpattern.Tags{List: []string{"a", "b"}, All: true, Not: true}, [][]string{nil, none, a, b}, [][]string{both}, "not-tags", "a,b"},
		"messy":      {"blanks, empty tags and repetitions do not count", " a,,b ,a,", subnetpattern.Tags{List: []string{"a", "b"}}, [][]string{a}, [][]string{none}, "tags-any", "a,b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tags, err := subnetpattern.ParseTags(tc.text)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, tags); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for _, subnet := range tc.yes {
				if !tags.Matches(subnet) {
					t.Errorf("%s: %q must select %v", tc.reason, tc.text, subnet)
				}
			}
			for _, subnet := range tc.no {
				if tags.Matches(subnet) {
					t.Errorf("%s: %q must not select %v", tc.reason, tc.text, subnet)
				}
			}
			if key, value := tags.Query(); key != tc.key || value != tc.value {
				t.Errorf("%s: the query is %s=%s, want %s=%s", tc.reason, key, value, tc.key, tc.value)
			}
		})
	}
	for _, text := range []string{"!", "&", "!&", ",", "!&, ,"} {
		if tags, err := subnetpattern.ParseTags(text); err == nil {
			t.Errorf("%q is %v", text, tags)
		}
		if subnetpattern.Check("", text) == nil {
			t.Errorf("%q must not pass", text)
		}
	}
	if err := subnetpattern.Check("a*", "a"); err != nil {
		t.Error(err)
	}
}

func FuzzPatterns(f *testing.F) {
	for _, text := range []string{"", "a*", "[", "{a", "!~a|ab", "!&a,b", `\`, "[[:alpha:]]", "[a-\\z]", "{{}", "\xff"} {
		f.Add(text, "name")
	}
	f.Fuzz(func(t *testing.T, text, subnet string) {
		pattern, err := subnetpattern.ParseName(text)
		if err == nil && text != "" {
			negated, err := subnetpattern.ParseName("!" + strings.TrimPrefix(text, "!"))
			if err != nil {
				t.Fatalf("%q is a pattern, its negation is not: %v", text, err)
			}
			if same := pattern.Matches(subnet) == negated.Matches(subnet); same != strings.HasPrefix(text, "!") {
				t.Errorf("%q and its negation select %q: %t", text, subnet, same)
			}
		}
		if tags, err := subnetpattern.ParseTags(text); err == nil {
			other := tags
			other.Not = !tags.Not
			if !tags.IsZero() && tags.Matches([]string{subnet}) == other.Matches([]string{subnet}) {
				t.Errorf("%q and its negation select %q", text, subnet)
			}
		}
	})
}
