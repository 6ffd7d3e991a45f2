package explanation_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// sharedRow begins the row of a package in the table of shared packages.
var sharedRow = regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\| ")

// TestSharedPackages compares the table with the folders.
func TestSharedPackages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := sets.New[string]()
	for _, found := range sharedRow.FindAllStringSubmatch(string(page), -1) {
		if rows.Has(found[1]) {
			t.Errorf("package %s has two rows", found[1])
		}
		rows.Insert(found[1])
	}
	packages := sharedPackages(t)
	if missing := packages.Difference(rows); len(missing) > 0 {
		t.Errorf("architecture.md has no row for the packages %v: say when to use them, and when not", sets.List(missing))
	}
	if unknown := rows.Difference(packages); len(unknown) > 0 {
		t.Errorf("architecture.md has rows for packages that do not exist: %v", sets.List(unknown))
	}
}

// sharedPackages returns the packages of providers/common, by their paths below
// it, and those of test/cloudsim that are no cloud.
func sharedPackages(t *testing.T) sets.Set[string] {
	t.Helper()
	packages := sets.New[string]()
	clouds, err := filepath.Glob("../../test/cloudsim/*")
	if err != nil || len(clouds) == 0 {
		t.Fatalf("simulated clouds %v, error %v", clouds, err)
	}
	for _, path := range clouds {
		name := filepath.Base(path)
		if _, err := os.Stat(filepath.Join("..", "..", "providers", name)); os.IsNotExist(err) {
			packages.Insert("test/cloudsim/" + name)
		}
	}
	root := filepath.Join("..", "..", "providers", "common")
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "internal" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		name, err := filepath.Rel(root, filepath.Dir(path))
		packages.Insert(filepath.ToSlash(name))

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return packages
}
