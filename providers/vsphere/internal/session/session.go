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

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

const (
	defaultCallTimeout  = 30 * time.Second
	defaultLoginTimeout = 30 * time.Second
	// cleanupTimeout bounds the logout from a session that is no longer wanted.
	cleanupTimeout = 5 * time.Second
)

// Session keeps the sessions with one vCenter. It is safe for concurrent use.
type Session struct {
	endpoint Endpoint
	sources  []Source
	options  Options

	closing chan struct{} // closed by Close
	silent  atomic.Bool   // whether the last SOAP call had no answer
	// soapLogin holds a value during a SOAP login.
	soapLogin chan struct{}
	restPaths restPaths

	mu     sync.Mutex
	closed bool
	conns  [apiCount]*conn // nil where there is no session
	stray  []*conn         // given up, perhaps still alive
	ended  []*conn         // of Close
	// attempts are the logins under way. One for changes is for both APIs.
	attempts [purposeCount]*attempt
	gate     gate
	brief    [apiCount]int // sessions in a row that ended right after the login
	// changes counts what sources have told, applied is how much of that the
	// sessions reflect, and retryAt when it may be tried again to close the gap.
	changes, applied int
	retryAt          time.Time
}

// New makes a session that logs in when it is first needed, with what the first
// source has that has anything. It talks to nobody and reads nothing: a CA file
// that is missing now may be there for the login.
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
	if options.Lockout == nil {
		options.Lockout = NewLockout()
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
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
		gate:      gate{clock: options.Clock, lockout: options.Lockout},
	}
	s.report()
	for _, source := range s.sources {
		source.Subscribe(s.credentialsChanged)
	}

	return s, nil
}

// Name is what the cloud-config calls this vCenter.
func (s *Session) Name() string { return s.endpoint.name() }

// SOAP runs fn with a client that is logged in. If the session has ended meanwhile
// it logs in again and runs fn once more, from its beginning: whatever fn made in
// the old session (filters, views) is gone with it. fn may run for long; each
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
		return s.explain(err)
	}
	err = fn(ctx, c)
	if err == nil || ctx.Err() != nil {
		return s.explain(err)
	}
	if !ended(err) && s.current(api) == c {
		return s.explain(err)
	}
	// Even another error says nothing if the session was ended under the call:
	// what was made in it is not found any more.
	if c, err = s.connected(ctx, api, c); err != nil {
		return s.explain(err)
	}

	return s.explain(fn(ctx, c))
}

// explain gives an error its meaning and says whose it is.
func (s *Session) explain(err error) error {
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
		s.begin(ctx, forAPI(api), func(ctx context.Context) error { return s.logInAnew(ctx, api) })
	}

	return nil, s.attempts[forAPI(api)], nil
}

// drop gives up a session that vCenter has refused. That does not prove that it
// is gone, so it is logged out before the next login. It is called with the lock
// held.
func (s *Session) drop(c *conn) {
	s.set(c.api, nil)
	s.stray = append(s.stray, c)
	if c.parent != nil && c.parent != s.conns[apiSOAP] {
		return // the SOAP session under it is gone, and counted
	}
	if s.options.Clock.Since(c.since) >= briefSession {
		s.brief[c.api] = 0
		s.gate.forgetBrief(c.api)
	} else if s.brief[c.api]++; s.brief[c.api] > briefAllowed {
		s.gate.recordBrief(c.api)
	}
	if c.parent != nil && (s.brief[c.api] <= briefAllowed || s.options.Clock.Since(c.parent.since) >= refusedMax) {
		// A shared session is one for both APIs. Where the REST API goes on
		// refusing new ones too, the SOAP API keeps the last one for a while.
		s.set(apiSOAP, nil)
		s.stray = append(s.stray, c.parent)
	}
}

// set puts a session in place, or none. It is called with the lock held.
func (s *Session) set(api api, c *conn) {
	s.conns[api] = c
	s.report()
}

// report tells how many sessions there are, and whether they are of use. It is
// called with the lock held.
func (s *Session) report() {
	open := 0
	for _, c := range s.conns {
		if c != nil && c.parent == nil {
			open++
		}
	}
	s.options.Metrics.recorder.Sessions(s.endpoint.name(), open)
	s.options.Metrics.recorder.Connected(s.endpoint.name(), s.conns[apiSOAP] != nil && !s.silent.Load())
}

// count notes a call on the wire, and whether it was answered.
func (s *Session) count(service, operation string) func(error) {
	done := s.options.Metrics.call(service, operation)

	return func(err error) {
		done(err)
		silent := errors.Is(err, apierr.ErrUnavailable)
		if service != serviceVIM || errors.Is(err, context.Canceled) || s.silent.Swap(silent) == silent {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.report()
	}
}

// Close logs out, and refuses every further call with [ErrClosed]. A login under
// way that has not sent any credentials is given up; one that has is waited for,
// so that its session can be ended too. Close takes no longer than ctx; a login
// that takes longer still ends its own session. Calls that were under way leave
// connections, which the next Close closes.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	open := slices.DeleteFunc(append(s.stray, s.conns[:]...), func(c *conn) bool { return c == nil })
	s.stray = nil
	for api := range apiCount {
		s.set(api, nil)
	}
	attempts := s.attempts
	for _, c := range s.ended {
		c.closeIdle()
	}
	s.ended = append(s.ended, open...)
	s.mu.Unlock()

	problems, waits := make([]error, len(open)), make([]error, len(attempts))
	var logouts sync.WaitGroup
	for i, c := range open {
		logouts.Go(func() { problems[i] = c.end(ctx) })
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
		return s.explain(fmt.Errorf("close session: %w", err))
	}

	return nil
}
