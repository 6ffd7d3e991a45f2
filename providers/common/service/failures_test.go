package service

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// FW-METRIC-4: a failure counts from the first operation that failed until one succeeds, the load
// balancer no longer exists, or nothing is tried any more.
func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewReconciler[int](time.Minute)
		web, api := kubetest.Service("default", "web"), kubetest.Service("default", "api")
		failure := errors.New("no subnet")
		run := func(svc string, err error) func() {
			target := map[string]func() error{
				"web": func() error { return r.Run(t.Context(), web, func(context.Context, *int) error { return err }) },
				"api": func() error { return r.Run(t.Context(), api, func(context.Context, *int) error { return err }) },
			}[svc]

			return func() {
				if got := target(); !errors.Is(got, err) {
					t.Errorf("the error is %v, want %v", got, err)
				}
			}
		}
		for _, step := range []struct {
			reason string
			do     func()
			after  time.Duration
			want   []time.Duration
		}{
			{"nothing was tried", func() {}, time.Minute, nil},
			{"the first failure", run("web", failure), time.Minute, []time.Duration{time.Minute}},
			{"the time of the first counts", run("web", failure), time.Minute, []time.Duration{2 * time.Minute}},
			{"another Service that succeeds", run("api", nil), 0, []time.Duration{2 * time.Minute}},
			{"a canceled operation shows nothing", run("api", fmt.Errorf("create: %w", context.Canceled)), 0, []time.Duration{2 * time.Minute}},
			{"a success", run("web", nil), 0, nil},
			{"it fails again", run("web", failure), time.Minute, []time.Duration{time.Minute}},
			{"the load balancer is gone", func() { r.Forget(web) }, 0, nil},
			{"nothing is tried any more", run("api", failure), failureTTL, []time.Duration{failureTTL}},
			{"nothing is tried any more", func() {}, time.Second, nil},
		} {
			step.do()
			time.Sleep(step.after)
			var ages []time.Duration
			for _, since := range r.failing.since(time.Now()) {
				ages = append(ages, time.Since(since))
			}
			if diff := cmp.Diff(step.want, ages); diff != "" {
				t.Fatalf("%s: ages (-want +got):\n%s", step.reason, diff)
			}
		}
	})
}
