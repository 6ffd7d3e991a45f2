package change

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// TestDefer (OS-LB-18): what the security group refuses keeps nothing else from being removed,
// but its own rules; what is down ends everything.
func TestDefer(t *testing.T) {
	t.Parallel()
	errRefused := apierr.Mark(apierr.ErrInvalid, errors.New("refused"))
	errDown := apierr.Mark(apierr.ErrUnavailable, errors.New("down"))
	cases := map[string]struct {
		reason string
		add    error // of the step that adds
		ran    []string
		counts []string
	}{
		"works":   {"the other plan comes between", nil, []string{"add", "other", "remove"}, []string{"add ok", "other ok", "remove ok"}},
		"refused": {"the other plan removes what it has to", errRefused, []string{"add", "other"}, []string{"add invalid", "other ok"}},
		"down":    {"nothing else is written", errDown, []string{"add"}, []string{"add unavailable"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			step := func(name string, err error) Step {
				return plan.NewStep(name, name, func(context.Context, *Env) error {
					ran = append(ran, name)

					return err
				})
			}
			before, after := Defer(Plan{step("add", tc.add).Isolate(), step("remove", nil).Removal()})
			steps := slices.Concat(before, Plan{step("other", nil).Removal()}, after)
			var counts []string
			count := func(kind string, err error) { counts = append(counts, kind+" "+apierr.Code(err)) }
			if err := steps.Apply(t.Context(), &Env{}, count); !errors.Is(err, tc.add) {
				t.Errorf("the error is %v, want %v", err, tc.add)
			}
			if !slices.Equal(ran, tc.ran) {
				t.Errorf("%s: ran %v, want %v", tc.reason, ran, tc.ran)
			}
			if !slices.Equal(counts, tc.counts) {
				t.Errorf("%s: the metric has %v, want %v", tc.reason, counts, tc.counts)
			}
		})
	}
}
