package explore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// cloud is a cloud with names that can be added once each.
type cloud struct {
	*sim.Cloud
	names []string
}

func (c *cloud) Resources() []string { return slices.Sorted(slices.Values(c.names)) }

// list makes a call that reads all names.
func (c *cloud) list(ctx context.Context) (names []string, err error) {
	err = c.Read(ctx, func() { names = slices.Clone(c.names) })

	return names, err
}

func (c *cloud) add(ctx context.Context, name string) error {
	return c.Write(ctx, func() error {
		if slices.Contains(c.names, name) {
			return sim.ErrExists
		}
		c.names = append(c.names, name)

		return nil
	})
}

func deleteAll(ctx context.Context, c *cloud) error {
	return c.Write(ctx, func() error {
		c.names = nil

		return nil
	})
}

// ensure adds three names unless they exist.
func ensure(ctx context.Context, c *cloud) error {
	names, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"a", "b", "c"} {
		if !slices.Contains(names, name) {
			if err := c.add(ctx, name); err != nil {
				return err
			}
		}
	}

	return nil
}

// explorer returns an explorer of an operation with its recoveries.
func explorer(operate func(ctx context.Context, c *cloud) error, next ...func(ctx context.Context, c *cloud) error) *explore.Explorer {
	return &explore.Explorer{Begin: func(t testing.TB, _ int) explore.Run {
		c := &cloud{Cloud: sim.New(t)}
		run := explore.Run{Cloud: c, Operate: func(ctx context.Context) error { return operate(ctx, c) }}
		for _, recover := range next {
			run.Next = append(run.Next, explore.Process{
				Operate: func(ctx context.Context) error { return recover(ctx, c) },
				Recover: func() {
					if err := recover(t.Context(), c); err != nil {
						t.Errorf("recover: %v", err)
					}
				},
			})
		}

		return run
	}}
}

// injectAll injects every fault at every call and after the last one.
func injectAll(t testing.TB, e *explore.Explorer) {
	t.Helper()
	for call := range e.Baseline(t).Calls {
		for _, i := range explore.Injections() {
			i.First = call + 1
			e.Inject(t, i)
		}
	}
}

// TestInject explores operations and recoveries that are right or wrong.
func TestInject(t *testing.T) {
	t.Parallel()

	errFails := errors.New("it fails")
	for name, tc := range map[string]struct {
		reason  string
		e       *explore.Explorer
		message string // empty if it is right
	}{
		"ensure": {"what exists is not added again", explorer(ensure, ensure), ""},
		"delete": {"any state is deleted", explorer(ensure, deleteAll), ""},
		"fails": {
			"an operation that never works", explorer(func(context.Context, *cloud) error { return errFails }, ensure),
			"without faults: the error is it fails",
		},
		"calls nothing": {"nothing can fail", explorer(func(context.Context, *cloud) error { return nil }, ensure), "makes no calls"},
		"ignores errors": {"a fault leaves it unfinished", explorer(func(ctx context.Context, c *cloud) error {
			_ = ensure(ctx, c)

			return nil
		}, ensure), "returned no error but is not done"},
		"adds again": {"a recovery that does not read", explorer(func(ctx context.Context, c *cloud) error { return c.add(ctx, "a") },
			func(ctx context.Context, c *cloud) error {
				if len(c.names) == 1 {
					return nil
				}

				return c.add(ctx, "b")
			}), "the next process did not recover"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, failed := harness.Record(t, func(t testing.TB) { injectAll(t, tc.e) })
			if failed != (tc.message != "") || !strings.Contains(log, tc.message) {
				t.Errorf("%s: failed is %t, want %q in:\n%s", tc.reason, failed, tc.message, log)
			}
		})
	}
}

// TestStrict demands that no fault is ignored, not even that of a call without
// effect.
func TestStrict(t *testing.T) {
	t.Parallel()

	lenient := func(ctx context.Context, c *cloud) error {
		_, _ = c.list(ctx)

		return ensure(ctx, c)
	}
	for name, tc := range map[string]struct {
		strict  bool
		operate func(ctx context.Context, c *cloud) error
		fails   bool
	}{
		"strict":          {true, ensure, false},
		"lenient":         {false, lenient, false},
		"strict, lenient": {true, lenient, false}, // all later calls fail, too
	} {
		e := explorer(tc.operate, ensure)
		e.Strict = tc.strict
		if log, failed := harness.Record(t, func(t testing.TB) { injectAll(t, e) }); failed != tc.fails {
			t.Errorf("%s: failed is %t:\n%s", name, failed, log)
		}
	}
	e := explorer(ensure, ensure)
	e.Strict = true
	e.Inject(t, explore.Injection{First: e.Baseline(t).Calls + 1, Fault: explore.Failed}) // never comes
	log, failed := harness.Record(t, func(t testing.TB) {
		e.Inject(t, explore.Injection{First: 9, Fault: explore.Failed, Once: true})
		e.Err = errors.New("an error that does not come")
		e.Inject(t, explore.Injection{First: 9, Fault: explore.Failed})
	})
	if !failed || !strings.Contains(log, "0 calls failed, of 4 without faults; the error is <nil>") {
		t.Errorf("an error that does not come: %s", log)
	}
}

// TestWrites recovers once from each state that runs end in.
func TestWrites(t *testing.T) {
	t.Parallel()

	recoveries := 0
	e := explorer(ensure, func(ctx context.Context, c *cloud) error {
		recoveries++

		return ensure(ctx, c)
	})
	e.Writes = func(call int) bool { return call > 1 }
	for call := range e.Baseline(t).Calls + 1 {
		for _, fault := range explore.Faults() {
			e.Inject(t, explore.Injection{First: call + 1, Fault: fault})
		}
	}
	// None, a, ab and abc; the baseline is one more recovery.
	if e.Outcomes() != 4 || recoveries != 5 {
		t.Errorf("%d outcomes, %d recoveries", e.Outcomes(), recoveries)
	}
}

// TestScope begins messages with the subject, and cleans up at the end of the scope
// even when the test ends there.
func TestScope(t *testing.T) {
	t.Parallel()

	var order []string
	log, failed := harness.Record(t, func(t testing.TB) {
		explore.InScope(t, "one", func(t testing.TB) {
			t.Cleanup(func() { order = append(order, "first") })
			t.Cleanup(func() { order = append(order, "last") })
			t.Error("wrong", 1)
			t.Errorf("wrong %d", 2)
		})
		order = append(order, "between")
		explore.InScope(t, "two", func(t testing.TB) {
			t.Cleanup(func() { order = append(order, "after all") })
			explore.InScope(t, "three", func(t testing.TB) { t.Fatalf("wrong %d", 3) })
			t.Error("this is not reached")
		})
	})
	if want := "one: wrong1\none: wrong 2\ntwo: three: wrong 3"; log != want || !failed {
		t.Errorf("log %q, want %q", log, want)
	}
	if got, want := strings.Join(order, ", "), "last, first, between, after all"; got != want {
		t.Errorf("order: %s, want %s", got, want)
	}
	log, _ = harness.Record(t, func(t testing.TB) { explore.InScope(t, "four", func(t testing.TB) { t.Fatal("wrong", 4) }) })
	if log != "four: wrong4" {
		t.Errorf("log %q", log)
	}
}
