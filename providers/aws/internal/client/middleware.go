package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/drain"
)

// middleware returns the middleware of all calls of a service: one around the
// whole call and, with limiters, one around each of its attempts.
func (b *Base) middleware(service Service, limits *limiters, marks bool) []func(*middleware.Stack) error {
	around := []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		call := &callMiddleware{
			service: service, operation: s.ID(), metrics: b.options.Metrics, marks: marks, limits: limits, tuning: b.options.Tuning,
		}

		return s.Initialize.Add(call, middleware.Before)
	}}
	if limits != nil {
		around = append(around, func(s *middleware.Stack) error {
			each := &attempt{
				service: service, operation: s.ID(), metrics: b.options.Metrics,
			}
			if err := s.Deserialize.Add(pageMiddleware(), middleware.After); err != nil {
				return err
			}

			return s.Finalize.Insert(each, (*retry.Attempt)(nil).ID(), middleware.After)
		})
	}

	return append(around, b.options.Middleware...)
}

// callMiddleware counts a call with all its attempts and classifies its error.
type callMiddleware struct {
	service   Service
	operation string
	metrics   *Metrics
	// marks reports whether the caller receives the classified error.
	marks bool
	// limits has the limiter of the call; nil where calls are not limited.
	limits *limiters
	tuning Tuning
}

// ID implements middleware.InitializeMiddleware.
func (*callMiddleware) ID() string { return "multicloud-ccm/call" }

// HandleInitialize implements middleware.InitializeMiddleware.
func (c *callMiddleware) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	end := c.metrics.call(c.service, c.operation, c.limits != nil)
	if c.limits != nil {
		ctx = newPacing(ctx, c.limits.of(c.operation, in.Parameters), c.tuning).into(ctx)
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	marked := classify(c.service, err)
	end(marked)
	if c.marks {
		err = marked
	}

	return out, metadata, err
}

// attempt makes each attempt of a call wait for the rate limiter of its class, and
// bounds it.
type attempt struct {
	service   Service
	operation string
	metrics   *Metrics
}

// ID implements middleware.FinalizeMiddleware.
func (*attempt) ID() string { return "multicloud-ccm/attempt" }

// HandleFinalize implements middleware.FinalizeMiddleware.
func (a *attempt) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	p := pacingOf(ctx)
	began := p.now()
	err = p.wait(ctx)
	sent := p.now()
	a.metrics.waited(a.service, a.operation, sent.Sub(began))
	if err != nil {
		return out, metadata, err
	}
	out, metadata, err = send(ctx, p.tuning.timeout(a.service, a.operation, p.failures), in, next)
	if throttled(err) {
		a.metrics.throttled(a.service, a.operation)
		klog.FromContext(ctx).V(4).Info("AWS throttled a call", "service", a.service, "operation", a.operation, "code", Code(err))
	}

	return out, metadata, p.after(sent, err)
}

// send makes one attempt.
func send(ctx context.Context, timeout time.Duration, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, attemptTimeoutError(timeout))
	defer cancel()
	out, metadata, err := next.HandleFinalize(limited, in)
	if late, ok := errors.AsType[attemptTimeoutError](context.Cause(limited)); ok && err != nil && ctx.Err() == nil {
		err = late
	}

	return out, metadata, err
}

// drainable returns the middleware around each attempt of the calls that change something:
// all but those with the names that AWS gives to reads.
func drainable(writes *drain.Writes) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		if strings.HasPrefix(s.ID(), "Describe") {
			return nil
		}

		return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("multicloud-ccm/drained", func(
			ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
		) (middleware.FinalizeOutput, middleware.Metadata, error) {
			end, err := writes.Begin()
			if err != nil {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, err
			}
			defer end()

			return next.HandleFinalize(ctx, in)
		}), (*attempt)(nil).ID(), middleware.After)
	}
}

// attemptTimeoutError means that an attempt took longer than this. The SDK would
// take the error of an ended context for a cancellation by the caller, and not
// retry.
type attemptTimeoutError time.Duration

func (e attemptTimeoutError) Error() string {
	return fmt.Sprintf("no complete response within %s", time.Duration(e))
}

// RetryableError makes the retryer of the SDK retry.
func (attemptTimeoutError) RetryableError() bool { return true }

// Unwrap makes it a timeout for other packages.
func (attemptTimeoutError) Unwrap() error { return context.DeadlineExceeded }
