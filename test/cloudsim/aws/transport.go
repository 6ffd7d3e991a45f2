package aws

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// BufferedBodies passes requests on with their body in memory.
//
// The SDK closes the body of a request as soon as the header of the response is
// read. An endpoint on loopback may respond while net/http still reads the body;
// that read then fails, and with it the connection and a response of more than a
// few kilobytes. With buffered bodies, net/http has read them before the last
// byte is sent. Tests that count calls should use it.
func BufferedBodies(next http.RoundTripper) http.RoundTripper { return bufferedBodies{next} }

type bufferedBodies struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (w bufferedBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return w.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	buffered := r.Clone(r.Context())
	buffered.Body, buffered.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))

	return w.next.RoundTrip(buffered)
}

// CloseIdleConnections ends the connections that no request uses, for
// [http.Client.CloseIdleConnections].
func (w bufferedBodies) CloseIdleConnections() {
	if closer, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// Config returns the configuration of an SDK client for the region: the endpoint,
// the region, the key pair, and an HTTP client of its own, whose idle connections
// the caller closes.
func (c *Cloud) Config() awssdk.Config {
	transport := &http.Transport{}
	if c.opts.InMemory {
		transport.DialContext = c.server.Dial
	}

	return awssdk.Config{
		Region: c.opts.Region, BaseEndpoint: new(c.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(staticKey, staticSecret, ""),
		HTTPClient:  &http.Client{Transport: BufferedBodies(transport)},
	}
}
