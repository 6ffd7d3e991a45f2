package request

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestAnnotationsAreDocumented proves that each constant has the lines of which the
// reference page is made, and that each with the prefix is known.
func TestAnnotationsAreDocumented(t *testing.T) {
	t.Parallel()
	file, err := goparser.ParseFile(token.NewFileSet(), "annotations.go", nil, goparser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	prefixed := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Annotation") {
			return true
		}
		text := spec.Doc.Text()
		for _, line := range []string{spec.Names[0].Name + " ", "\nType: ", "\nDefault: ", "\nApplies to: "} {
			if !strings.Contains(text, line) {
				t.Errorf("%s: its comment has no %q", spec.Names[0].Name, line)
			}
		}
		if _, ok := spec.Values[0].(*ast.BinaryExpr); ok {
			prefixed++
		}

		return true
	})
	if prefixed == 0 || prefixed != len(known) {
		t.Errorf("%d constants have the prefix, %d are known", prefixed, len(known))
	}
}
