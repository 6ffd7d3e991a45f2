package drain_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/drain"
)

// slow responds after a minute, and counts.
type slow struct{ started, ended atomic.Int32 }

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.started.Add(1)
	time.Sleep(time.Minute)
	s.ended.Add(1)

	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

func TestClose(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		method string
		waits  time.Duration // of Close for a request that started 20 s before
		after  error         // of a request after Close
		writes bool
	}{
		"POST":    {"it changes something", http.MethodPost, 40 * time.Second, drain.ErrClosed, true},
		"PATCH":   {"it changes something", http.MethodPatch, 40 * time.Second, drain.ErrClosed, true},
		"DELETE":  {"it changes something", http.MethodDelete, 40 * time.Second, drain.ErrClosed, true},
		"GET":     {"it only reads", http.MethodGet, 0, nil, false},
		"default": {"a request without a method is a GET", "", 0, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var writes drain.Writes
				server := &slow{}
				rt := writes.Wrap(server)
				send := func() error { return roundTrip(t.Context(), rt, tc.method) }
				go func() {
					if err := send(); err != nil {
						t.Error(err)
					}
				}()
				time.Sleep(20 * time.Second)
				start := time.Now()
				if err := writes.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if waited := time.Since(start); waited != tc.waits {
					t.Errorf("%s: Close waited %s, want %s", tc.reason, waited, tc.waits)
				}
				if err := send(); !errors.Is(err, tc.after) {
					t.Errorf("%s: a request after Close returned %v, want %v", tc.reason, err, tc.after)
				}
				if tc.writes && !writes.Last().Equal(start.Add(tc.waits)) || !tc.writes && !writes.Last().IsZero() {
					t.Errorf("%s: the last write ended at %s", tc.reason, writes.Last())
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if server.started.Load() != server.ended.Load() {
					t.Errorf("%d requests started, %d ended", server.started.Load(), server.ended.Load())
				}
			})
		})
	}
}

func roundTrip(ctx context.Context, rt http.RoundTripper, method string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/things", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	r.Method = method
	res, err := rt.RoundTrip(r)
	if err == nil {
		err = res.Body.Close()
	}

	return err
}

// A request that takes longer than Close may wait is an error, not a drained transport.
func TestCloseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var writes drain.Writes
		rt := writes.Wrap(&slow{})
		go func() {
			if err := roundTrip(t.Context(), rt, http.MethodPut); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := writes.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a write is under way and Close returned %v", err)
		}
		err := roundTrip(t.Context(), rt, http.MethodPut)
		if !errors.Is(err, drain.ErrClosed) || !errors.Is(err, apierr.ErrUnavailable) || !strings.Contains(err.Error(), "PUT /things") {
			t.Errorf("want ErrClosed for PUT /things, got %v", err)
		}
		if err := writes.Close(t.Context()); err != nil {
			t.Errorf("the second Close returned %v", err)
		}
	})
}
