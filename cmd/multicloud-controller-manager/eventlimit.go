package main

import (
	"net/http"
	"regexp"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// eventQPS is how many Events per second all clients of the process write. Nothing depends on
	// them, and other requests have no limit by default.
	eventQPS = 100
	// eventBurst is how many Events are written at once. With the 1,000 that a recorder keeps, the
	// Events of 5,000 Nodes that are initialized at once are all written.
	eventBurst = 1000
)

// limitEvents returns what delays writes of Events above the limit.
func limitEvents() transport.WrapperFunc {
	limiter := flowcontrol.NewTokenBucketRateLimiter(eventQPS, eventBurst)

	return func(next http.RoundTripper) http.RoundTripper { return &eventLimiter{next, limiter} }
}

type eventLimiter struct {
	next    http.RoundTripper
	limiter flowcontrol.RateLimiter
}

var _ utilnet.RoundTripperWrapper = (*eventLimiter)(nil)

// RoundTrip sends a request.
func (l *eventLimiter) RoundTrip(r *http.Request) (*http.Response, error) {
	if writesEvent(r) {
		if err := l.limiter.Wait(r.Context()); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // as a RoundTripper must
			}

			return nil, err
		}
	}

	return l.next.RoundTrip(r)
}

// WrappedRoundTripper returns what sends the requests.
func (l *eventLimiter) WrappedRoundTripper() http.RoundTripper { return l.next }

var eventPath = regexp.MustCompile(`/namespaces/[^/]+/events(/|$)`)

// writesEvent reports whether a request creates or changes an Event.
func writesEvent(r *http.Request) bool {
	return r.Method != http.MethodGet && eventPath.MatchString(r.URL.Path)
}
