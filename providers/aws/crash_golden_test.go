package aws

import (
	stdcmp "cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// goldens are what the operations of all scenarios have sent and left without faults, by
// scenario. Without the race detector go test -run '^TestCrash$' -update writes them.
type goldens struct {
	mu        sync.Mutex
	want, got map[string]string
}

const recordingsDir = "testdata/recordings"

// readGoldens reads the golden files.
func readGoldens(t testing.TB) *goldens {
	t.Helper()
	g := &goldens{want: map[string]string{}, got: map[string]string{}}
	paths, err := filepath.Glob(filepath.Join(recordingsDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			g.want[file.Name] = string(file.Data)
		}
	}

	return g
}

// compare compares what a scenario has recorded with the golden file.
func (g *goldens) compare(t testing.TB, name, got string) {
	t.Helper()
	g.mu.Lock()
	g.got[name] = got
	g.mu.Unlock()
	if diff := cmp.Diff(g.want[name], got); diff != "" && !*update {
		t.Errorf("another run has been recorded (-want +got), run with -update if that is right:\n%s", diff)
	}
}

// write writes what was recorded, and keeps what is golden of scenarios that did not run.
func (g *goldens) write(t testing.TB, all map[string]scenario) {
	t.Helper()
	files := map[string]*txtar.Archive{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		group := "other"
		for _, kind := range []string{"classic", "network"} {
			if strings.HasPrefix(name, kind) {
				group = kind
			}
		}
		if files[group] == nil {
			files[group] = &txtar.Archive{}
		}
		files[group].Files = append(files[group].Files, txtar.File{Name: name, Data: []byte(stdcmp.Or(g.got[name], g.want[name]))})
	}
	for group, archive := range files {
		if err := os.WriteFile(filepath.Join(recordingsDir, group+".txtar"), txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// golden describes the baseline: the different reads, the writes in order, and what has come
// and gone in the region.
func (c *crash) golden(before state) string {
	reads := map[string]bool{}
	var writes []string
	for _, one := range c.recording.exchanges[c.primed:] {
		input, _ := json.Marshal(one.input)
		line := one.op + " " + withoutNulls(input)
		if sim.Mutating(one.op) {
			writes = append(writes, line)
		} else {
			reads[line] = true
		}
	}
	then, now := strings.Split(before.dump, "\n"), strings.Split(c.want.dump, "\n")
	var b strings.Builder
	for _, part := range []struct {
		name, prefix string
		lines        []string
	}{
		{"reads", "", slices.Sorted(maps.Keys(reads))},
		{"writes", "", writes},
		{"events", "", c.events},
		{"blocked", "", c.unreached},
		{"gone", "- ", lists.Without(then, now)},
		{"new", "+ ", lists.Without(now, then)},
	} {
		b.WriteString("== " + part.name + "\n")
		for _, line := range part.lines {
			b.WriteString(part.prefix + line + "\n")
		}
	}

	return b.String()
}

// withoutNulls returns an input of the SDK without what is not set.
func withoutNulls(input []byte) string {
	var value any
	if json.Unmarshal(input, &value) != nil {
		return string(input)
	}
	text, _ := json.Marshal(pruned(value))

	return string(text)
}

func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if v[key] = pruned(field); v[key] == nil || v[key] == "" {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	}

	return value
}
