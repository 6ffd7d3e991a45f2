// Command list prints rules with the tests that name them: those with the IDs of
// its arguments, or all. Run it at the top of the repository.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/docs/explanation/rules"
)

func main() {
	all, err := rules.Read(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, rule := range all {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], rule.ID) {
			continue
		}
		fmt.Printf("%s (%s): %s\n", rule.ID, rule.Page, rule.Title)
		for _, test := range rule.Tests {
			fmt.Printf("  %s %s\n", test.File, test.Function)
		}
	}
}
