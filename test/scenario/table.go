package scenario

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table is what both forms of a report are made of. The first row is the head.
type Table [][]string

// Text aligns the columns for a terminal.
func (t Table) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range t {
		fmt.Fprintln(w, strings.Join(cells, "\t")) //nolint:errcheck // into memory
	}
	_ = w.Flush() // into memory

	return b.String()
}

// Markdown is the table for the docs.
func (t Table) Markdown() string {
	var b strings.Builder
	for i, cells := range t {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "%s|\n", strings.Repeat("|---", len(cells)))
		}
	}

	return b.String()
}
