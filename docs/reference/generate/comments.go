package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// comments are the doc comments of types and of the fields of structs, by what
// they belong to: "Settings", "Settings.Global.Provider".
type comments map[string]string

// read adds the comments of Go files.
func (c comments) read(files ...string) error {
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("read comments: %w", err)
		}
		for _, declaration := range file.Decls {
			types, ok := declaration.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				c.addType(spec.(*ast.TypeSpec), types.Doc)
			}
		}
	}

	return nil
}

// addType takes the comment of the declaration for a type that stands alone in
// it.
func (c comments) addType(spec *ast.TypeSpec, declaration *ast.CommentGroup) {
	doc := spec.Doc
	if doc == nil {
		doc = declaration
	}
	c[spec.Name.Name] = doc.Text()
	c.addFields(spec.Name.Name, spec.Type)
}

func (c comments) addFields(owner string, t ast.Expr) {
	structure, ok := t.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			path := owner + "." + name.Name
			c[path] = field.Doc.Text()
			c.addFields(path, field.Type)
		}
	}
}

// library reads the comments of a package when they are first needed.
type library struct {
	root     string
	packages map[string]comments
}

func newLibrary(root string) *library {
	return &library{root: root, packages: map[string]comments{}}
}

// of returns the comments in a package of this module.
func (l *library) of(pkg string) (comments, error) {
	if known, ok := l.packages[pkg]; ok {
		return known, nil
	}
	files, err := l.files(pkg)
	if err != nil {
		return nil, fmt.Errorf("read comments of %s: %w", pkg, err)
	}
	l.packages[pkg] = comments{}

	return l.packages[pkg], l.packages[pkg].read(files...)
}

// files are those of a package of this module, without its tests.
func (l *library) files(pkg string) ([]string, error) {
	module := strings.TrimSuffix(reflect.TypeFor[config.Settings]().PkgPath(), "config")
	dir, ok := strings.CutPrefix(pkg, module)
	if !ok {
		return nil, fmt.Errorf("%s is not a package of this module", pkg)
	}
	files, err := filepath.Glob(filepath.Join(l.root, dir, "*.go"))

	return slices.DeleteFunc(files, func(path string) bool { return strings.HasSuffix(path, "_test.go") }), err
}
