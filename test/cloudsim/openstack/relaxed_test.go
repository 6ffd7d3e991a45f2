package openstack

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../../.."

// relaxation is a place where a test makes the cloud refuse less, or respond earlier,
// than OpenStack does by default.
type relaxation struct {
	at     gotoken.Position
	what   string
	reason string
}

// TestRelaxedTestsHaveAReason checks that each test in which the cloud is more lenient
// than by default has a comment with the reason: on the same line, above it, or in the
// comment of the function if that names what is relaxed. With -v it lists these tests.
func TestRelaxedTestsHaveAReason(t *testing.T) {
	t.Parallel()
	var all []relaxation
	for _, folder := range []string{"providers/openstack", "test"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			found, err := relaxations(path)
			all = append(all, found...)

			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) == 0 {
		t.Error("no test is relaxed: the check does not find them any more")
	}
	for _, r := range all {
		if r.reason == "" {
			t.Errorf("%s: %s, and no comment has the reason", r.at, r.what)

			continue
		}
		t.Logf("%s: %s: %s", r.at, r.what, r.reason)
	}
}

// relaxations returns those of a file.
func relaxations(path string) ([]relaxation, error) {
	fset := gotoken.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if !uses(file) {
		return nil, nil
	}
	comments := map[int]string{} // by their last line
	for _, group := range file.Comments {
		comments[fset.Position(group.End()).Line] = strings.Join(strings.Fields(group.Text()), " ")
	}
	var found []relaxation
	for _, decl := range file.Decls {
		doc := docOf(decl)
		ast.Inspect(decl, func(n ast.Node) bool {
			subject, what := relaxed(n)
			if what == "" {
				return true
			}
			at := fset.Position(n.Pos())
			reason := comments[at.Line] + comments[at.Line-1]
			if reason == "" && strings.Contains(strings.ToLower(doc), subject) {
				reason = doc
			}
			at.Filename = strings.TrimPrefix(at.Filename, root+"/")
			found = append(found, relaxation{at, what, reason})

			return true
		})
	}

	return found, nil
}

// docOf returns the comment of a function in one line.
func docOf(decl ast.Decl) string {
	if f, ok := decl.(*ast.FuncDecl); ok {
		return strings.Join(strings.Fields(f.Doc.Text()), " ")
	}

	return ""
}

// uses reports whether a file is a test with this cloud.
func uses(file *ast.File) bool {
	for _, i := range file.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && strings.HasSuffix(path, "/test/cloudsim/openstack") {
			return true
		}
	}

	return false
}

// relaxed describes what an expression relaxes, and returns the word for its subject.
// Both are empty for all others.
func relaxed(n ast.Node) (subject, what string) {
	switch n := n.(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 {
			return relaxedLiteral(nameOf(n.Args[0]), nil)
		}
	case *ast.CompositeLit:
		return relaxedLiteral(nameOf(n.Type), n.Elts)
	case *ast.AssignStmt: // a copy of the typical delays that is changed afterwards
		if call, ok := n.Rhs[0].(*ast.CallExpr); ok && nameOf(call.Fun) == "TypicalDelays" {
			return relaxedLiteral("Delays", nil)
		}
	}

	return "", ""
}

// nameOf returns the name of a type or function of package openstack.
func nameOf(e ast.Expr) string {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if p, ok := selector.X.(*ast.Ident); !ok || p.Name != "openstack" {
		return ""
	}

	return selector.Sel.Name
}

func relaxedLiteral(name string, fields []ast.Expr) (subject, what string) {
	switch {
	case name == "StaleReads" && len(fields) == 0:
		return "stale", "no read is stale"
	case name == "Delays":
		return "delay", "other delays than the typical ones"
	case name == "Quotas":
		return "quota", raised(fields)
	}

	return "", ""
}

// raised describes the quotas above their defaults.
func raised(fields []ast.Expr) string {
	defaults := reflect.ValueOf(Quotas{}.complete())
	var names []string
	for _, f := range fields {
		field, ok := f.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name := fmt.Sprint(field.Key)
		usual := defaults.FieldByName(name).Int()
		value, err := strconv.Atoi(literal(field.Value))
		if usual >= 0 && (err != nil || value < 0 || int64(value) > usual) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}

	return "higher quotas of " + strings.Join(names, ", ")
}

func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok {
		return l.Value
	}

	return ""
}
