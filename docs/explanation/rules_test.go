// Package explanation_test compares the pages with the code.
package explanation_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/docs/explanation/rules"
)

// TestRules checks that each rule has one place with an anchor, that a test names
// it, and that no file names a rule that does not exist.
func TestRules(t *testing.T) {
	t.Parallel()
	all, err := rules.Read(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range all {
		if !slices.ContainsFunc(rule.Tests, func(test rules.Test) bool { return !test.Tagged }) {
			t.Errorf("no test that make test runs names the rule %s", rule.ID)
		}
	}
}
