// Size prints how large the parts of a checkout are, in lines of code, and what is reached from
// EnsureLoadBalancer.
//
//	go run ./tools/size [DIRECTORY]
//
// A line of code is neither blank nor a comment. Reached is what static calls, calls of interfaces by any
// type of the same part, and function values lead to (class hierarchy analysis), within the part.
package main

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/cha"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// parts are the folders that are counted.
var parts = []string{
	"cmd", "config", "providers/aws", "providers/common", "providers/common/conformance", "providers/openstack",
	"providers/openstack/internal/client", "providers/vsphere",
}

// entries are the parts that have load balancers.
var entries = []string{"providers/aws", "providers/openstack"}

func main() {
	directory := "."
	if len(os.Args) > 1 {
		directory = os.Args[1]
	}
	if err := run(directory); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(directory string) error {
	fmt.Printf("%-40s %8s %8s\n", "lines", "product", "tests")
	for _, part := range parts {
		product, tests, err := lines(filepath.Join(directory, part))
		if err != nil {
			return err
		}
		fmt.Printf("%-40s %8d %8d\n", part, product.code, tests.all)
	}
	product, tests, err := lines(directory)
	if err != nil {
		return err
	}
	fmt.Printf("%-40s %8d %8d\n\n%-40s %8s %8s %8s\n", "all", product.code, tests.all, "reached from EnsureLoadBalancer", "files", "functions", "lines")
	for _, part := range entries {
		if err := printReached(directory, part); err != nil {
			return err
		}
	}

	return nil
}

// count is a number of lines, and how many of them are code.
type count struct{ all, code int }

// isTest reports whether a file is only there for tests: those themselves, simulators, the conformance
// suites, and packages such as kubetest.
func isTest(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/test/") || strings.Contains(file, "/conformance/") ||
		strings.HasSuffix(path.Dir(file), "test")
}

// lines counts the Go files below a folder.
func lines(folder string) (product, tests count, err error) {
	err = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		counted := &product
		if isTest("/" + filepath.ToSlash(file)) {
			counted = &tests
		}
		counted.all += strings.Count(string(content), "\n")
		counted.code += codeLines(content)

		return nil
	})

	return product, tests, err
}

// codeLines counts the lines that have a token.
func codeLines(content []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(content))
	var s scanner.Scanner
	s.Init(file, content, nil, 0)
	seen := map[int]bool{}
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return len(seen)
		}
		first := file.Line(at)
		for line := range strings.Count(text, "\n") + 1 {
			if kind != token.SEMICOLON {
				seen[first+line] = true
			}
		}
	}
}

// printReached prints what the method EnsureLoadBalancer of a provider reaches.
func printReached(directory, part string) error {
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
		packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes
	found, err := packages.Load(&packages.Config{Mode: mode, Dir: directory}, "./"+part+"/...")
	if err != nil {
		return err
	}
	if packages.PrintErrors(found) > 0 {
		return errors.New("packages do not compile")
	}
	program, built := ssautil.Packages(found, ssa.InstantiateGenerics)
	program.Build()
	own := map[*ssa.Package]bool{}
	for _, p := range built {
		own[p] = p != nil
	}
	graph := cha.CallGraph(program)
	reached := map[*ssa.Function]bool{}
	var visit func(node *callgraph.Node)
	visit = func(node *callgraph.Node) {
		function := node.Func
		if origin := function.Origin(); origin != nil {
			function = origin
		}
		if reached[function] || !own[function.Package()] {
			return
		}
		reached[function] = true
		for _, edge := range node.Out {
			visit(edge.Callee)
		}
		for _, inner := range function.AnonFuncs {
			if inner := graph.Nodes[inner]; inner != nil {
				visit(inner)
			}
		}
	}
	for function, node := range graph.Nodes {
		if function != nil && function.Name() == "EnsureLoadBalancer" && own[function.Package()] && function.Syntax() != nil {
			visit(node)
		}
	}
	files, functions, total := map[string]bool{}, 0, 0
	for function := range reached {
		if function.Syntax() == nil || function.Parent() != nil {
			continue // a wrapper, or a part of another function
		}
		from, to := program.Fset.Position(function.Syntax().Pos()), program.Fset.Position(function.Syntax().End())
		files[from.Filename] = true
		functions++
		total += to.Line - from.Line + 1
	}
	fmt.Printf("%-40s %8d %8d %8d\n", part, len(files), functions, total)

	return nil
}
