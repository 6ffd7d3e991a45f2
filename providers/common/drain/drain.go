// Package drain ends the writes of a process to an API before another process takes
// over its work.
//
// What it promises: once Close has returned nil, no request that changes something is
// under way, and none is sent any more.
//
// When not to use it: for reads, which it neither waits for nor rejects, and for what
// has to be sent after Close, such as a logout.
package drain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// ErrClosed is the error of a request that would have changed something after Close.
var ErrClosed = apierr.Mark(apierr.ErrUnavailable, errors.New("not sent: the process is stopping"))

// Writes are the requests to an API that change something. The zero value is ready to
// use. It is safe for concurrent use.
type Writes struct {
	mu     sync.Mutex
	closed bool
	last   time.Time
	// underWay is added to only while mu is held and closed is false.
	underWay sync.WaitGroup
}

// Wrap returns a transport whose writes belong to w: those with another method than
// GET, HEAD and OPTIONS.
func (w *Writes) Wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{writes: w, next: next}
}

// Close rejects all further writes with [ErrClosed] and waits for those under way. If
// ctx ends first, Close returns why.
func (w *Writes) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.underWay.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the requests under way: %w", ctx.Err())
	}
}

// Begin must be called before a write is sent, and the function that it returns once
// the response has been received or the write has failed.
func (w *Writes) Begin() (end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, ErrClosed
	}
	w.underWay.Add(1)

	return w.end, nil
}

func (w *Writes) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	w.underWay.Done()
}

// Last returns when the last write ended. It is zero if there was none.
func (w *Writes) Last() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.last
}

type transport struct {
	writes *Writes
	next   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper]. A write ends with the header of its
// response: by then the server has decided about it.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, "":
		return t.next.RoundTrip(r)
	}
	end, err := t.writes.Begin()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err), closeBody(r))
	}
	defer end()

	return t.next.RoundTrip(r)
}

// closeBody closes the body of a request that is not sent, which every RoundTripper has
// to do.
func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}

	return r.Body.Close()
}

// WrappedRoundTripper implements the interface with which client-go finds the transport
// that others wrap.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// CloseIdleConnections implements the interface of [http.Client.CloseIdleConnections].
func (t *transport) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(t.next) }
