package service

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// retryAfter returns the time of a RetryError, 0 of another one and -1 of none.
func retryAfter(err error) time.Duration {
	if err == nil {
		return -1
	}
	if retry, ok := errors.AsType[*api.RetryError](err); ok {
		return retry.RetryAfter()
	}

	return 0
}

// The time between retries grows as long as the same is missing.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	const none, soon = -1, 30 * time.Second
	a, b, c := Gap{Key: "a", Text: "no a"}, Gap{Key: "b", Text: "no b"}, Gap{Key: "c", Text: "no c"}
	d := Gap{Key: "d", Text: "no d", Soon: true}
	cause := errors.New("refused")
	synctest.Test(t, func(t *testing.T) {
		r := NewReconciler[int](time.Minute)
		ensure := Operation{Service: kubetest.Service("default", "web"), LoadBalancer: "a1", Ensures: true}
		update := Operation{Service: ensure.Service, LoadBalancer: "a1"}
		for _, step := range []struct {
			reason string
			op     Operation
			gaps   []Gap
			cause  error
			want   time.Duration
		}{
			{"nothing is missing", update, nil, nil, none},
			{"an update that finds a gap first makes the service controller ensure", update, []Gap{a}, nil, soon},
			{"at first soon", ensure, []Gap{a}, nil, soon},
			{"30 seconds later", ensure, []Gap{a}, nil, soon},
			{"60 seconds later", ensure, []Gap{a}, nil, time.Minute},
			{"2 minutes later", ensure, []Gap{a}, nil, 2 * time.Minute},
			{"4 minutes later", ensure, []Gap{a}, cause, 4 * time.Minute},
			{"8 minutes later", ensure, []Gap{a}, nil, 5 * time.Minute},
			{"late at last", ensure, []Gap{a}, nil, 5 * time.Minute},
			{"something else is missing", ensure, []Gap{a, b}, nil, soon},
			{"the next sync ends one of them", ensure, []Gap{a, b, d}, nil, 5 * time.Second},
			{"it is ensured again anyway", update, []Gap{b}, nil, none},
			{"it is ensured again anyway", update, []Gap{b, a}, nil, none},
			{"the plan of the update failed", update, []Gap{b}, cause, soon},
			{"another gap", update, []Gap{a, c}, nil, soon},
			{"an update does not end retries", update, nil, nil, none},
			{"it is ensured again anyway", update, []Gap{a}, nil, none},
			{"complete", ensure, nil, nil, none},
			{"it was forgotten", update, []Gap{a}, nil, soon},
			{"an error that leaves no gap", ensure, nil, cause, 0},
		} {
			err := r.Incomplete(step.op, step.gaps, step.cause)
			if got := retryAfter(err); got != step.want {
				t.Errorf("%s: got %v, want %v", step.reason, got, step.want)
			}
			if step.cause != nil && !errors.Is(err, step.cause) {
				t.Errorf("%s: %v does not wrap the cause", step.reason, err)
			}
			if step.op.Ensures {
				time.Sleep(max(retryAfter(err), 0))
			}
		}
		err := r.Incomplete(ensure, []Gap{a, c}, nil)
		const want = "load balancer a1 is not complete and is synced again later: no a; no c"
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("text: %s", diff)
		}
		if r.Forget(ensure.Service); r.retries.covers(ensure.Service.UID, nil) {
			t.Error("a load balancer that no longer exists is forgotten")
		}
	})
}
