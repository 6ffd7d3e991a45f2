package plan_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// cloud is what steps of TestIsolatedSteps are applied with.
type cloud struct {
	ids plan.IDs
	ran []string
}

type step = plan.Step[*cloud]

// does returns a step that stores an ID under its text, unless it fails.
func does(text string, err error) step {
	return plan.NewStep(strings.Fields(text)[0], text, func(_ context.Context, c *cloud) error {
		c.ran = append(c.ran, text)
		if err == nil {
			c.ids.Set(text, "id")
		}

		return err
	})
}

// needs returns a step that needs the ID that another one stores.
func needs(text, other string) step {
	return plan.NewStep(strings.Fields(text)[0], text, func(_ context.Context, c *cloud) error {
		if _, err := c.ids.Get(other); err != nil {
			return err
		}
		c.ran = append(c.ran, text)

		return nil
	})
}

var errRefused = errors.New("refused")

func TestIsolatedSteps(t *testing.T) {
	t.Parallel()
	throttled := apierr.Mark(apierr.ErrThrottled, errors.New("slow down"))
	down := apierr.Mark(apierr.ErrUnavailable, errors.New("no response"))
	for name, test := range map[string]struct {
		reason string
		steps  plan.Plan[*cloud]
		ran    []string
		err    string
	}{
		"others run": {
			reason: "the failure concerns the step alone",
			steps:  plan.Plan[*cloud]{does("create a", errRefused).Isolate(), does("create b", nil)},
			ran:    []string{"create a", "create b"}, err: "create a: refused",
		},
		"removals do not run": {
			reason: "nothing is taken away while a replacement is missing",
			steps:  plan.Plan[*cloud]{does("create a", errRefused).Isolate(), does("delete b", nil).Removal(), does("create c", nil)},
			ran:    []string{"create a", "create c"}, err: "create a: refused",
		},
		"removals run without a failure": {
			reason: "all replacements are there",
			steps:  plan.Plan[*cloud]{does("create a", nil).Isolate(), does("delete b", nil).Removal()},
			ran:    []string{"create a", "delete b"},
		},
		"isolated removals run": {
			reason: "what it replaces is its own",
			steps:  plan.Plan[*cloud]{does("create a", errRefused).Isolate(), does("replace b", nil).Removal().Isolate()},
			ran:    []string{"create a", "replace b"}, err: "create a: refused",
		},
		"dependent steps do not run": {
			reason: "the first cause is the only one",
			steps: plan.Plan[*cloud]{
				does("create a", errRefused).Isolate(), needs("use a", "create a").Isolate(), needs("list a", "create a"), does("create b", nil),
			},
			ran: []string{"create a", "create b"}, err: "create a: refused",
		},
		"an ID that nothing stores": {
			reason: "the plan is in the wrong order",
			steps:  plan.Plan[*cloud]{needs("use a", "create a"), does("create a", nil)},
			err:    "use a: the ID of create a is not known yet",
		},
		"several": {
			reason: "a user can fix all of them at once",
			steps:  plan.Plan[*cloud]{does("create a", errRefused).Isolate(), does("create b", errRefused).Isolate(), does("create c", nil)},
			ran:    []string{"create a", "create b", "create c"}, err: "create a: refused\ncreate b: refused",
		},
		"not isolated": {
			reason: "it ends the run, and the failure before it counts",
			steps:  plan.Plan[*cloud]{does("create a", errRefused).Isolate(), does("create b", errRefused), does("create c", nil)},
			ran:    []string{"create a", "create b"}, err: "create a: refused\ncreate b: refused",
		},
		"in part": {
			reason: "the load balancer is there, one of its listeners is not",
			steps:  plan.Plan[*cloud]{does("create a", plan.Partial(errRefused)), does("delete b", nil).Removal(), does("create c", nil)},
			ran:    []string{"create a", "create c"}, err: "create a: refused",
		},
		"throttled": {
			reason: "the next step would be throttled, too",
			steps:  plan.Plan[*cloud]{does("create a", throttled).Isolate(), does("create b", nil)},
			ran:    []string{"create a"}, err: "create a: slow down",
		},
		"unavailable": {
			reason: "the next step would get no response either",
			steps:  plan.Plan[*cloud]{does("create a", down).Isolate(), does("create b", nil)},
			ran:    []string{"create a"}, err: "create a: no response",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cloud{}
			var observed []string
			err := test.steps.Apply(t.Context(), c, func(kind string, _ error) { observed = append(observed, kind) })
			if text := errorText(err); text != test.err {
				t.Errorf("%s: error is %q, want %q", test.reason, text, test.err)
			}
			if diff := cmp.Diff(test.ran, c.ran); diff != "" {
				t.Errorf("%s: -want +got:\n%s", test.reason, diff)
			}
			if len(test.ran) > 0 && len(observed) != len(test.ran) {
				t.Errorf("%s: %q ran, and %q were observed", test.reason, test.ran, observed)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}

func TestPartial(t *testing.T) {
	t.Parallel()
	if err := plan.Partial(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
	if err := plan.Partial(errRefused); !errors.Is(err, errRefused) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestCanceledRunEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := &cloud{}
	steps := plan.Plan[*cloud]{
		plan.NewStep("create", "create a", func(context.Context, *cloud) error {
			cancel()

			return context.Canceled
		}).Isolate(),
		does("create b", nil),
	}
	if err := steps.Apply(ctx, c, nil); !errors.Is(err, context.Canceled) || len(c.ran) > 0 {
		t.Errorf("error is %v, and %q ran after it", err, c.ran)
	}
}

// A dispensable step does not end the run, but keeps what removes from running.
func TestDispensableSteps(t *testing.T) {
	t.Parallel()
	var ran []string
	note := func(text string, err error) plan.Step[*[]string] {
		return plan.NewStep("Step", text, func(_ context.Context, ran *[]string) error {
			*ran = append(*ran, text)

			return err
		})
	}
	refused := errors.New("refused")
	err := plan.Plan[*[]string]{
		note("setting", refused).Dispensable(),
		note("addition", nil),
		note("removal", nil).Removal(),
		note("removal that nothing depends on", nil).Removal().Dispensable(),
		note("last addition", nil),
	}.Apply(t.Context(), &ran, nil)
	if diff := cmp.Diff([]string{"setting", "addition", "last addition"}, ran); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}
