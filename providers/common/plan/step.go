package plan

import "context"

// Step is one write. E is what it is applied with: clients, and the IDs that
// earlier steps have stored.
type Step[E any] struct {
	// Kind is the operation, such as "CreateListener", for metrics.
	Kind string
	// Text describes what the step does to what, with all settings that matter.
	Text string
	// Do runs the step. It is not an error if that was done before, as a whole
	// or in part: a step may run again after a crash.
	Do func(ctx context.Context, env E) error
	// Removes reports whether the step takes something away from what exists or
	// serves, or works only after a step that does.
	Removes bool
	// Additive is what a step that removes does instead of Do where nothing may be
	// removed. Without it such a step is left out.
	Additive     func(ctx context.Context, env E) error
	additiveText string
	// Isolated reports whether the step is independent of other steps: its failure
	// does not end the run, and it runs after another isolated step has failed,
	// even if it removes. An isolated step that removes must restore what it has
	// removed if it fails.
	Isolated bool
}

// NewStep returns a step that removes nothing.
func NewStep[E any](kind, text string, do func(ctx context.Context, env E) error) Step[E] {
	return Step[E]{Kind: kind, Text: text, Do: do}
}

// refusal is the kind of a step that only returns an error.
const refusal = "Refuse"

// Refuse returns a step that ends the run with an error, which it prints as well.
func Refuse[E any](err error) Step[E] {
	return NewStep(refusal, "refuse: "+err.Error(), func(context.Context, E) error { return err })
}

// Removal returns the step as one that removes.
func (s Step[E]) Removal() Step[E] {
	s.Removes = true

	return s
}

// OrRemove returns the step as one that removes, if need be: it runs do, and what it
// did so far where nothing may be removed.
func (s Step[E]) OrRemove(do func(ctx context.Context, env E) error) Step[E] {
	s.Additive, s.additiveText, s.Do = s.Do, s.Text, do

	return s.Removal()
}

// addition returns the part of the step that removes nothing, and reports whether
// there is any.
func (s Step[E]) addition() (Step[E], bool) {
	if s.Removes && s.Additive == nil {
		return s, false
	}
	if s.Removes {
		s.Do, s.Text, s.Additive, s.Removes = s.Additive, s.additiveText, nil, false
	}

	return s, true
}

// Isolate returns the step as one that is independent of other steps.
func (s Step[E]) Isolate() Step[E] {
	s.Isolated = true

	return s
}

// Dispensable returns the step as one that no other step depends on: its failure
// does not end the run. Unlike an isolated step, one that removes is itself skipped
// after a failure.
func (s Step[E]) Dispensable() Step[E] {
	do, additive := s.Do, s.Additive
	s.Do = func(ctx context.Context, env E) error { return Partial(do(ctx, env)) }
	if additive != nil {
		s.Additive = func(ctx context.Context, env E) error { return Partial(additive(ctx, env)) }
	}

	return s
}

// String returns the text of the step.
func (s Step[E]) String() string { return s.Text }
