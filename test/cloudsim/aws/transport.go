package aws

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// WholeBodies passes requests on with their body in memory.
//
// The SDK ends the body of a request as soon as the answer's header is there.
// An endpoint on loopback may answer while net/http still looks whether the body
// goes on; that look then fails, and with it the connection and an answer of more
// than a few kilobytes. With bodies in memory net/http is done with them before
// the last byte is sent. Tests that count calls should use it.
func WholeBodies(next http.RoundTripper) http.RoundTripper { return wholeBodies{next} }

type wholeBodies struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (w wholeBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return w.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	whole := r.Clone(r.Context())
	whole.Body, whole.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return w.next.RoundTrip(whole)
}

// CloseIdleConnections ends the connections that no request uses, for
// [http.Client.CloseIdleConnections].
func (w wholeBodies) CloseIdleConnections() {
	if closer, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// Config returns what an SDK client needs to talk to the region: the endpoint,
// the region, the key pair, and an HTTP client of its own, whose idle connections
// the caller closes.
func (c *Cloud) Config() awssdk.Config {
	return awssdk.Config{
		Region: c.opts.Region, BaseEndpoint: new(c.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(staticKey, staticSecret, ""),
		HTTPClient:  &http.Client{Transport: WholeBodies(&http.Transport{})},
	}
}
