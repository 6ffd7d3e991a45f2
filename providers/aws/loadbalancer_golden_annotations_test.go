package aws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// documentedAnnotation is an annotation as the source of package request
// documents it.
type documentedAnnotation struct {
	key     string
	applies map[request.Kind]bool
}

// documentedAnnotations reads the constants with their comments.
func documentedAnnotations(t *testing.T) []documentedAnnotation {
	t.Helper()
	const prefix = "service.beta.kubernetes.io/aws-load-balancer-"
	var list []documentedAnnotation
	collect := func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		text := ""
		switch value := spec.Values[0].(type) {
		case *ast.BasicLit:
			text, _ = strconv.Unquote(value.Value)
		case *ast.BinaryExpr:
			text, _ = strconv.Unquote(value.Y.(*ast.BasicLit).Value)
			text = prefix + text
		}
		if strings.HasPrefix(spec.Names[0].Name, "Annotation") {
			_, kinds, _ := strings.Cut(spec.Doc.Text(), "Applies to: ")
			list = append(list, documentedAnnotation{key: text, applies: map[request.Kind]bool{
				request.Classic: strings.Contains(kinds, "CLB"),
				request.Network: strings.Contains(kinds, "NLB"),
			}})
		}

		return true
	}
	for _, name := range []string{"annotations.go", "annotations_traffic.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("internal", "request", name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, collect)
	}

	return list
}

// file is the name of the file with the cases of the annotation.
func (a documentedAnnotation) file(kind request.Kind) string {
	_, name, _ := strings.Cut(a.key, "/")

	return string(kind) + "-" + strings.TrimPrefix(name, "aws-load-balancer-")
}

// TestEveryAnnotationHasPlans checks that each annotation has a file for each kind
// of load balancer. Where the annotation applies, the file has a case with a new
// load balancer and one with a load balancer that exists; where it does not, a case
// with an error or a warning that names the annotation.
func TestEveryAnnotationHasPlans(t *testing.T) {
	t.Parallel()
	files, err := planFiles()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*planFile{}
	for _, f := range files {
		byName[f.Name] = f
	}
	all := documentedAnnotations(t)
	if len(all) < 30 {
		t.Fatalf("only %d annotations", len(all))
	}
	for _, a := range all {
		for kind, applies := range a.applies {
			name := a.file(kind)
			f := byName[name]
			if f == nil {
				t.Errorf("no file %s.txtar", name)

				continue
			}
			created, changed, rejected := f.shows(a.key)
			if applies && (!created || !changed) {
				t.Errorf("%s.txtar: has a case that creates: %t, one that changes: %t", name, created, changed)
			}
			if !applies && !rejected {
				t.Errorf("%s.txtar: no case shows an error or a warning", name)
			}
		}
	}
}

// shows reports which kinds of cases set an annotation: with a new load balancer,
// with one that exists, and with an error or a warning.
func (f *planFile) shows(annotation string) (created, changed, rejected bool) {
	for _, c := range f.cases {
		if _, set := c.service.Annotations[annotation]; !set {
			continue
		}
		exists := c.fixture.exists()
		created, changed = created || !exists, changed || exists
		rejected = rejected || strings.Contains(c.Plan, "nnotation "+annotation)
	}

	return created, changed, rejected
}
