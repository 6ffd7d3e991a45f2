package main

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/docs/explanation/rules"
)

// rulesPage lists the rules of all pages with the tests that name them.
func rulesPage(l *library) (string, error) {
	all, err := rules.Read(os.DirFS(l.root))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	page := ""
	for _, rule := range all {
		if rule.Page != page {
			page = rule.Page
			fmt.Fprintf(&b, "\n## %s\n\n| Rule | Subject | Tests |\n|---|---|---|\n", page)
		}
		link := fmt.Sprintf("[%s](../explanation/%s#%s)", rule.ID, page, strings.ToLower(rule.ID))
		fmt.Fprintf(&b, "| %s | %s | %s |\n", link, strings.ReplaceAll(rule.Title, "|", `\|`), testList(rule.Tests))
	}

	return b.String(), nil
}

// testList names tests after the directory that they are in.
func testList(tests []rules.Test) string {
	var dirs []string
	names := map[string][]string{}
	for _, test := range tests {
		dir, name := path.Split(test.File)
		if test.Function != "" {
			name = test.Function
		}
		if _, ok := names[dir]; !ok {
			dirs = append(dirs, dir)
		}
		names[dir] = append(names[dir], name)
	}
	for i, dir := range dirs {
		dirs[i] = fmt.Sprintf("`%s`: %s", strings.TrimSuffix(dir, "/"), strings.Join(names[dir], ", "))
	}

	return strings.Join(dirs, "; ")
}
