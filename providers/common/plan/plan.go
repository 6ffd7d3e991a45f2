// Package plan turns the difference between what is wanted and what is there
// into an ordered list of writes.
//
// What it promises: making a plan changes nothing and needs no cloud; a plan
// prints as text, one line for each step, the same for the same input; steps run
// in order and the first that fails ends the run, with its text in the error, cut
// if it is long.
package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Plan is a list of steps in the order in which they run.
type Plan[E any] []Step[E]

// String lists the steps, one in a line. An empty plan is an empty text.
func (p Plan[E]) String() string {
	var text strings.Builder
	for _, step := range p {
		text.WriteString(step.Text)
		text.WriteByte('\n')
	}
	return text.String()
}

// Apply runs the steps until one fails. Observe is called after every step that
// ran, with its error, and may be nil.
func (p Plan[E]) Apply(ctx context.Context, env E, observe func(kind string, err error)) error {
	for _, step := range p {
		err := step.Do(ctx, env)
		if observe != nil {
			observe(step.Kind, err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", brief(step.Text), err)
		}
	}
	return nil
}

// Additions returns the plan without the steps that remove, in the same order. It
// is for a run that could not determine everything that is wanted: what seems to
// be superfluous may be needed, but what is known to be missing can be added.
// Steps that refuse stay. The plan itself is not changed.
func (p Plan[E]) Additions() Plan[E] {
	return slices.DeleteFunc(slices.Clone(p), func(step Step[E]) bool { return step.Removes })
}

// shown is how many bytes of a step are in an error. A step can have hundreds of
// rules or instances, and what went wrong comes after it.
const shown = 300

// brief is the beginning of a long text.
func brief(text string) string {
	if len(text) <= shown {
		return text
	}
	return strings.ToValidUTF8(text[:shown], "") + "…"
}
