// Package rules reads the rules about what the controller does, which the pages
// docs/explanation/behavior-*.md state, and finds the tests that name them.
package rules

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

const pages = "docs/explanation/behavior-*.md"

// Rule is one rule of a page.
type Rule struct {
	// ID is its name, such as FW-NODE-1.
	ID string
	// Page is the name of the file that states it.
	Page string
	// Title is its first sentence, with the texts of links only.
	Title string
	// Tests are the places in tests that name it, in the order of files.
	Tests []Test
}

// Test is a place in a test.
type Test struct {
	// File is the path below the root of the repository.
	File string
	// Function is the test function, and empty for helpers, tables and test data.
	Function string
	// Tagged means that its file has a build constraint, as a test on real services: make test
	// does not run it.
	Tagged bool
}

// Read returns the rules of a repository, in the order of the pages. Its error
// joins all mistakes: rules that are there twice or have another anchor than
// their ID, and files that name a rule that no page states.
func Read(repository fs.FS) ([]Rule, error) {
	all, err := readPages(repository)
	if err != nil {
		return nil, err
	}

	return all, findTests(repository, all)
}

var (
	// statement is the anchor of a rule, its ID in bold letters, and its first paragraph.
	statement = regexp.MustCompile(`(?m)^(?:<a id="(.*)"></a>\n)?\*\*([A-Z]+-[A-Z]+-[0-9]+)\*\* ((?:.+\n?)+)`)
	// sentence is the beginning of a paragraph.
	sentence = regexp.MustCompile(`^.*?[.:](?: |$)`)
	// link is a link of Markdown.
	link = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

// readPages returns the rules without their tests.
func readPages(repository fs.FS) ([]Rule, error) {
	names, err := fs.Glob(repository, pages)
	if err != nil {
		return nil, err
	}
	var all []Rule
	var mistakes []error
	known := sets.New[string]()
	for _, name := range names {
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return nil, err
		}
		for _, found := range statement.FindAllStringSubmatch(string(text), -1) {
			anchor, id := found[1], found[2]
			if anchor != strings.ToLower(id) {
				mistakes = append(mistakes, fmt.Errorf("%s: the anchor of %s is %q", name, id, anchor))
			}
			if known.Has(id) {
				mistakes = append(mistakes, fmt.Errorf("%s: %s is there twice", name, id))
			}
			known.Insert(id)
			all = append(all, Rule{ID: id, Page: path.Base(name), Title: title(found[3])})
		}
	}
	if len(all) == 0 {
		mistakes = append(mistakes, fmt.Errorf("no page %s has a rule", pages))
	}

	return all, errors.Join(mistakes...)
}

// title is the first sentence of a paragraph.
func title(paragraph string) string {
	text := link.ReplaceAllString(strings.Join(strings.Fields(paragraph), " "), "$1")
	if first := sentence.FindString(text); first != "" {
		text = first
	}

	return strings.TrimRight(text, ".: ")
}
