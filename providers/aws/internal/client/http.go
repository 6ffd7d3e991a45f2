package client

import (
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
		client.Transport = b.GetTransport()
	}

	return client
}
