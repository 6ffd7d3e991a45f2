package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// briefSession is the age below which the end of a session is suspicious,
	// briefAllowed how many in a row are put up with.
	briefSession = 10 * time.Second
	briefAllowed = 3
)

// purpose is what an attempt is made for.
type purpose int

const (
	forSOAP purpose = iota
	forREST
	forChanges // new credentials for sessions that still work
	purposeCount
)

func forAPI(api api) purpose {
	if api == apiSOAP {
		return forSOAP
	}

	return forREST
}

// attempt is a login under way. It belongs to nobody who waits for it.
type attempt struct {
	purpose purpose
	done    chan struct{} // closed once err is set
	err     error
}

// begin starts an attempt. It is called with the lock held, and none under way that
// is made for the same.
func (s *Session) begin(ctx context.Context, purpose purpose, work func(context.Context) error) {
	ctx, cancel := s.untilClosed(context.WithoutCancel(ctx), s.options.LoginTimeout)
	a := &attempt{purpose: purpose, done: make(chan struct{})}
	s.attempts[purpose] = a
	go func() {
		defer cancel()
		s.endStray(ctx)
		err := work(ctx)

		s.mu.Lock()
		if s.closed {
			err = ErrClosed
		}
		a.err = err
		s.attempts[purpose] = nil
		s.applyChanges(ctx)
		s.mu.Unlock()
		close(a.done)
	}()
}

// untilClosed returns a context that ends with Close too.
func (s *Session) untilClosed(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	go func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	}()

	return ctx, cancel
}

// endStray logs out of the sessions that were given up.
func (s *Session) endStray(ctx context.Context) {
	s.mu.Lock()
	stray := s.stray
	s.stray = nil
	s.mu.Unlock()

	for _, c := range stray {
		s.retire(ctx, c)
	}
}

// credentialsChanged is called by sources.
func (s *Session) credentialsChanged(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.changes++
	s.gate.forgetDown()
	s.retryAt = time.Time{}
	s.applyChanges(ctx)
}

// applyChanges starts to bring the sessions there are up to date with the
// credentials, unless there is nothing to do or it is not the time. It is called
// with the lock held.
func (s *Session) applyChanges(ctx context.Context) {
	if s.closed || s.attempts != [purposeCount]*attempt{} || s.applied == s.changes || s.options.Clock.Now().Before(s.retryAt) {
		return
	}
	if s.conns[apiSOAP] == nil && s.conns[apiREST] == nil {
		return // the next login uses them anyway
	}
	seen := s.changes
	s.begin(ctx, forChanges, func(ctx context.Context) error { return s.replace(ctx, seen) })
}

// replace logs in with the credentials of now wherever a session was made with
// others, and logs out of the old one. What is wrong with the new ones leaves the
// old sessions as they are.
func (s *Session) replace(ctx context.Context, seen int) error {
	source, credentials, err := s.lookup(ctx)
	for api := apiSOAP; err == nil && api < apiCount; api++ {
		if c := s.current(api); c != nil && c.credentials != credentials {
			err = s.logIn(ctx, api, source, credentials)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.applied = seen

		return nil
	}
	s.retryAt = s.options.Clock.Now().Add(downFirst)
	if held, ok := errors.AsType[*heldError](err); ok && held.until.After(s.retryAt) {
		s.retryAt = held.until
	}

	return err
}

// logInAnew makes a session where there is none.
func (s *Session) logInAnew(ctx context.Context, api api) error {
	if err := s.unavailable(api); err != nil {
		return err
	}
	source, credentials, err := s.lookup(ctx)
	if err != nil {
		s.mu.Lock()
		s.gate.recordDown(api, err)
		s.mu.Unlock()

		return err
	}

	return s.logIn(ctx, api, source, credentials)
}

// unavailable returns the cause if no login to an API may be tried now.
func (s *Session) unavailable(api api) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.gate.unavailable(api)
}

// logIn makes a session with the credentials of a source. If vCenter refuses
// them the source is read again, in case nobody has told of a change; what it has
// then is tried too.
func (s *Session) logIn(ctx context.Context, api api, source Source, credentials Credentials) error {
	if err := s.unavailable(api); err != nil {
		return err
	}
	tried, err := s.tryLogin(ctx, api, source, credentials)
	if !tried || !errors.Is(err, apierr.ErrDenied) {
		return err
	}
	if source.Refresh(ctx) != nil {
		return err // the refusal is what matters
	}
	newest, lookupErr := s.lookupIn(ctx, source)
	if lookupErr != nil || newest == credentials {
		return err // the refusal is what matters
	}
	_, err = s.tryLogin(ctx, api, source, newest)

	return err
}

// tryLogin makes a session and puts it in the place of the one there is. It does
// not try credentials that were refused a short while ago, and says so.
func (s *Session) tryLogin(ctx context.Context, api api, source Source, credentials Credentials) (bool, error) {
	if api == apiREST && credentials.shared() {
		// The REST API is used with the SOAP session, so that has to be there.
		if c := s.current(apiSOAP); c == nil || c.credentials != credentials {
			if err := s.unavailable(apiSOAP); err != nil {
				return false, err
			}
			if tried, err := s.tryLogin(ctx, apiSOAP, source, credentials); err != nil {
				return tried, err
			}
		}
		c, err := s.ride(credentials)

		return false, s.settle(ctx, api, credentials, c, err)
	}
	if api == apiSOAP {
		// The REST API may need a SOAP session at the same time.
		select {
		case s.soapLogin <- struct{}{}:
			defer func() { <-s.soapLogin }()
		case <-ctx.Done():
			return false, fmt.Errorf("wait for login: %w", context.Cause(ctx))
		}
		if c := s.current(apiSOAP); c != nil && c.credentials == credentials {
			return false, nil
		}
	}
	done := s.options.Metrics.Operation("login")
	s.mu.Lock()
	err := s.gate.refusal(api, credentials)
	s.mu.Unlock()
	var c *conn
	if err == nil {
		c, err = s.open(ctx, api, credentials)
	}
	if err != nil {
		err = fmt.Errorf("log in with %s of %s: %w", credentials, source, classify(err))
	}
	if _, held := errors.AsType[*heldError](err); held {
		return false, err
	}
	done(err)
	s.options.Metrics.recorder.Login(s.endpoint.name(), err)

	return true, s.settle(ctx, api, credentials, c, err)
}

// settle takes note of how a login went and puts its session in place.
func (s *Session) settle(ctx context.Context, api api, credentials Credentials, c *conn, err error) error {
	logger := klog.FromContext(ctx).WithValues("vcenter", s.endpoint.name(), "api", api)
	s.mu.Lock()
	s.gate.record(api, credentials, err)
	closed, old := s.closed, s.conns[api]
	if err == nil && !closed {
		s.set(api, c)
	}
	s.mu.Unlock()

	switch {
	case err != nil:
		logger.V(2).Info("Login failed", "err", err)

		return err
	case closed:
		s.retire(ctx, c)

		return ErrClosed
	case old != nil:
		s.retire(ctx, old)
	}
	logger.V(2).Info("Logged in", "credentials", credentials.String())

	return nil
}

func (s *Session) current(api api) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.conns[api]
}

// retire logs out of a session that nobody uses any more.
func (s *Session) retire(ctx context.Context, c *conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := c.end(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Could not log out", "vcenter", s.endpoint.name(), "api", c.api, "err", err)
	}
}
