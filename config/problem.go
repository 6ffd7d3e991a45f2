package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Position is a place in a cloud-config. The zero value is no place.
type Position struct {
	Path   string
	Line   int
	Column int
}

// String formats the position as file:line:col, as compilers do.
func (p Position) String() string {
	if p.Line == 0 {
		return p.Path
	}

	return fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
}

// Severity is how serious a problem is.
type Severity int

const (
	// Note is worth telling, and never more than that: a name that another
	// reader of the same file owns.
	Note Severity = iota
	// Warning does not keep the process from starting.
	Warning
	// Error keeps the process from starting.
	Error
)

// String names the severity the way it is printed.
func (s Severity) String() string {
	return [...]string{"note", "warning", "error"}[s]
}

// Problem is one thing found in a cloud-config.
type Problem struct {
	Position Position
	Severity Severity
	Message  string

	// strict marks a warning that strict files make an error.
	strict bool
}

// longestMessage is how many characters of a message are shown: a name in it can be a whole file.
const longestMessage = 1000

// String formats the problem with its place, without its severity.
func (p Problem) String() string {
	if text := []rune(p.Message); len(text) > longestMessage {
		p.Message = string(text[:longestMessage]) + "…"
	}
	if p.Position == (Position{}) {
		return p.Message
	}

	return fmt.Sprintf("%s: %s", p.Position, p.Message)
}

// Problems is everything found in one cloud-config, in the order of the file.
type Problems []Problem

// Errorf adds an error at a place.
func (p *Problems) Errorf(at Position, format string, args ...any) {
	*p = append(*p, Problem{Position: at, Severity: Error, Message: fmt.Sprintf(format, args...)})
}

// Warnf adds a warning at a place.
func (p *Problems) Warnf(at Position, format string, args ...any) {
	*p = append(*p, Problem{Position: at, Severity: Warning, Message: fmt.Sprintf(format, args...)})
}

// strictf adds a warning that strict files make an error.
func (p *Problems) strictf(at Position, format string, args ...any) {
	p.Warnf(at, format, args...)
	(*p)[len(*p)-1].strict = true
}

// Err joins all errors into one, or returns nil where there are none.
func (p Problems) Err() error {
	var errs []error
	for _, problem := range p {
		if problem.Severity == Error {
			errs = append(errs, errors.New(problem.String()))
		}
	}

	return errors.Join(errs...)
}

// Strict returns the problems of a strict file: unknown names, what is set twice and values that
// may be cut are errors.
func (p Problems) Strict() Problems {
	strict := slices.Clone(p)
	for i := range strict {
		if strict[i].strict {
			strict[i].Severity = Error
		}
	}

	return strict
}

// limit returns each problem once, and at most so many. The last one stands for the others then.
func (p Problems) limit(most int) Problems {
	seen := map[Problem]bool{}
	once := slices.DeleteFunc(slices.Clone(p), func(problem Problem) bool {
		before := seen[problem]
		seen[problem] = true

		return before
	})
	if len(once) <= most {
		return once
	}
	rest := Problem{Position: once[most].Position, Message: fmt.Sprintf("%d more problems", len(once)-most)}
	for _, problem := range once[most:] {
		rest.Severity, rest.strict = max(rest.Severity, problem.Severity), rest.strict || problem.strict
	}

	return append(once[:most:most], rest)
}

// Sort puts the problems in the order of the file; those without a line come first.
func (p Problems) Sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
}
