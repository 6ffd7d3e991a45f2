package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// What the options are by default.
const (
	defaultTimeout      = 60 * time.Second
	defaultLoginTimeout = 30 * time.Second
	defaultRetryTime    = 25 * time.Second
	defaultMaxReads     = 8
	defaultMaxWrites    = 4
	defaultMaxBody      = 64 << 20
)

// Client has the services of a cloud. It is safe for concurrent use.
type Client struct {
	session       *session
	shared        *shared
	compute       *ComputeService
	network       *NetworkService
	loadBalancers *LoadBalancerService
	keyManager    *KeyManagerService
}

// New returns a client that logs in when it is first needed. It reads the certificates,
// and makes no call.
func New(cfg Config, source Source, o Options) (*Client, error) {
	if source == nil {
		return nil, errors.New("no source of credentials")
	}
	o = o.withDefaults()
	connections, err := newTransport(cfg.TLS, o)
	if err != nil {
		return nil, err
	}
	s := newSession(cfg, source, o)
	sh := &shared{http: connections, options: o, timeout: cmp.Or(cfg.Timeout, defaultTimeout), redact: s.redact}
	if s.identity, err = newIdentity(cfg, sh); err != nil {
		return nil, err
	}
	c := &Client{session: s, shared: sh}
	c.compute = &ComputeService{c.newService(Compute)}
	c.network = &NetworkService{service: c.newService(Network)}
	c.loadBalancers = &LoadBalancerService{service: c.newService(LoadBalancer)}
	c.keyManager = &KeyManagerService{service: c.newService(KeyManager)}
	source.Subscribe(s.credentialsChanged)

	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(metrics.Discard())
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.LoginGuard == nil {
		o.LoginGuard = login.NewGuard(login.DefaultLimits(), o.Clock)
	}
	if o.Jitter == nil {
		o.Jitter = func(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
	}
	o.LoginTimeout = cmp.Or(o.LoginTimeout, defaultLoginTimeout)
	o.RetryTime = cmp.Or(o.RetryTime, defaultRetryTime)
	o.MaxReads = cmp.Or(o.MaxReads, defaultMaxReads)
	o.MaxWrites = cmp.Or(o.MaxWrites, defaultMaxWrites)
	o.MaxBody = cmp.Or(o.MaxBody, defaultMaxBody)

	return o
}

// Compute returns the calls to Nova.
func (c *Client) Compute() *ComputeService { return c.compute }

// Network returns the calls to Neutron.
func (c *Client) Network() *NetworkService { return c.network }

// LoadBalancer returns the calls to Octavia.
func (c *Client) LoadBalancer() *LoadBalancerService { return c.loadBalancers }

// KeyManager returns the calls to Barbican.
func (c *Client) KeyManager() *KeyManagerService { return c.keyManager }

// Region returns the configured region, which may be empty.
func (c *Client) Region() string { return c.session.config.Region }

// Project returns the ID of the project, after a login if there was none. It never changes.
func (c *Client) Project(ctx context.Context) (string, error) { return c.session.projectID(ctx) }

// LoggedIn reports whether the last login was with these credentials. Otherwise a login with those of the
// source begins if they are new and may be tried now, since there may be no calls that would begin it.
func (c *Client) LoggedIn(ctx context.Context, credentials Credentials) bool {
	return c.session.loggedIn(ctx, credentials)
}

// LastWrite returns when the last request ended that changes something, logins aside. It
// is zero if there was none.
func (c *Client) LastWrite() time.Time { return c.shared.writes.Last() }

// Close waits for writes under way, logs out and closes all idle connections; every
// further call fails with [ErrClosed]. It takes no longer than ctx. Reads under way go
// on, and leave connections that the next Close closes.
func (c *Client) Close(ctx context.Context) error {
	err := errors.Join(c.shared.writes.Close(ctx), c.session.close(ctx))
	c.shared.http.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("close client of Keystone %s: %w", c.session.name(), err)
	}

	return nil
}
