package nodes

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

func TestZoneLabel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("z", 62)
	cases := map[string]struct{ reason, zone, want string }{
		"plain":       {"as it is", "nova", "nova"},
		"valid":       {"runs of valid characters stay", "az--1..b__c", "az--1..b__c"},
		"blanks":      {"a run of other characters is one -", "zone  1/a", "zone-1-a"},
		"ends":        {"- _ . at both ends are cut off", "_.-az 1 !", "az-1"},
		"umlaut":      {"one - for each run", "Zürich", "Z-rich"},
		"long":        {"cut at 63", long + "ab", long + "a"},
		"long at a -": {"and again at the end, which the existing controller manager does not do", long + " b", long},
		"nothing":     {"no label", "", ""},
		"no letter":   {"no label", "!!!", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, label := range map[string]func(string) string{"zone": zoneLabel, "region": RegionLabel} {
				got := label(tc.zone)
				if got != tc.want {
					t.Errorf("%s: %s: want %q, got %q", tc.reason, what, tc.want, got)
				}
				if problems := content.IsLabelValue(got); len(problems) > 0 {
					t.Errorf("%s: %s: %q is no label value: %v", tc.reason, what, got, problems)
				}
			}
		})
	}
}
