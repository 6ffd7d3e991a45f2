// Package explanation_test compares the pages with the code.
package explanation_test

import (
	"os"
	"path/filepath"
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
		if len(rule.Tests) == 0 {
			t.Errorf("no test names the rule %s", rule.ID)
		}
	}
}
