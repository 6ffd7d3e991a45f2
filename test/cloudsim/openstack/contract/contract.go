package contract

import (
	"embed"
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:embed golden
var goldenFiles embed.FS

// Recorded returns the responses that the real services gave to a scenario.
func Recorded(scenario string) ([]Record, error) {
	data, err := fs.ReadFile(goldenFiles, "golden/"+scenario+".txtar")
	if err != nil {
		return nil, fmt.Errorf("read responses of scenario %s: %w", scenario, err)
	}

	return Golden(data), nil
}

// Run plays all scenarios whose API is one of apis (keystone, nova, neutron,
// octavia; all if none is given) against a target, each as a subtest, and
// reports every step whose response differs from that of the real services.
func Run(t *testing.T, target Target, apis ...string) {
	t.Helper()
	scenarios, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, api := range apis {
		wanted[api] = true
	}
	for _, s := range scenarios {
		if len(apis) > 0 && !wanted[s.API()] {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			want, err := Recorded(s.Name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Play(t.Context(), target, s)
			for _, d := range Differences(want, got) {
				t.Error(d)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Differences compares responses step by step. A scenario that ended early is
// compared as far as it came.
func Differences(want, got []Record) []string {
	var out []string
	for i := range min(len(want), len(got)) {
		if diff := cmp.Diff(want[i].Text, got[i].Text); want[i].Step != got[i].Step || diff != "" {
			out = append(out, fmt.Sprintf("step %q (-recorded +got):\n%s", want[i].Step, diff))
		}
	}
	if len(want) != len(got) {
		out = append(out, fmt.Sprintf("%d responses, recorded are %d", len(got), len(want)))
	}

	return out
}
