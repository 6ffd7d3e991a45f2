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

// throttleCodes are the error codes of throttled calls.
var throttleCodes = func() map[string]struct{} {
	codes := maps.Clone(retry.DefaultThrottleErrorCodes)
	codes["TooManyRequests"] = struct{}{} // the SDK has it only with the suffix Exception

	return codes
}()

// throttled reports whether the service that was called throttled the call.
func throttled(err error) bool { return !isCredentials(err) && isThrottlingError(err) }

// isThrottlingError reports whether any service throttled a call.
func isThrottlingError(err error) bool {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if _, ok := throttleCodes[api.ErrorCode()]; ok {
			return true
		}
	}

	return status(err) == http.StatusTooManyRequests
}

// status returns the HTTP status of an error response, zero if there is none.
func status(err error) int {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.Response != nil && response.Response.Response != nil {
		return response.HTTPStatusCode()
	}

	return 0
}

// newRetryer returns the standard retryer of the SDK, extended by all
// throttling errors of AWS.
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
// before each attempt. Throttled responses neither add a second wait nor count
// for its quota of retries: many of them would exhaust the quota, and no call
// would be retried for a long time.
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

// isLast prevents further attempts after the last one.
func isLast(err error) aws.Ternary {
	if _, ok := errors.AsType[*retry.MaxAttemptsError](err); ok {
		return aws.FalseTernary
	}

	return aws.UnknownTernary
}
