package config_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// TestDuration shows FW-CONFIG-5.
func TestDuration(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   time.Duration
		bad    bool
	}{
		"seconds":  {reason: "a unit", text: "30s", want: 30 * time.Second},
		"compound": {reason: "several", text: " 1h2m ", want: time.Hour + 2*time.Minute},
		"zero":     {reason: "the one number that needs no unit", text: "0", want: 0},
		"bare":     {reason: "gcfg would take nanoseconds", text: "30", bad: true},
		"octal":    {reason: "gcfg would take 8", text: "010", bad: true},
		"empty":    {reason: "no value", text: "", bad: true},
		"word":     {reason: "no duration", text: "soon", bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got config.Duration
			err := got.UnmarshalText([]byte(tc.text))
			if (err != nil) != tc.bad || time.Duration(got) != tc.want {
				t.Errorf("%s: want %v, got %v, %v", tc.reason, tc.want, got, err)
			}
		})
	}
	compare(t, "String", "1m30s", config.Duration(90*time.Second).String())
}

// TestList shows FW-CONFIG-6.
func TestList(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   config.List
	}{
		"one":               {"no comma", "a", config.List{"a"}},
		"trimmed":           {"trimmed; empties skipped", " a , b,,\t,", config.List{"a", "b"}},
		"empty":             {"nothing is no item", "", nil},
		"commas":            {"nor is this", " , ,", nil},
		"comma in an item":  {"escaped", `a\,b,c`, config.List{"a,b", "c"}},
		"backslash":         {"escaped", `a\\,b`, config.List{`a\`, "b"}},
		"backslash in path": {"one that escapes nothing stays", `DOM\dc, x`, config.List{`DOM\dc`, "x"}},
		"last backslash":    {"the same", `a\`, config.List{`a\`}},
		"escaped last":      {"a comma at the end", `a\,`, config.List{"a,"}},
		"blanks inside":     {"belong to the item", "my dc, other dc", config.List{"my dc", "other dc"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := config.List{"before"}
			if err := got.UnmarshalText([]byte(tc.text)); err != nil {
				t.Fatal(err)
			}
			compare(t, tc.reason, tc.want, got)
		})
	}
}

// TestListRoundTrip: what String writes reads back as the same list.
func TestListRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := config.List(rapid.SliceOfN(rapid.StringMatching(`[a-z,\\]([a-z,\\ ]*[a-z,\\])?`), 1, 5).Draw(t, "items"))
		var got config.List
		if err := got.UnmarshalText([]byte(want.String())); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || len(got) != len(want) {
			t.Fatalf("%q: want %q, got %q", want.String(), want, got)
		}
	})
}

// TestCIDRs shows FW-CONFIG-6.
func TestCIDRs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   string
		bad    bool
	}{
		"one":           {reason: "one block", text: "10.0.0.0/8", want: "10.0.0.0/8"},
		"several":       {reason: "blanks are trimmed", text: " 10.0.0.0/8 , fd00::/64,", want: "10.0.0.0/8,fd00::/64"},
		"host bits":     {reason: "cut off, as upstream does", text: "10.1.2.3/8,fd00::1/64", want: "10.0.0.0/8,fd00::/64"},
		"mapped":        {reason: "the IPv4 block that it means", text: "::ffff:10.0.0.0/104", want: "10.0.0.0/8"},
		"mapped, wider": {reason: "no IPv4 block", text: "::ffff:0.0.0.0/80", want: "::/80"},
		"empty":         {reason: "none", text: "", want: ""},
		"address":       {reason: "no block", text: "10.0.0.0/8,10.0.0.1", bad: true},
		"too long":      {reason: "no block", text: "10.0.0.0/33", bad: true},
		"word":          {reason: "no block", text: "internal", bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got config.CIDRs
			if err := got.UnmarshalText([]byte(tc.text)); (err != nil) != tc.bad {
				t.Fatalf("%s: got %v, %v", tc.reason, got, err)
			}
			if !tc.bad {
				compare(t, tc.reason, tc.want, got.String())
			}
		})
	}
}
