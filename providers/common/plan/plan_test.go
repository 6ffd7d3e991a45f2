package plan_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// note returns a step that notes that it ran, and returns the error.
func note(text string, err error) plan.Step[*[]string] {
	return plan.NewStep(strings.Fields(text)[0], text, func(_ context.Context, ran *[]string) error {
		*ran = append(*ran, text)

		return err
	})
}

func TestPlanString(t *testing.T) {
	t.Parallel()
	if got := (plan.Plan[*[]string]{}).String(); got != "" {
		t.Errorf("an empty plan prints %q", got)
	}
	got := plan.Plan[*[]string]{note("CreateGroup a", nil), note("DeleteGroup b", nil)}.String()
	if want := "CreateGroup a\nDeleteGroup b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlanApply(t *testing.T) {
	t.Parallel()
	broken := errors.New("in use")
	steps := plan.Plan[*[]string]{
		note("CreateGroup a", nil), note("DeleteGroup b", broken), note("CreateGroup c", nil),
	}
	var ran, seen []string
	err := steps.Apply(t.Context(), &ran, func(kind string, err error) {
		if err != nil {
			kind += ": " + err.Error()
		}
		seen = append(seen, kind)
	})
	if !errors.Is(err, broken) || err.Error() != "DeleteGroup b: in use" {
		t.Errorf("the error must name the step: %v", err)
	}
	if diff := cmp.Diff([]string{"CreateGroup a", "DeleteGroup b"}, ran); diff != "" {
		t.Errorf("steps run in order until one fails: %s", diff)
	}
	if diff := cmp.Diff([]string{"CreateGroup", "DeleteGroup: in use"}, seen); diff != "" {
		t.Errorf("every step that ran is told: %s", diff)
	}

	ran = nil
	if err := slices.Delete(steps, 1, 2).Apply(t.Context(), &ran, nil); err != nil || len(ran) != 2 {
		t.Errorf("ran %q: %v", ran, err)
	}
}

// The cause is read by users in an Event, after what the step was.
func TestPlanApplyLongStep(t *testing.T) {
	t.Parallel()
	broken := errors.New("in use")
	step := note("RegisterInstances "+strings.Repeat("ä", 1000), broken)
	err := plan.Plan[*[]string]{step}.Apply(t.Context(), new([]string), nil)
	if !errors.Is(err, broken) || !utf8.ValidString(err.Error()) || len(err.Error()) > 320 ||
		!strings.HasPrefix(err.Error(), "RegisterInstances ä") || !strings.HasSuffix(err.Error(), "ä…: in use") {
		t.Errorf("the error must be short and say why: %v", err)
	}
}

func TestAdditions(t *testing.T) {
	t.Parallel()
	refused := errors.New("not ours")
	steps := plan.Plan[*[]string]{
		note("DeleteListener 80", nil).Removal(), note("CreateListener 443", nil),
		note("CreateListener 80", nil).Removal(), plan.Refuse[*[]string](refused), note("CreateGroup a", nil),
	}
	before := steps.String()
	if diff := cmp.Diff("CreateListener 443\nrefuse: not ours\nCreateGroup a\n", steps.Additions().String()); diff != "" {
		t.Errorf("what removes goes, the rest stays in order: %s", diff)
	}
	if diff := cmp.Diff(before, steps.String()); diff != "" {
		t.Errorf("the plan itself was changed: %s", diff)
	}
	if got := plan.Plan[*[]string](nil).Additions(); len(got) != 0 {
		t.Errorf("an empty plan has additions: %s", got)
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	refused := errors.New("not ours")
	var ran []string
	err := plan.Plan[*[]string]{plan.Refuse[*[]string](refused), note("CreateGroup a", nil)}.Apply(t.Context(), &ran, nil)
	if !errors.Is(err, refused) || err.Error() != "not ours" || len(ran) > 0 {
		t.Errorf("it ends the run before %q: %v", ran, err)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	var ids plan.IDs
	if _, err := ids.Get("group a"); err == nil || !strings.Contains(err.Error(), "group a") {
		t.Errorf("an ID that is not known is an error which names the thing: %v", err)
	}
	ids.Set("group a", "sg-1")
	ids.Set("group a", "sg-2")
	for name, test := range map[string]struct {
		reason     string
		ref        plan.Ref
		id, prints string
		fails      bool
	}{
		"by ID":   {reason: "the ID is known from the start", ref: plan.Ref{ID: "sg-9", Key: "group a"}, id: "sg-9", prints: "sg-9"},
		"by key":  {reason: "the last that was stored counts", ref: plan.Ref{Key: "group a"}, id: "sg-2", prints: "<group a>"},
		"unknown": {reason: "no step has made it", ref: plan.Ref{Key: "group b"}, prints: "<group b>", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, err := ids.Resolve(test.ref)
			if id != test.id || (err != nil) != test.fails {
				t.Errorf("%s: got %q, %v", test.reason, id, err)
			}
			if got := test.ref.String(); got != test.prints {
				t.Errorf("%s: it prints %q", test.reason, got)
			}
		})
	}
}

func TestIDsConcurrently(t *testing.T) {
	t.Parallel()
	var ids plan.IDs
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ids.Set("group a", "sg-1")
			if id, err := ids.Get("group a"); err != nil || id != "sg-1" {
				t.Errorf("got %q, %v", id, err)
			}
		})
	}
	wg.Wait()
}

// A step that removes only if need be does the rest where nothing may be removed.
func TestStepThatMayRemove(t *testing.T) {
	t.Parallel()
	fails := note("refuse", errRefused)
	may := func() plan.Step[*[]string] {
		return note("set in place", nil).OrRemove(note("replace", nil).Do)
	}
	for name, c := range map[string]struct {
		reason string
		steps  plan.Plan[*[]string]
		want   []string
	}{
		"all":             {reason: "it may remove", steps: plan.Plan[*[]string]{may()}, want: []string{"replace"}},
		"additions":       {reason: "it may not", steps: plan.Plan[*[]string]{may()}.Additions(), want: []string{"set in place"}},
		"after a failure": {reason: "it may not", steps: plan.Plan[*[]string]{fails.Isolate(), may()}, want: []string{"refuse", "set in place"}},
		"isolated":        {reason: "it does not depend on others", steps: plan.Plan[*[]string]{fails.Isolate(), may().Isolate()}, want: []string{"refuse", "replace"}},
		"dispensable":     {reason: "it may not", steps: plan.Plan[*[]string]{may().Dispensable()}.Additions(), want: []string{"set in place"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			if err := c.steps.Apply(t.Context(), &ran, nil); err != nil && !errors.Is(err, errRefused) {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, ran); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if got := c.steps.Additions().Removals(); len(got) > 0 {
				t.Errorf("additions that remove: %v", got)
			}
		})
	}
}
