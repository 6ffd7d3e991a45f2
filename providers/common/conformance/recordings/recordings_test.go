package recordings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/recordings"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	group := func(name string) string { return strings.Split(name, " ")[0] }
	first := recordings.Read(t, dir)
	first.Store("a one", "1\n")
	first.Store("a two", "2\n")
	first.Store("b gone", "3\n")
	first.Write(t, []string{"b gone", "a two", "a one"}, group)
	if text, err := os.ReadFile(filepath.Join(dir, "a.txtar")); err != nil || string(text) != "-- a one --\n1\n-- a two --\n2\n" {
		t.Errorf("got %q, %v", text, err)
	}
	next := recordings.Read(t, dir)
	next.Store("a two", "other\n")
	next.Write(t, []string{"a one", "a two"}, group)
	last := recordings.Read(t, dir)
	last.Compare(t, "a one", "1\n")
	last.Compare(t, "a two", "other\n")
	for name, text := range map[string]string{"a one": "2\n", "a three": "3\n"} {
		if log, failed := harness.Record(t, func(t testing.TB) { last.Compare(t, name, text) }); !failed || !strings.Contains(log, name) {
			t.Errorf("%s: failed is %t: %s", name, failed, log)
		}
	}
}
