package contract

import (
	"embed"
	"fmt"
	"io/fs"

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
