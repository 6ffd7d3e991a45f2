package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/topology"
)

func TestClean(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("a", 62)
	cases := map[string]struct {
		reason      string
		name        string
		wantClean   string
		wantUnique  string
		wantChanged bool
	}{
		"Valid":      {"nothing to do", "us-east-1a", "us-east-1a", "us-east-1a", false},
		"Empty":      {"empty is a valid value", "", "", "", false},
		"AllChars":   {"everything a label may have", "aZ0-_.9", "aZ0-_.9", "aZ0-_.9", false},
		"Longest":    {"63 characters fit", long + "b", long + "b", long + "b", false},
		"Blank":      {"FW-LABEL-1: a run becomes one dash", "rack  7", "rack-7", "rack-7-1206a965", true},
		"Other":      {"names that clean to the same value stay apart", "rack/7", "rack-7", "rack-7-f771159a", true},
		"Ends":       {"FW-LABEL-1: trimmed at both ends", "-.zone_.", "zone", "zone-3bcf8f01", true},
		"Unicode":    {"characters, not bytes", "Zürich", "Z-rich", "Z-rich-4251685e", true},
		"Nothing":    {"no valid character at all", "東京", "", "130016b2", true},
		"Long":       {"FW-LABEL-1: cut at 63", long + "bcd", long + "b", strings.Repeat("a", 54) + "-31885d3c", true},
		"LongDash":   {"the cut may not end in a dash", long + "-d", long, strings.Repeat("a", 54) + "-e119ad27", true},
		"LongBlanks": {"nor in a replaced run", long + " - d", long, strings.Repeat("a", 54) + "-80a5ce53", true},
		"BadUTF8":    {"bytes that are no text", "a\xff\xfeb", "a-b", "a-b-373388e6", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, changed := topology.Clean(tc.name); got != tc.wantClean || changed != tc.wantChanged {
				t.Errorf("%s: Clean(%q) = %q, %t", tc.reason, tc.name, got, changed)
			}
			if got, changed := topology.CleanUnique(tc.name); got != tc.wantUnique || changed != tc.wantChanged {
				t.Errorf("%s: CleanUnique(%q) = %q, %t", tc.reason, tc.name, got, changed)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	for _, name := range []string{"", "a", "-", "zone a", "a\xffb", strings.Repeat("a.", 40), strings.Repeat("é", 70)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for way, clean := range map[string]func(string) (string, bool){
			"Clean": topology.Clean, "CleanUnique": topology.CleanUnique,
		} {
			value, changed := clean(name)
			if problems := content.IsLabelValue(value); len(problems) > 0 {
				t.Errorf("%s(%q) = %q: %v", way, name, value, problems)
			}
			if changed != (value != name) || changed == topology.Valid(name) {
				t.Errorf("%s(%q) = %q, %t", way, name, value, changed)
			}
			if again, changed := clean(value); again != value || changed {
				t.Errorf("%s(%q) = %q, again %q", way, name, value, again)
			}
		}
		if value, _ := topology.CleanUnique(name); value == "" && name != "" {
			t.Errorf("CleanUnique(%q) is empty", name)
		}
	})
}

func TestParseLabels(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason  string
		text    string
		want    map[string]string
		wantErr []string // each is part of the error
	}{
		"Nothing":  {"the flag is not set", "", map[string]string{}, nil},
		"One":      {"a pair", "pool=blue", map[string]string{"pool": "blue"}, nil},
		"Many":     {"FW-LABEL-3: pairs", "pool=blue,example.com/rack=7", map[string]string{"pool": "blue", "example.com/rack": "7"}, nil},
		"Blanks":   {"around everything", " pool = blue , x=y,, ", map[string]string{"pool": "blue", "x": "y"}, nil},
		"KeyAlone": {"an empty value is valid", "pool,x=", map[string]string{"pool": "", "x": ""}, nil},
		"Twice":    {"the last wins", "x=a,x=b", map[string]string{"x": "b"}, nil},
		"BadKey":   {"FW-LABEL-3: keys are qualified names", "my pool=blue", nil, []string{`invalid --node-labels key "my pool": `}},
		"NoKey":    {"an empty key is none", "=blue", nil, []string{`invalid --node-labels key "": `}},
		"BadValue": {"FW-LABEL-3: values too", "x=a=b", nil, []string{`invalid --node-labels value "a=b" of key "x": `}},
		"AllWrong": {"everything at once", "a/b/c=1,x=_", nil, []string{`invalid --node-labels key "a/b/c": `, `invalid --node-labels value "_" of key "x": `}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := topology.ParseLabels("--node-labels", tc.text)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if (err != nil) != (tc.wantErr != nil) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			for _, part := range tc.wantErr {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %q is not in %v", tc.reason, part, err)
				}
			}
		})
	}
}

func FuzzParseLabels(f *testing.F) {
	for _, text := range []string{"", "k=v,k2=v2", "k", "=", "a/b=c d", ",,=,"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		labels, err := topology.ParseLabels("--node-labels", text)
		if err != nil {
			return
		}
		for key, value := range labels {
			if len(content.IsLabelKey(key)) > 0 || len(content.IsLabelValue(value)) > 0 {
				t.Errorf("ParseLabels(%q) returned %q=%q", text, key, value)
			}
		}
	})
}
