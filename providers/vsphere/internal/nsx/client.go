package nsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/drain"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
)

// apiPath is where the policy API is, after the path of the host.
const apiPath = "/policy/api/v1"

// Config describes a manager.
type Config struct {
	// Host is a host name or an address, with a port and a path if there are any.
	Host string
	TLS  tlsfiles.Files
	Auth Auth
}

// Options are optional settings of a client.
type Options struct {
	// Metrics count the calls. Default: those of a recorder that counts nothing.
	Metrics *Metrics
	// Retry is how calls are repeated. Default: 4 attempts within about 5 seconds.
	Retry wait.Backoff
	// Dial makes the connections. Default: that of [http.DefaultTransport].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client calls the policy API. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	http    *http.Client
	auth    Auth
	options Options
	limiter *limiter
	writes  drain.Writes
}

// New returns a client, which connects to nothing until it is used.
func New(config Config, options Options) (*Client, error) {
	base, err := url.Parse("https://" + config.Host)
	if err != nil || base.Host == "" {
		return nil, apierr.Mark(apierr.ErrInvalid, errors.New("the host of NSX-T is not a host name with an optional port and path"))
	}
	secured, err := config.TLS.Config()
	if err != nil {
		return nil, err
	}
	if options.Retry.Steps == 0 {
		options.Retry = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 3, Jitter: 0.5, Steps: 4}
	}
	if options.Metrics == nil {
		options.Metrics = NewMetrics(metrics.Discard())
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented
	transport.TLSClientConfig = secured
	transport.MaxIdleConnsPerHost = maxCalls
	// All calls of HTTP/2 share a connection, and wait for it as long as TCP does if it is dead.
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	if options.Dial != nil {
		transport.DialContext = options.Dial
	}
	c := &Client{base: base.JoinPath(apiPath), auth: config.Auth, options: options, limiter: newLimiter()}
	c.http = &http.Client{Transport: c.writes.Wrap(transport), CheckRedirect: checkRedirect}

	return c, nil
}

// Close waits for the writes under way, and ends all connections. No write is sent after
// it.
func (c *Client) Close(ctx context.Context) error {
	defer c.http.CloseIdleConnections()

	return c.writes.Close(ctx)
}

// LastWrite returns when the last write ended.
func (c *Client) LastWrite() time.Time { return c.writes.Last() }

// Get reads an object.
func (c *Client) Get(ctx context.Context, path string) (Object, error) {
	var read Object
	err := c.call(ctx, request{method: http.MethodGet, path: path}, &read)

	return read, err
}

// Put creates an object, or replaces the one with the same revision.
func (c *Client) Put(ctx context.Context, path string, o Object) (Object, error) {
	content, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", path, err)
	}
	var written Object
	err = c.call(ctx, request{method: http.MethodPut, path: path, body: content}, &written)

	return written, err
}

// Delete deletes an object. It is no error if there is none.
func (c *Client) Delete(ctx context.Context, path string) error {
	err := c.call(ctx, request{method: http.MethodDelete, path: path}, nil)
	if errors.Is(err, apierr.ErrNotFound) {
		return nil
	}

	return err
}

// call sends a request until it is done, and reads the response into a value.
func (c *Client) call(ctx context.Context, r request, into any) error {
	retry, renewed := c.options.Retry, false
	for {
		again, err := c.attempt(ctx, r, into)
		e, ok := errors.AsType[*Error](err)
		switch {
		case !ok || ctx.Err() != nil:
			return err
		case again && !renewed:
			renewed = true
		case !e.isTemporary() || retry.Steps <= 1 || sleep(ctx, retry.Step()) != nil:
			return err
		}
	}
}

// attempt sends a request once. It reports whether it may be sent again with other
// credentials.
func (c *Client) attempt(ctx context.Context, r request, into any) (again bool, err error) {
	header := http.Header{"Accept": {"application/json"}}
	done, err := c.auth.authorize(ctx, header)
	if err != nil {
		c.options.Metrics.recorder.LoginNotTried(c.base.Host, err)

		return false, fmt.Errorf("NSX-T: %s %s: %w", r.method, r.path, err)
	}
	err = c.limiter.do(ctx, c.options.Metrics.waited, func() error {
		counted := c.options.Metrics.call(r.operation())
		err := r.send(ctx, c.http, c.base, header, into)
		counted(err)

		return err
	})
	c.options.Metrics.login(c.base.Host, err)

	return done(err), err
}

// sleep waits, or returns the error of a context that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
