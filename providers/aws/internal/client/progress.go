package client

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// progress ends an attempt whose response is interrupted. Only the time in
// which the attempt waits for the cloud counts, not the time in which a body is
// decoded.
type progress struct {
	timeout time.Duration
	timer   *time.Timer
	// header reports whether the header of the response was received.
	header atomic.Bool
}

// progressKey is the context key of the progress of an attempt.
type progressKey struct{}

// newProgress returns the context of an attempt. The context ends if no data is
// received for the timeout. The wait for the header of the response begins now.
func newProgress(ctx context.Context, timeout time.Duration) (context.Context, *progress) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &progress{timeout: timeout}
	p.timer = time.AfterFunc(timeout, func() {
		format := "no response within %s"
		if p.header.Load() {
			format = "the response stopped for %s"
		}
		cancel(&attemptTimeoutError{format, timeout})
	})

	return context.WithValue(ctx, progressKey{}, p), p
}

// begin starts a wait for data, and end ends it.
func (p *progress) begin() { p.timer.Reset(p.timeout) }
func (p *progress) end()   { p.timer.Stop() }

// progressMiddleware tracks the response of each attempt.
func progressMiddleware() middleware.DeserializeMiddleware {
	return middleware.DeserializeMiddlewareFunc("multicloud-ccm/progress", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		p, watched := ctx.Value(progressKey{}).(*progress)
		if !watched {
			return out, metadata, err
		}
		p.end()
		if response, ok := out.RawResponse.(*smithyhttp.Response); ok && response != nil && response.Body != nil {
			p.header.Store(true)
			response.Body = &watchedBody{response.Body, p}
		}

		return out, metadata, err
	})
}

// watchedBody is the body of a response whose reads are bounded.
type watchedBody struct {
	io.ReadCloser

	progress *progress
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.progress.begin()
	defer b.progress.end()

	return b.ReadCloser.Read(p)
}
