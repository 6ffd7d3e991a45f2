package openstack

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnvironmentReference proves that the page has each variable that is read.
func TestEnvironmentReference(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, v := range reference().Environment {
		documented[v.Name] = v.Help != ""
	}
	for _, name := range []string{variableCloud, variableCloudsFile, variableRegional, variableWaitSteps} {
		if !documented[name] {
			t.Errorf("%s is not on the page", name)
		}
	}
}

// TestKeysAreDocumented proves that each key has a comment, which becomes its text on the
// reference page.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("config*.go")
	must(t, err)
	keys := 0
	for _, path := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		must(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			field, ok := node.(*ast.Field)
			if !ok || field.Tag == nil || !strings.Contains(field.Tag.Value, "gcfg:") {
				return true
			}
			keys++
			if name := field.Names[0].Name; !strings.HasPrefix(field.Doc.Text(), name+" ") {
				t.Errorf("%s: %s has no comment that begins with its name", path, name)
			}

			return true
		})
	}
	if keys < 60 {
		t.Errorf("only %d keys were found", keys)
	}
}
