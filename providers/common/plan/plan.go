// Package plan turns the difference between the desired and the observed state into
// an ordered list of writes.
//
// What it promises: making a plan changes nothing and needs no cloud; a plan
// prints as text, one line for each step, the same for the same input; steps run
// in order and the first that fails ends the run, unless it is isolated from the
// others; each error has the text of its step, cut if it is long.
//
// When not to use it: for a single write whose outcome decides what comes next, or
// for reads.
package plan

import (
	"slices"
	"strings"
)

// Plan is a list of steps in the order in which they run.
type Plan[E any] []Step[E]

// Removals returns the steps that remove, in the same order.
func (p Plan[E]) Removals() Plan[E] {
	return slices.DeleteFunc(slices.Clone(p), func(step Step[E]) bool { return !step.Removes })
}

// String lists the steps, one in a line. An empty plan is an empty text.
func (p Plan[E]) String() string {
	var text strings.Builder
	for _, step := range p {
		text.WriteString(step.Text)
		text.WriteByte('\n')
	}

	return text.String()
}

// Additions returns the plan without the steps that remove, but for what they can
// do without that, in the same order. It is for a run that could not determine the
// whole desired state: what seems to be superfluous may be needed, but what is known
// to be missing can be added.
// Steps that refuse stay. The plan itself is not changed.
func (p Plan[E]) Additions() Plan[E] {
	var steps Plan[E]
	for _, step := range p {
		if addition, ok := step.addition(); ok {
			steps = append(steps, addition)
		}
	}

	return steps
}
