package simserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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
