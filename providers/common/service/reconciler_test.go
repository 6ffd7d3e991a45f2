package service

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// TestRun shows FW-LB-9.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewReconciler[int](time.Minute)
		web, api := kubetest.Service("default", "web"), kubetest.Service("default", "api")
		ended := make(chan string)
		run := func(name string, svc *v1.Service, patience, takes time.Duration) {
			start := time.Now()
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				err := r.Run(ctx, svc, func(ctx context.Context, _ *int) error {
					select {
					case <-time.After(takes):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				ended <- fmt.Sprintf("%s after %s: %v", name, time.Since(start), err)
			}()
			time.Sleep(time.Second)
		}
		run("first", web, time.Hour, 40*time.Second)
		run("endless", web, time.Hour, time.Hour)
		run("impatient", web, 10*time.Second, time.Second)
		run("other Service", api, time.Hour, 2*time.Second)
		for _, want := range []string{
			"other Service after 2s: <nil>",
			"impatient after 10s: wait for the end of another call for default/web: context deadline exceeded",
			"first after 40s: <nil>",
			"endless after 1m0s: context deadline exceeded",
		} {
			if got := <-ended; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		failure := errors.New("failed")
		if err := r.Run(t.Context(), web, func(context.Context, *int) error { return failure }); !errors.Is(err, failure) {
			t.Errorf("the lock is free again, and the error is that of the operation: got %v", err)
		}
	})
}

// TestState: an operation has the state that the last one on the same Service has left, also after a
// failure. It is dropped with the load balancer, and a day after the last operation.
func TestState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewReconciler[int](time.Minute)
		web, api, other := kubetest.Service("default", "web"), kubetest.Service("default", "api"), kubetest.Service("default", "web")
		other.UID = "another"
		check := func(reason string, svc *v1.Service, want int) {
			t.Helper()
			err := r.Read(t.Context(), svc, func(_ context.Context, state *int) error {
				if *state != want {
					t.Errorf("%s: %d, want %d", reason, *state, want)
				}

				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		set := func(svc *v1.Service, state int, result error) {
			t.Helper()
			err := r.Run(t.Context(), svc, func(_ context.Context, s *int) error {
				*s = state

				return result
			})
			if !errors.Is(err, result) {
				t.Error(err)
			}
		}
		check("it is the zero value at first", web, 0)
		set(web, 1, nil)
		set(api, 2, errors.New("failed"))
		check("each Service has its own", web, 1)
		check("also after a failure", api, 2)
		check("another one has the same name", other, 0)
		r.Forget(web)
		check("it was dropped", web, 0)
		set(web, 3, nil)
		time.Sleep(stateAge - time.Hour)
		check("it is used", web, 3)
		time.Sleep(2 * time.Hour)
		check("a new one drops the old ones", kubetest.Service("default", "new"), 0)
		check("it was used", web, 3)
		check("it was not", api, 0)
	})
}

func TestApply(t *testing.T) {
	t.Parallel()
	var lines, calls []string
	logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 4})
	ctx := klog.NewContext(t.Context(), logger)
	op := Operation{Service: kubetest.Service("default", "web"), LoadBalancer: "a1"}
	observe := func(kind string, err error) { calls = append(calls, fmt.Sprint(kind, " ", err)) }
	failure := errors.New("refused")
	steps := plan.Plan[string]{
		plan.NewStep("Create", "create it", func(_ context.Context, env string) error {
			calls = append(calls, env)

			return nil
		}),
		plan.NewStep("Change", "change it", func(context.Context, string) error { return failure }),
	}
	if err := Apply(ctx, op, steps[:0], "env", observe); err != nil {
		t.Errorf("without steps: %v", err)
	}
	if err := Apply(ctx, op, steps, "env", observe); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"env", "Create <nil>", "Change refused"}, calls); diff != "" {
		t.Errorf("each step is applied and observed: %s", diff)
	}
	const service = `"service"={"name"="web" "namespace"="default"} "loadBalancer"="a1"`
	want := []string{
		`"level"=4 "msg"="Load balancer is up to date" ` + service,
		`"level"=2 "msg"="Changing load balancer" ` + service + ` "plan"="create it\nchange it\n"`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the plan is in the log: %s", diff)
	}
}
