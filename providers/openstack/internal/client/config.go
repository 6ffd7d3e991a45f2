package client

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
)

// Config describes a cloud.
type Config struct {
	// AuthURL is the URL of Keystone, with the version or without.
	AuthURL string
	// Region selects the endpoints. Empty selects the first of each service.
	Region string
	// EndpointType is "public", "internal" or "admin", also with the suffix URL. Empty
	// is public.
	EndpointType string
	TLS          TLS
	// Timeout bounds each request; 60 s if it is zero.
	Timeout time.Duration
	// UserAgent has more components of the User-Agent header, in the order of their
	// flags: the last one is sent first.
	UserAgent []string
}

// TLS is how connections are secured.
type TLS = tlsfiles.Files

// Options are optional settings of a client.
type Options struct {
	// Metrics count requests and logins. Default: nothing is counted.
	Metrics *Metrics
	// LoginGuard limits refused logins with a password, together with the other
	// clients that share it. Default: one for this client alone.
	LoginGuard *login.Guard
	// Clock is that of the delays between logins, of retries and of limits. Default:
	// the real one.
	Clock clock.Clock
	// LoginTimeout bounds a login with all its requests. Default: 30 s.
	LoginTimeout time.Duration
	// RetryTime bounds the time after which no request is repeated. Default: 25 s.
	RetryTime time.Duration
	// MaxReads and MaxWrites are how many requests are under way at a time, for each
	// service. Default: 8 and 4.
	MaxReads, MaxWrites int
	// MaxBody is how many bytes a response may have. Default: 64 MiB.
	MaxBody int64
	// Jitter returns a random duration from half of a delay up to all of it. Default:
	// a random source of the process.
	Jitter func(time.Duration) time.Duration
	// Dial makes the connections. Default: that of a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy selects the proxy of a request. Default: [http.ProxyFromEnvironment].
	Proxy func(*http.Request) (*url.URL, error)
}
