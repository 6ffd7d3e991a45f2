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

// buildable is an HTTP client that the SDK still completes, with the
// certificates of AWS_CA_BUNDLE for example.
func buildable(timeout time.Duration) *awshttp.BuildableClient {
	client := awshttp.NewBuildableClient().WithTimeout(timeout)
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
	})
}

// share makes of a complete client one that all services use together: the SDK
// would give each a copy, with connections of its own.
func share(complete aws.HTTPClient, timeout time.Duration) *http.Client {
	client := &http.Client{
		Timeout: timeout,
		// No AWS API answers with a redirection. To follow one would be to give
		// a signed request away.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if b, ok := complete.(*awshttp.BuildableClient); ok {
		client.Transport = wholeBodies{b.GetTransport()}
	}

	return client
}

// wholeBodies has requests with their body in memory. The SDK closes a body once
// the header of the answer is there; a transport that has sent all of it, and
// only looks whether it goes on, takes that for a failure and ends the
// connection before the answer is read.
type wholeBodies struct{ transport *http.Transport }

// RoundTrip implements http.RoundTripper.
func (w wholeBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return w.transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the body of the request: %w", err)
	}
	whole := r.Clone(r.Context())
	whole.Body, whole.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))

	return w.transport.RoundTrip(whole)
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (w wholeBodies) CloseIdleConnections() { w.transport.CloseIdleConnections() }
