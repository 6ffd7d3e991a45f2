package client

import (
	"errors"
	"maps"
	"net/http"

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

// throttled says whether the service that was called wants fewer calls.
func throttled(err error) bool { return !isCredentials(err) && saysThrottled(err) }

// saysThrottled says whether any service does.
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
func newRetryer(t Tuning) aws.Retryer {
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
