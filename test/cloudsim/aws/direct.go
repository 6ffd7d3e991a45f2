package aws

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ServeDirectly has an SDK client call the cloud without a connection. Everything
// else is as over the wire: requests are signed, counted, delayed, throttled and
// broken in the same way. An effect that cuts the connection is an error of the
// transport.
//
// A connection keeps the time of a testing/synctest bubble from passing. With
// ServeDirectly, token buckets, delays and the latency of the interceptor go by the time
// of the bubble in which the clients are used, provided that [Options].Clock is
// the real one. Start the cloud outside of the bubble: its server listens.
func (c *Cloud) ServeDirectly(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("ServeDirectly", func(
		ctx context.Context, in middleware.DeserializeInput, _ middleware.DeserializeHandler,
	) (out middleware.DeserializeOutput, metadata middleware.Metadata, err error) {
		request, ok := in.Request.(*smithyhttp.Request)
		if !ok {
			return out, metadata, fmt.Errorf("a request of type %T", in.Request)
		}
		response, err := c.serve(request.Build(ctx)) //nolint:bodyclose // the SDK closes the body of the response it is given
		if err != nil {
			return out, metadata, &smithyhttp.RequestSendError{Err: err}
		}
		out.RawResponse = &smithyhttp.Response{Response: response}

		return out, metadata, nil
	}), middleware.After)
}

// serve returns the response to a request.
func (c *Cloud) serve(request *http.Request) (response *http.Response, err error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	defer func() {
		switch cut := recover(); cut {
		case nil:
		case http.ErrAbortHandler:
			response, err = nil, cmp.Or(request.Context().Err(), error(syscall.ECONNRESET))
		default:
			panic(cut)
		}
	}()
	request.Host = cmp.Or(request.Host, request.URL.Host) // as a server has it
	recorder := httptest.NewRecorder()
	c.ServeHTTP(recorder, request)

	return recorder.Result(), nil
}
