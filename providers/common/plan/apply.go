package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Apply runs the steps in order. It returns the errors of all steps that failed.
//
//	step fails                      the following steps
//	not isolated                    do not run
//	isolated, or in part            run, unless they only remove
//	isolated, the cloud throttles   do not run
//	isolated, the cloud is down     do not run
//
// What removes does not run after a failure because nothing that works may be
// taken away before its replacement is there. Steps that need the ID of what was
// not created are left out, without an error of their own.
//
// Observe is called after every step that ran, with its error, and may be nil.
func (p Plan[E]) Apply(ctx context.Context, env E, observe func(kind string, err error)) error {
	var failures []error
	for _, step := range p {
		if len(failures) > 0 && !step.Isolated {
			addition, ok := step.addition()
			if !ok {
				continue
			}
			step = addition
		}
		err := step.Do(ctx, env)
		if len(failures) > 0 && IsUnknown(err) {
			continue
		}
		if observe != nil {
			observe(step.Kind, err)
		}
		if err == nil {
			continue
		}
		if step.Kind != refusal { // whose text is its error
			err = fmt.Errorf("%s: %w", brief(step.Text), err)
		}
		failures = append(failures, err)
		if !step.Isolated && !apierr.Has[*partialError](err) || ctx.Err() != nil || concernsAll(err) {
			break
		}
	}

	return errors.Join(failures...)
}

// concernsAll reports whether an error is not about its step: the next one would
// fail like it.
func concernsAll(err error) bool {
	return errors.Is(err, apierr.ErrThrottled) || errors.Is(err, apierr.ErrUnavailable)
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

// Partial marks the error of a step that did what others depend on, but not all of
// its work: it does not end the run. A nil error stays nil.
func Partial(err error) error {
	if err == nil {
		return nil
	}

	return &partialError{err}
}

type partialError struct{ error }

func (e *partialError) Unwrap() error { return e.error }
