package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/klog/v2"
)

// middleware is what every call of a service goes through: once for the call as
// a whole, and, with limiters, before and after each of its attempts.
func (b *Base) middleware(service Service, limits *limiters, marks bool) []func(*middleware.Stack) error {
	around := []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		whole := &wholeCall{
			service: service, operation: s.ID(), metrics: b.options.Metrics, marks: marks, limits: limits, tuning: b.options.Tuning,
		}

		return s.Initialize.Add(whole, middleware.Before)
	}}
	if limits != nil {
		around = append(around, func(s *middleware.Stack) error {
			each := &attempt{
				service: service, operation: s.ID(), metrics: b.options.Metrics,
				timeout: b.options.Tuning.Timeout, silence: b.options.Tuning.longestSilence(service, s.ID()),
			}
			if err := s.Deserialize.Add(progressMiddleware(), middleware.After); err != nil {
				return err
			}

			return s.Finalize.Insert(each, (*retry.Attempt)(nil).ID(), middleware.After)
		})
	}

	return append(around, b.options.Middleware...)
}

// wholeCall counts a call with all its attempts and says what its error means.
type wholeCall struct {
	service   Service
	operation string
	metrics   *Metrics
	// marks reports whether the caller learns what the error means.
	marks bool
	// limits has the limiter of the call; nil where calls are not limited.
	limits *limiters
	tuning Tuning
}

// ID implements middleware.InitializeMiddleware.
func (*wholeCall) ID() string { return "multicloud-ccm/call" }

// HandleInitialize implements middleware.InitializeMiddleware.
func (c *wholeCall) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	end := c.metrics.call(c.service, c.operation)
	if c.limits != nil {
		p := newPacing(ctx, c.limits.of(c.operation, in.Parameters), c.tuning)
		defer p.end()
		ctx = p.into(ctx)
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
	// timeout bounds an attempt, silence each wait for a part of the response.
	timeout, silence time.Duration
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
	out, metadata, err = a.send(ctx, in, next)
	if throttled(err) {
		a.metrics.throttled(a.service, a.operation)
		klog.FromContext(ctx).V(4).Info("AWS throttled a call", "service", a.service, "operation", a.operation, "code", Code(err))
	}

	return out, metadata, p.after(sent, err)
}

// send makes one attempt.
func (a *attempt) send(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	whole, cancel := context.WithTimeoutCause(ctx, a.timeout, &attemptTimeoutError{"no complete response within %s", a.timeout})
	defer cancel()
	bounded, p := newProgress(whole, a.silence)
	defer p.end()
	out, metadata, err := next.HandleFinalize(bounded, in)
	if late, ok := errors.AsType[*attemptTimeoutError](context.Cause(bounded)); ok && err != nil && ctx.Err() == nil {
		err = late
	}

	return out, metadata, err
}

// attemptTimeoutError means that an attempt took too long. The SDK takes the error
// of an ended context for the wish of the caller, and does not try again.
type attemptTimeoutError struct {
	// format says what took longer than after.
	format string
	after  time.Duration
}

func (e *attemptTimeoutError) Error() string { return fmt.Sprintf(e.format, e.after) }

// RetryableError has the retryer of the SDK try again.
func (*attemptTimeoutError) RetryableError() bool { return true }

// Unwrap makes it a timeout to others, too.
func (*attemptTimeoutError) Unwrap() error { return context.DeadlineExceeded }
