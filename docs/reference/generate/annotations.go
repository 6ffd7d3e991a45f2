package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// annotationsPage lists every annotation that has an effect.
func annotationsPage(l *library) (string, error) {
	var b strings.Builder
	errs := []error{l.writeAnnotations(&b, "All providers", reflect.TypeFor[targets.Subset]().PkgPath())}
	for _, d := range all.Descriptors() {
		if d.Reference.Annotations != "" {
			errs = append(errs, l.writeAnnotations(&b, d.Summary, d.Reference.Annotations))
		}
	}

	return b.String(), errors.Join(errs...)
}

// writeAnnotations writes a section with the annotations of a package.
func (l *library) writeAnnotations(b *strings.Builder, title, path string) error {
	files, err := l.files(path)
	if err != nil {
		return err
	}
	groups, err := readAnnotations(files...)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "\n## %s\n", title)
	for _, g := range groups {
		g.write(b)
	}

	return nil
}

// annotationGroup is one const declaration.
type annotationGroup struct {
	title string
	list  []annotationText
}

type annotationText struct {
	name, text, kind, fallback, appliesTo string
}

func (g annotationGroup) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n| Annotation | Value | Default | Applies to | Meaning |\n|---|---|---|---|---|\n", g.title)
	for _, a := range g.list {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", a.name, prose(a.kind), prose(a.fallback), prose(a.appliesTo), prose(a.text))
	}
}

// readAnnotations finds the constants of type annotation.Name in the files of a
// package, by declaration.
func readAnnotations(files ...string) ([]annotationGroup, error) {
	values := map[string]string{}
	var declarations []*ast.GenDecl
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read annotations: %w", err)
		}
		for _, declaration := range file.Decls {
			if consts, ok := declaration.(*ast.GenDecl); ok && consts.Tok == token.CONST {
				declarations = append(declarations, consts)
				plainStrings(consts, values)
			}
		}
	}
	var groups []annotationGroup
	for _, declaration := range declarations {
		list, err := annotationsIn(declaration, values)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			groups = append(groups, annotationGroup{title: strings.TrimSuffix(strings.TrimSpace(declaration.Doc.Text()), "."), list: list})
		}
	}

	return groups, nil
}

// plainStrings adds the constants that are nothing but a string.
func plainStrings(declaration *ast.GenDecl, values map[string]string) {
	for _, spec := range declaration.Specs {
		value := spec.(*ast.ValueSpec)
		for i, name := range value.Names {
			if i < len(value.Values) {
				if text, err := evaluate(value.Values[i], values); err == nil {
					values[name.Name] = text
				}
			}
		}
	}
}

func annotationsIn(declaration *ast.GenDecl, values map[string]string) ([]annotationText, error) {
	var list []annotationText
	for _, spec := range declaration.Specs {
		value := spec.(*ast.ValueSpec)
		if !isAnnotation(value.Type) {
			continue
		}
		name, err := evaluate(value.Values[0], values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", value.Names[0].Name, err)
		}
		a, err := describeAnnotation(value.Names[0].Name, value.Doc.Text())
		if err != nil {
			return nil, err
		}
		a.name = name
		list = append(list, a)
	}

	return list, nil
}

// isAnnotation reports whether a type is annotation.Name.
func isAnnotation(t ast.Expr) bool {
	selector, ok := t.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)

	return ok && pkg.Name == "annotation" && selector.Sel.Name == "Name"
}

// evaluate returns the value of strings and named strings joined by +.
func evaluate(expression ast.Expr, values map[string]string) (string, error) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.Ident:
		if text, ok := values[e.Name]; ok {
			return text, nil
		}
	case *ast.BinaryExpr:
		left, err := evaluate(e.X, values)
		if err != nil {
			return "", err
		}
		right, err := evaluate(e.Y, values)

		return left + right, err
	}

	return "", errors.New("not a string, nor strings with + between them")
}

// describeAnnotation splits a comment: the text, and the lines that begin
// with a word and a colon.
func describeAnnotation(name, comment string) (annotationText, error) {
	var a annotationText
	parts := map[string]*string{"Type:": &a.kind, "Default:": &a.fallback, "Applies to:": &a.appliesTo}
	part := &a.text
	for line := range strings.Lines(comment) {
		for label, target := range parts {
			if rest, ok := strings.CutPrefix(line, label); ok {
				part, line = target, rest
			}
		}
		*part = strings.TrimSpace(*part + " " + strings.TrimSpace(line))
	}
	a.text = description(a.text, name)
	if a.text == "" || a.kind == "" || a.fallback == "" {
		return a, fmt.Errorf("%s: its comment needs a text, and lines that begin with Type: and Default: in it", name)
	}

	return a, nil
}
