package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

const (
	defaultCallTimeout  = 30 * time.Second
	defaultLoginTimeout = 30 * time.Second
	// cleanupTimeout bounds the logout from a session that is no longer wanted.
	cleanupTimeout = 5 * time.Second
	// parentAge is how long the SOAP API keeps a session whose cookie the REST API refuses.
	parentAge = 5 * time.Minute
)

// Session keeps the sessions with one vCenter. It is safe for concurrent use.
type Session struct {
	endpoint Endpoint
	sources  []Source
	options  Options

	closing chan struct{} // closed by Close
	// unresponsive reports whether the last SOAP call had no response.
	unresponsive atomic.Bool
	// soapLogin holds a value during a SOAP login.
	soapLogin chan struct{}
	restPaths restPaths

	mu     sync.Mutex
	closed bool
	conns  [apiCount]*conn // nil where there is no session
	// proven are the credentials of the last login that vCenter accepted.
	proven Credentials
	// abandoned are no longer used, and may still exist in vCenter.
	abandoned []*conn
	// loggedOut are those that Close ended.
	loggedOut []*conn
	// attempts are the logins under way. One for changes is for both APIs.
	attempts [purposeCount]*attempt
	backoff  backoff
	// shortLived counts sessions in a row that ended right after their login.
	shortLived [apiCount]int
	// changes counts the changes of sources, applied is how many of these the
	// sessions have, and retryAt is when the others may be tried again.
	changes, applied int
	retryAt          time.Time
}

// New returns a session that logs in when it is first needed, with the credentials of
// the first source that has any. It connects to nothing and reads nothing: a CA file
// that is missing now may exist at the login.
func New(endpoint Endpoint, sources []Source, options Options) (*Session, error) {
	if err := endpoint.invalid(endpoint.problems()); err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("check vCenter %s: no source of credentials", endpoint.name())
	}
	if options.Metrics == nil {
		options.Metrics = NewMetrics(metrics.Discard())
	}
	options.Clock = cmp.Or[clock.Clock](options.Clock, clock.RealClock{})
	if options.LoginGuard == nil {
		options.LoginGuard = login.NewGuard(login.DefaultLimits(), options.Clock)
	}
	if options.Dial == nil {
		options.Dial = new(net.Dialer).DialContext
	}
	options.UserAgent = cmp.Or(options.UserAgent, UserAgent)
	options.CallTimeout = cmp.Or(options.CallTimeout, defaultCallTimeout)
	options.LoginTimeout = cmp.Or(options.LoginTimeout, defaultLoginTimeout)
	options.TokenFile = cmp.Or(options.TokenFile, serviceAccountToken)

	s := &Session{
		endpoint: endpoint,
		sources:  slices.Clone(sources),
		options:  options,
		closing:  make(chan struct{}),

		soapLogin: make(chan struct{}, 1),
		backoff:   backoff{clock: options.Clock},
	}
	s.reportMetrics()
	for _, source := range s.sources {
		source.Subscribe(s.credentialsChanged)
	}

	return s, nil
}

// Name returns the name of the vCenter in the cloud-config.
func (s *Session) Name() string { return s.endpoint.name() }

// Account names who is logged in, empty if none is.
func (s *Session) Account() string {
	if c := s.current(apiSOAP); c != nil {
		return c.credentials.String()
	}

	return ""
}

// LoggedIn reports whether the session was made with these credentials. Otherwise it begins a login
// with changed ones.
func (s *Session) LoggedIn(ctx context.Context, credentials Credentials) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applyChanges(ctx)
	c := s.conns[apiSOAP]

	return c != nil && c.credentials == credentials
}

// SOAP runs fn with a client that is logged in. If the session has ended meanwhile
// it logs in again and runs fn once more, from its beginning: what fn made in the
// old session (filters, views) has ended with it. fn may run for long; each
// call it makes has a deadline of its own. It returns the errors of the SDK, or
// wraps them. The client is not valid after fn.
func (s *Session) SOAP(ctx context.Context, fn func(context.Context, *vim25.Client) error) error {
	return s.run(ctx, apiSOAP, func(ctx context.Context, c *conn) error { return fn(ctx, c.soap) })
}

// REST is like SOAP, with a client of the REST API and a session of its own.
func (s *Session) REST(ctx context.Context, fn func(context.Context, *rest.Client) error) error {
	return s.run(ctx, apiREST, func(ctx context.Context, c *conn) error { return fn(ctx, c.rest) })
}

func (s *Session) run(ctx context.Context, api api, fn func(context.Context, *conn) error) error {
	c, err := s.connected(ctx, api, nil)
	if err != nil {
		return s.wrap(err)
	}
	err = fn(ctx, c)
	if err == nil || ctx.Err() != nil {
		return s.wrap(err)
	}
	if !isSessionEnded(err) && s.current(api) == c {
		return s.wrap(err)
	}
	// Another error has no meaning either if the session ended during the call:
	// what was made in it is no longer found.
	if c, err = s.connected(ctx, api, c); err != nil {
		return s.wrap(err)
	}

	return s.wrap(fn(ctx, c))
}

// wrap marks an error with its meaning and adds the vCenter.
func (s *Session) wrap(err error) error {
	if err == nil {
		return nil
	}

	return fmt.Errorf("vCenter %s: %w", s.endpoint.name(), classify(err))
}

// connected returns a session, other than the one that vCenter has just refused.
// If there is none it waits for a login, no longer than ctx.
func (s *Session) connected(ctx context.Context, api api, refused *conn) (*conn, error) {
	for {
		c, a, err := s.find(ctx, api, refused)
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-a.done:
			if a.err != nil && a.purpose == forAPI(api) {
				return nil, a.err
			}
		case <-s.closing:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for login: %w", context.Cause(ctx))
		}
	}
}

// find returns a session, or a login to wait for.
func (s *Session) find(ctx context.Context, api api, refused *conn) (*conn, *attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.closed {
		return nil, nil, ErrClosed
	}
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("wait for login: %w", context.Cause(ctx))
	}
	if refused != nil && s.conns[api] == refused {
		s.drop(refused)
	}
	if c := s.conns[api]; c != nil {
		s.applyChanges(ctx)

		return c, nil, nil
	}
	if a := s.attempts[forChanges]; a != nil {
		return nil, a, nil
	}
	if s.attempts[forAPI(api)] == nil {
		s.begin(ctx, forAPI(api), func(ctx context.Context) error { return s.establish(ctx, api) })
	}

	return nil, s.attempts[forAPI(api)], nil
}

// drop abandons a session that vCenter has refused. It may still exist, so it is
// logged out before the next login. It is called with the lock held.
func (s *Session) drop(c *conn) {
	s.set(c.api, nil)
	s.abandoned = append(s.abandoned, c)
	if c.parent != nil && c.parent != s.conns[apiSOAP] {
		return // the SOAP session that it shares has ended, and is counted
	}
	if s.options.Clock.Since(c.since) >= shortLivedAge {
		s.shortLived[c.api] = 0
		s.backoff.resetShortLived(c.api)
	} else if s.shortLived[c.api]++; s.shortLived[c.api] > shortLivedAllowed {
		s.backoff.recordShortLived(c.api)
	}
	if c.parent != nil && (s.shortLived[c.api] <= shortLivedAllowed || s.options.Clock.Since(c.parent.since) >= parentAge) {
		// A shared session is one for both APIs. If the REST API refuses new ones
		// too, the SOAP API keeps the last one for a while.
		s.set(apiSOAP, nil)
		s.abandoned = append(s.abandoned, c.parent)
	}
}

// set stores a session, or none. It is called with the lock held.
func (s *Session) set(api api, c *conn) {
	s.conns[api] = c
	s.reportMetrics()
}

// Close logs out; every further call fails with [ErrClosed]. A login under way that
// has not sent any credentials is canceled; Close waits for one that has, so that its
// session can be ended too. Close takes no longer than ctx; a login that takes longer
// still ends its own session. Calls that were under way leave connections, which the
// next Close closes.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	open := slices.DeleteFunc(append(s.abandoned, s.conns[:]...), func(c *conn) bool { return c == nil })
	s.abandoned = nil
	for api := range apiCount {
		s.set(api, nil)
	}
	attempts := s.attempts
	for _, c := range s.loggedOut {
		c.closeIdle()
	}
	s.loggedOut = append(s.loggedOut, open...)
	s.mu.Unlock()

	problems, waits := make([]error, len(open)), make([]error, len(attempts))
	var logouts sync.WaitGroup
	for i, c := range open {
		logouts.Go(func() { problems[i] = c.logOut(ctx) })
	}
	for i, a := range attempts {
		if a == nil {
			continue
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			waits[i] = fmt.Errorf("wait for login under way: %w", context.Cause(ctx))
		}
	}
	logouts.Wait()
	if err := errors.Join(append(problems, waits...)...); err != nil {
		return s.wrap(fmt.Errorf("close session: %w", err))
	}

	return nil
}
