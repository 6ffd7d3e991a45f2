// Package explanation_test compares the pages of rules with what names the rules.
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

// rule begins a rule: its anchor, and its ID in bold letters.
var rule = regexp.MustCompile(`(?m)^(?:<a id="(.*)"></a>\n)?\*\*([A-Z]+-[A-Z]+-[0-9]+)\*\* `)

// TestRules checks that each rule has one place with an anchor, that a test names
// it, and that no file names a rule that does not exist.
func TestRules(t *testing.T) {
	t.Parallel()
	rules := readRules(t)
	tested := sets.New[string]()
	prefixes := sets.New[string]()
	for name := range rules {
		prefix, _, _ := strings.Cut(name, "-")
		prefixes.Insert(prefix + "-")
	}
	id := regexp.MustCompile(`\b(?:` + strings.Join(sets.List(prefixes), "|") + `)[A-Z]+-[0-9]+\b`)
	eachFile(t, func(path, text string) {
		names := named(text, id, prefixes)
		if unknown := names.Difference(rules); len(unknown) > 0 {
			t.Errorf("%s names rules that no page has: %v", path, sets.List(unknown))
		}
		if isTest(path) {
			tested = tested.Union(names)
		}
	})
	if missing := rules.Difference(tested); len(missing) > 0 {
		t.Errorf("no test names the rules %v", sets.List(missing))
	}
}

// named returns the IDs in a text, which begin with one of the prefixes.
func named(text string, id *regexp.Regexp, prefixes sets.Set[string]) sets.Set[string] {
	names := sets.New[string]()
	for line := range strings.Lines(text) {
		// Most lines name none, which is found out faster without the expression.
		for prefix := range prefixes {
			if strings.Contains(line, prefix) {
				names.Insert(id.FindAllString(line, -1)...)

				break
			}
		}
	}

	return names
}

// readRules returns the IDs of all rules.
func readRules(t *testing.T) sets.Set[string] {
	t.Helper()
	pages, err := filepath.Glob("behavior-*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages %v, error %v", pages, err)
	}
	rules := sets.New[string]()
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Clean(page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range rule.FindAllStringSubmatch(string(text), -1) {
			anchor, name := found[1], found[2]
			if anchor != strings.ToLower(name) {
				t.Errorf("%s: the anchor of %s is %q", page, name, anchor)
			}
			if rules.Has(name) {
				t.Errorf("%s: %s is there twice", page, name)
			}
			rules.Insert(name)
		}
	}

	return rules
}

// eachFile calls fn with each file of the repository that can name a rule.
func eachFile(t *testing.T, fn func(path, text string)) {
	t.Helper()
	kinds := sets.New(".go", ".golden", ".md", ".txtar", ".yaml")
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".") && path != root):
			return filepath.SkipDir
		case entry.IsDir() || !kinds.Has(filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(filepath.Clean(path))
		fn(path, string(text))

		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isTest reports whether a file is part of a test.
func isTest(path string) bool {
	return strings.HasSuffix(path, "_test.go") ||
		strings.Contains(path, "testdata") || strings.Contains(path, "conformance") || strings.HasPrefix(path, filepath.Join("..", "..", "test"))
}
