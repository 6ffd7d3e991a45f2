package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Defer splits a plan whose steps are independent of those of another plan into what must be
// there before these and what is taken away after them. What fails before does not keep the
// other plan from removing anything, but for a service that throttles or is down: it is the
// error of the first step after it, so that nothing is taken away whose replacement is not
// there.
func Defer(p Plan) (before, after Plan) {
	d := &deferred{}
	for i, step := range p {
		if step.Removes && step.Additive == nil {
			after = p[i:]

			break
		}
		step.Do = d.wrap(step.Kind, step.Do)
		if step.Additive != nil {
			step.Additive = d.wrap(step.Kind, step.Additive)
		}
		before = append(before, step)
	}
	if len(before) == 0 {
		return nil, after
	}
	check := plan.NewCheck("check what was added before", func(context.Context, *Env) error {
		return plan.Partial(errors.Join(d.errs...))
	})

	return before, append(Plan{check}, after...)
}

// deferred has the errors of steps.
type deferred struct{ errs []error }

// wrap returns a step that stores its error, unless the next step would fail like it.
func (d *deferred) wrap(kind string, do func(context.Context, *Env) error) func(context.Context, *Env) error {
	return func(ctx context.Context, env *Env) error {
		err := do(ctx, env)
		switch {
		case err == nil || ctx.Err() != nil || errors.Is(err, apierr.ErrThrottled) || errors.Is(err, apierr.ErrUnavailable):
			return err
		case len(d.errs) == 0 || !plan.IsUnknown(err):
			d.errs = append(d.errs, fmt.Errorf("%s: %w", kind, err))
		}

		return plan.Postpone(err)
	}
}
