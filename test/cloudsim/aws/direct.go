package aws

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ServeDirectly has an SDK client call the cloud without a connection. Everything
// else is as over the wire: requests are signed, counted, delayed, throttled and
// broken in the same way, except by effects that cut the connection.
//
// A connection keeps the time of a testing/synctest bubble from passing. With
// ServeDirectly, token buckets, delays and the latency of the gate go by the time
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
		if err := ctx.Err(); err != nil {
			return out, metadata, &smithyhttp.RequestSendError{Err: err}
		}
		call := request.Build(ctx)
		call.Host = cmp.Or(call.Host, call.URL.Host) // as a server has it
		response := httptest.NewRecorder()
		c.ServeHTTP(response, call)
		out.RawResponse = &smithyhttp.Response{Response: response.Result()}
		return out, metadata, nil
	}), middleware.After)
}
