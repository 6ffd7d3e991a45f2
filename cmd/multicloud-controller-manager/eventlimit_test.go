package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// roundTripper responds to a request.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FW-API-1: Events have a limit, which delays no other request.
func TestLimitEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := limitEvents()(roundTripper(func(*http.Request) (*http.Response, error) { return httptest.NewRecorder().Result(), nil }))
		send := func(method, path string) time.Duration {
			began := time.Now()
			res, err := limited.RoundTrip(httptest.NewRequestWithContext(t.Context(), method, path, nil))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()

			return time.Since(began)
		}
		for range eventBurst {
			if waited := send(http.MethodPost, "/api/v1/namespaces/default/events"); waited > 0 {
				t.Fatalf("an Event of the burst waited for %s", waited)
			}
		}
		for path, method := range map[string]string{
			"/api/v1/namespaces/default/events": http.MethodGet, "/api/v1/nodes/events": http.MethodPatch, "/api/v1/namespaces/events": http.MethodPut,
			"/api/v1/namespaces/a/services/events": http.MethodPatch,
		} {
			if waited := send(method, path); waited > 0 {
				t.Errorf("%s %s waited for %s", method, path, waited)
			}
		}
		for path, method := range map[string]string{
			"/api/v1/namespaces/default/events/a": http.MethodPatch, "/apis/events.k8s.io/v1/namespaces/default/events": http.MethodPost,
		} {
			if waited := send(method, path); waited != time.Second/eventQPS {
				t.Errorf("%s %s waited for %s", method, path, waited)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if res, err := limited.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/v1/namespaces/default/events", nil)); err == nil {
			_ = res.Body.Close()
			t.Error("an Event was sent although its context ends before")
		}
	})
}
