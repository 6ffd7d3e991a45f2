package aws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// weaknesses is how many items the list of §18 has.
const weaknesses = 43

// itemName is how tests name an item, apart from other words.
var itemName = regexp.MustCompile(`\bW(\d+)\b`)

// TestEveryWeaknessIsNamed demands for each item of §18 a test of this provider
// that names it, in its comment or in the reason of a case. Golden cases count as
// tests, too.
func TestEveryWeaknessIsNamed(t *testing.T) {
	t.Parallel()
	tests := map[int][]string{}
	note := func(name, text string) {
		for _, found := range itemName.FindAllStringSubmatch(text, -1) {
			if item, _ := strconv.Atoi(found[1]); !slices.Contains(tests[item], name) {
				tests[item] = append(tests[item], name)
			}
		}
	}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch filepath.Base(path) {
		case "weaknesses_test.go":
			return nil
		case "observed.yaml":
			text, err := os.ReadFile(filepath.Clean(path))
			note("TestPlans/"+filepath.Base(filepath.Dir(path)), string(text))
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		return eachTest(path, func(name, text string) { note(filepath.Join(filepath.Dir(path), name), text) })
	})
	if err != nil {
		t.Fatal(err)
	}
	for item := 1; item <= weaknesses; item++ {
		t.Logf("W%d: %s", item, strings.Join(tests[item], ", "))
		if len(tests[item]) == 0 {
			t.Errorf("no test names W%d", item)
		}
	}
}

// eachTest gives the tests of a file, with their comments.
func eachTest(path string, note func(name, text string)) error {
	source, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, declaration := range file.Decls {
		test, ok := declaration.(*ast.FuncDecl)
		if !ok || test.Recv != nil || !strings.HasPrefix(test.Name.Name, "Test") {
			continue
		}
		from, to := files.Position(test.Pos()).Offset, files.Position(test.End()).Offset
		note(test.Name.Name, test.Doc.Text()+string(source[from:to]))
	}
	return nil
}
