package rules

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// findTests adds to the rules the tests that name them.
func findTests(repository fs.FS, all []Rule) error {
	rules, ids := map[string]*Rule{}, newIDs(all)
	for i := range all {
		rules[all[i].ID] = &all[i]
	}
	var mistakes []error
	err := eachFile(repository, func(name string, text []byte) error {
		named := ids.in(text)
		if len(named) == 0 {
			return nil
		}
		functions, err := testFunctions(name, text)
		for _, place := range named {
			id := string(text[place[0]:place[1]])
			rule, ok := rules[id]
			if !ok {
				mistakes = append(mistakes, fmt.Errorf("%s names %s, which no page states", name, id))

				continue
			}
			test := Test{File: name, Function: functions.at(place[0]), Tagged: isTagged(text)}
			if isTest(name) && !slices.Contains(rule.Tests, test) {
				rule.Tests = append(rule.Tests, test)
			}
		}

		return err
	})

	return errors.Join(append(mistakes, err)...)
}

// ids finds what looks like the ID of a rule.
type ids struct {
	prefixes [][]byte
	pattern  *regexp.Regexp
}

// newIDs finds the IDs that begin like one of the rules.
func newIDs(all []Rule) ids {
	prefixes := sets.New[string]()
	for _, rule := range all {
		prefix, _, _ := strings.Cut(rule.ID, "-")
		prefixes.Insert(prefix + "-")
	}
	found := ids{pattern: regexp.MustCompile(`\b(?:` + strings.Join(sets.List(prefixes), "|") + `)[A-Z]+-[0-9]+\b`)}
	for prefix := range prefixes {
		found.prefixes = append(found.prefixes, []byte(prefix))
	}

	return found
}

// in returns the begin and the end of each ID in a text.
func (i ids) in(text []byte) [][]int {
	// Most files have none, which is found out faster without the expression.
	if !slices.ContainsFunc(i.prefixes, func(prefix []byte) bool { return bytes.Contains(text, prefix) }) {
		return nil
	}

	return i.pattern.FindAllIndex(text, -1)
}

// eachFile calls fn with each file of the repository that can name a rule.
func eachFile(repository fs.FS, fn func(name string, text []byte) error) error {
	kinds := sets.New(".go", ".golden", ".md", ".txtar", ".yaml")

	return fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || strings.HasPrefix(name, ".") && name != "."):
			return fs.SkipDir
		case entry.IsDir() || !kinds.Has(path.Ext(name)):
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}

		return fn(name, text)
	})
}

// isTest reports whether a file is part of a test.
func isTest(name string) bool {
	return strings.HasSuffix(name, "_test.go") ||
		strings.Contains(name, "testdata") || strings.Contains(name, "conformance") || strings.HasPrefix(name, "test/")
}

// isTagged reports whether a file is left out unless a build tag is set
// (https://pkg.go.dev/cmd/go#hdr-Build_constraints).
func isTagged(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if constraint.IsGoBuild(line) {
			expression, err := constraint.Parse(line)

			return err == nil && !expression.Eval(func(tag string) bool {
				return tag == runtime.GOOS || tag == runtime.GOARCH || tag == "unix" || tag == "race"
			})
		}
		if strings.HasPrefix(line, "package ") {
			return false
		}
	}

	return false
}

// function is a test function with the offsets of its comment and of its end.
type function struct {
	name       string
	begin, end int
}

type functions []function

// at returns the name of the function at an offset, which is empty outside of all.
func (all functions) at(offset int) string {
	for _, f := range all {
		if f.begin <= offset && offset < f.end {
			return f.name
		}
	}

	return ""
}

// runs is the name of a function that go test runs.
var runs = regexp.MustCompile(`^(?:Test|Fuzz|Example)(?:[^a-z]|$)`)

// testFunctions returns those of a file, if it has any.
func testFunctions(name string, text []byte) (functions, error) {
	if !strings.HasSuffix(name, "_test.go") {
		return nil, nil
	}
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all functions
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !runs.MatchString(f.Name.Name) {
			continue
		}
		begin := f.Pos()
		if f.Doc != nil {
			begin = f.Doc.Pos()
		}
		all = append(all, function{f.Name.Name, positions.Position(begin).Offset, positions.Position(f.End()).Offset})
	}

	return all, nil
}
