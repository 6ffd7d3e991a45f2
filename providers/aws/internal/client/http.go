package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/defaults"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// buildable is an HTTP client that the SDK completes, for example with the
// certificates of AWS_CA_BUNDLE.
func buildable(tuning Tuning) *awshttp.BuildableClient {
	client := awshttp.NewBuildableClient().WithTimeout(tuning.Timeout)
	mode, err := defaults.GetModeConfiguration(aws.DefaultsModeInRegion)
	if err != nil {
		return client // there is such a mode
	}

	return client.WithDialerOptions(func(d *net.Dialer) {
		if mode.ConnectTimeout != nil {
			d.Timeout = *mode.ConnectTimeout
		}
	}).WithTransportOptions(func(t *http.Transport) {
		if mode.TLSNegotiationTimeout != nil {
			t.TLSHandshakeTimeout = *mode.TLSNegotiationTimeout
		}
		if tuning.Dial != nil {
			t.DialContext = tuning.Dial
		}
	})
}

// share returns one client for all services, made from a complete one. The SDK
// would create a copy for each service, with its own connections.
func share(complete aws.HTTPClient, timeout time.Duration) *http.Client {
	client := &http.Client{
		Timeout: timeout,
		// No AWS API redirects. Following a redirect would disclose a signed
		// request.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if b, ok := complete.(*awshttp.BuildableClient); ok {
		client.Transport = bufferedBody{b.GetTransport()}
	}

	return client
}

// bufferedBody is a transport that buffers the body of each request. The SDK
// closes the body as soon as the header of the response was received. A
// transport that has sent the whole body, and then checks for more of it, takes
// the closed body for a failure and closes the connection before the response
// is read.
type bufferedBody struct{ transport *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bufferedBody) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return b.transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the body of the request: %w", err)
	}
	buffered := r.Clone(r.Context())
	buffered.Body, buffered.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))

	return b.transport.RoundTrip(buffered)
}

// CloseIdleConnections implements the interface that
// http.Client.CloseIdleConnections expects.
func (b bufferedBody) CloseIdleConnections() { b.transport.CloseIdleConnections() }
