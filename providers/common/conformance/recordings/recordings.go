// Package recordings compares what operations do with golden texts in txtar files.
//
// What it promises: each text has a name and is in one of the files of a folder; a text that
// differs, or that is not recorded, fails the test; writing keeps the texts of tests that did
// not run, and drops those of tests that there are no more.
//
// Do not use it for a text that a reviewer should read in full: that is a golden file of its own.
package recordings

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Recordings are texts by name. It is safe for concurrent use.
type Recordings struct {
	dir string

	mu        sync.Mutex
	want, got map[string]string
}

// Read reads all files of a folder.
func Read(t testing.TB, dir string) *Recordings {
	t.Helper()
	r := &Recordings{dir: dir, want: map[string]string{}, got: map[string]string{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			r.want[file.Name] = string(file.Data)
		}
	}

	return r
}

// Store stores a text for Write.
func (r *Recordings) Store(name, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got[name] = text
}

// Compare fails the test if a text differs from the recorded one.
func (r *Recordings) Compare(t testing.TB, name, text string) {
	t.Helper()
	if diff := gocmp.Diff(r.want[name], text); diff != "" {
		t.Errorf("%s differs from what is recorded in %s (-want +got), run with -update if that is right:\n%s", name, r.dir, diff)
	}
}

// Write writes the texts of all names into the file that a function returns for each.
func (r *Recordings) Write(t testing.TB, names []string, file func(name string) string) {
	t.Helper()
	archives := map[string]*txtar.Archive{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		base := file(name)
		if archives[base] == nil {
			archives[base] = &txtar.Archive{}
		}
		archives[base].Files = append(archives[base].Files, txtar.File{Name: name, Data: []byte(cmp.Or(r.got[name], r.want[name]))})
	}
	for base, archive := range archives {
		if err := os.WriteFile(filepath.Join(r.dir, base+".txtar"), txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
