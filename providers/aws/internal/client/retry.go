package client

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// throttleCodes are the error codes that say that there were too many calls.
var throttleCodes = func() map[string]struct{} {
	codes := maps.Clone(retry.DefaultThrottleErrorCodes)
	codes["TooManyRequests"] = struct{}{} // the SDK knows it only with Exception

	return codes
}()

// throttled reports whether the service that was called wants fewer calls.
func throttled(err error) bool { return !isCredentials(err) && saysThrottled(err) }

// saysThrottled reports whether any service does.
func saysThrottled(err error) bool {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if _, ok := throttleCodes[api.ErrorCode()]; ok {
			return true
		}
	}

	return status(err) == http.StatusTooManyRequests
}

// status is the HTTP status of the answer that is an error, zero without one.
func status(err error) int {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.Response != nil && response.Response.Response != nil {
		return response.HTTPStatusCode()
	}

	return 0
}

// newRetryer makes the standard retryer of the SDK, which also knows all ways of
// AWS to throttle.
func newRetryer(t Tuning) *retry.Standard {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxBackoff = t.MaxBackoff
		o.Throttles = append(o.Throttles, retry.IsErrorThrottleFunc(isThrottled))
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(isThrottled))
	})
}

func isThrottled(err error) aws.Ternary {
	if throttled(err) {
		return aws.TrueTernary
	}

	return aws.UnknownTernary
}

// pacedRetryer is the standard retryer for calls that wait for a rate limiter
// before each attempt. Throttled responses neither make it wait once more nor
// count for its quota of retries: a storm of them would use up the quota, and
// then no call would be tried again for long after it.
type pacedRetryer struct{ *retry.Standard }

var _ aws.RetryerV2 = pacedRetryer{}

func (b *Base) pacedRetryer() aws.Retryer {
	t := b.options.Tuning
	backoff := retry.NewExponentialJitterBackoff(t.MaxBackoff)

	return pacedRetryer{retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = mostAttempts
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(isLast)}, o.Retryables...)
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(isThrottled))
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, err error) (time.Duration, error) {
			if throttled(err) {
				return 0, nil
			}

			return backoff.BackoffDelay(min(attempt, retry.DefaultMaxAttempts), err)
		})
	})}
}

// GetRetryToken implements aws.Retryer.
func (r pacedRetryer) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	if throttled(err) {
		return func(error) error { return nil }, nil
	}

	return r.Standard.GetRetryToken(ctx, err)
}

// isLast says no to a further attempt after the last.
func isLast(err error) aws.Ternary {
	if _, ok := errors.AsType[*retry.MaxAttemptsError](err); ok {
		return aws.FalseTernary
	}

	return aws.UnknownTernary
}
