package simserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// call sends one call through the interceptor and returns the status, or 0 when
// the connection was cut.
func (g *Interceptor) call(ctx context.Context, op string, apply http.HandlerFunc) (status int) {
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler { //nolint:errorlint // a panic's value
				panic(v)
			}
			status = 0
		}
	}()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	g.Serve(w, r, Call{Op: op, Group: "group of " + op, Poll: op == "Wait"}, apply)

	return w.Code
}

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func TestInterceptorPicksCalls(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		op     string
		when   When
		want   []int // statuses of Login, List, Login, List, Login
		hits   int
	}{
		"Always":  {"every call of the operation", "Login", Always(), []int{503, 200, 503, 200, 503}, 3},
		"Nth":     {"the second alone", "Login", Nth(2), []int{200, 200, 503, 200, 200}, 1},
		"First":   {"the first two", "Login", First(2), []int{503, 200, 503, 200, 200}, 2},
		"From":    {"the second and later ones", "Login", From(2), []int{200, 200, 503, 200, 503}, 2},
		"Any":     {"all operations are counted together", Any, Nth(2), []int{200, 503, 200, 200, 200}, 1},
		"Group":   {"a group is as good as a name", "group of List", Nth(2), []int{200, 200, 200, 503, 200}, 1},
		"Nothing": {"other operations pass", "Logout", Always(), []int{200, 200, 200, 200, 200}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var interceptor Interceptor
			rule := interceptor.Inject(tc.op, tc.when, Status(503))
			var got []int
			for _, op := range []string{"Login", "List", "Login", "List", "Login"} {
				got = append(got, interceptor.call(t.Context(), op, ok))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: statuses (-want +got):\n%s", tc.reason, diff)
			}
			if rule.Hits() != tc.hits {
				t.Errorf("%s: %d hits, want %d", tc.reason, rule.Hits(), tc.hits)
			}
		})
	}
}

func TestInterceptorRulesEnd(t *testing.T) {
	t.Parallel()
	var interceptor Interceptor
	first := interceptor.Inject("Login", Always(), Status(500))
	interceptor.Inject("Login", Always(), Status(503))
	var got []int
	got = append(got, interceptor.call(t.Context(), "Login", ok))
	first.Remove()
	first.Remove()
	got = append(got, interceptor.call(t.Context(), "Login", ok))
	interceptor.Clear()
	got = append(got, interceptor.call(t.Context(), "Login", ok))
	if diff := cmp.Diff([]int{500, 503, 200}, got); diff != "" {
		t.Errorf("the oldest rule has the call (-want +got):\n%s", diff)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		fault   Fault
		status  int
		applied bool
	}{
		"Status":       {"response sent, nothing applied", Status(429), 429, false},
		"Drop":         {"cut, nothing done", Drop(), 0, false},
		"DropResponse": {"applied, and the response lost", DropResponse(), 0, true},
		"Slow":         {"applied, response sent", Slow(time.Nanosecond), 200, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var interceptor Interceptor
			interceptor.Inject(Any, Always(), tc.fault)
			applied := false
			status := interceptor.call(t.Context(), "Login", func(http.ResponseWriter, *http.Request) { applied = true })
			if status != tc.status || applied != tc.applied {
				t.Errorf("%s: status %d, applied %t", tc.reason, status, applied)
			}
		})
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"Before": true, "After": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var interceptor Interceptor
				hold := NewHold()
				fault := hold.After
				if before {
					fault = hold.Before
				}
				interceptor.Inject("Login", Always(), fault)
				var applied atomic.Bool
				apply := func(w http.ResponseWriter, _ *http.Request) {
					applied.Store(true)
					w.Header().Set("Kept", "yes")
					w.WriteHeader(http.StatusTeapot)
				}
				status := make(chan int)
				go func() { status <- interceptor.call(t.Context(), "Login", apply) }()
				gone, cancel := context.WithCancel(t.Context())
				left := make(chan int)
				go func() { left <- interceptor.call(gone, "Login", ok) }()
				synctest.Wait()
				if applied.Load() == before {
					t.Errorf("applied is %t while held", applied.Load())
				}
				cancel()
				if got := <-left; got != 0 {
					t.Errorf("a client that gave up got %d", got)
				}
				hold.Release()
				hold.Release()
				if got := <-status; got != http.StatusTeapot || !applied.Load() {
					t.Errorf("after the release: %d, applied %t", got, applied.Load())
				}
				if got := interceptor.call(t.Context(), "Login", ok); got != 200 {
					t.Errorf("later calls are held: %d", got)
				}
			})
		})
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var interceptor Interceptor
		interceptor.SetLatency(30 * time.Millisecond)
		start := time.Now()
		if status := interceptor.call(t.Context(), "Login", ok); status != 200 {
			t.Errorf("status %d", status)
		}
		if passed := time.Since(start); passed != 30*time.Millisecond {
			t.Errorf("a call took %s of the bubble's time, want 30ms", passed)
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if status := interceptor.call(gone, "Login", ok); status != 0 {
			t.Errorf("a client that gave up got %d", status)
		}
	})
}

func TestLog(t *testing.T) {
	t.Parallel()
	var interceptor Interceptor
	interceptor.Inject("List", Always(), Drop())
	for _, op := range []string{"Login", "Wait", "List", "List"} {
		interceptor.call(t.Context(), op, ok)
	}
	if diff := cmp.Diff(map[string]int{"Login": 1, "Wait": 1, "List": 2}, interceptor.Calls()); diff != "" {
		t.Errorf("calls, broken ones included (-want +got):\n%s", diff)
	}
	if interceptor.Total() != 3 || interceptor.Polls() != 1 || interceptor.Count("List") != 2 || interceptor.Count("None") != 0 {
		t.Errorf("total %d, polls %d, List %d", interceptor.Total(), interceptor.Polls(), interceptor.Count("List"))
	}
	want := []Call{{Op: "Login"}, {Op: "Wait", Poll: true}, {Op: "List"}, {Op: "List"}}
	if diff := cmp.Diff(want, interceptor.History(), cmpopts.IgnoreFields(Call{}, "Group")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	interceptor.Reset()
	if interceptor.Total() != 0 || interceptor.Polls() != 0 || len(interceptor.Calls()) != 0 || len(interceptor.History()) != 0 {
		t.Error("Reset left calls behind")
	}
}

func TestLogHistoryIsBounded(t *testing.T) {
	t.Parallel()
	var log Log
	for range historyLimit + 1 {
		log.add(Call{Op: "Login"})
	}
	if n := len(log.History()); n > historyLimit || n < historyLimit/2 || log.Total() != historyLimit+1 {
		t.Errorf("%d calls kept of %d counted", n, log.Total())
	}
}

func TestLogWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log Log
		done := make(chan error)
		go func() { done <- log.WaitFor(t.Context(), "Login", 2) }()
		log.add(Call{Op: "Login"})
		log.add(Call{Op: "List"})
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("returned after one call: %v", err)
		default:
		}
		log.add(Call{Op: "Login"})
		if err := <-done; err != nil {
			t.Error(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := log.WaitFor(short, "Login", 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait in vain: %v", err)
		}
	})
}

func TestBefore(t *testing.T) {
	t.Parallel()
	var interceptor Interceptor
	var order []string
	interceptor.Inject("Login", Nth(1), Before(func() { order = append(order, "before") }))
	for range 2 {
		status := interceptor.call(t.Context(), "Login", func(w http.ResponseWriter, _ *http.Request) {
			order = append(order, "applied")
			w.WriteHeader(http.StatusOK)
		})
		if status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
	if diff := cmp.Diff([]string{"before", "applied", "applied"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
