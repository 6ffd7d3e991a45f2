package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

const (
	// shortLivedAge is the age below which a session that ends is short-lived, and
	// shortLivedAllowed how many of these in a row are followed by a login at once.
	shortLivedAge     = 10 * time.Second
	shortLivedAllowed = 3
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

// attempt is a login under way. It goes on if the callers that wait for it leave.
type attempt struct {
	purpose purpose
	done    chan struct{} // closed once err is set
	err     error
}

// begin starts an attempt. It is called with the lock held, and without an attempt of
// the same purpose under way.
func (s *Session) begin(ctx context.Context, purpose purpose, work func(context.Context) error) {
	ctx, cancel := s.untilClosed(context.WithoutCancel(ctx), s.options.LoginTimeout)
	a := &attempt{purpose: purpose, done: make(chan struct{})}
	s.attempts[purpose] = a
	go func() {
		defer cancel()
		s.logOutAbandoned(ctx)
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

// logOutAbandoned logs out of the sessions that are no longer used.
func (s *Session) logOutAbandoned(ctx context.Context) {
	s.mu.Lock()
	abandoned := s.abandoned
	s.abandoned = nil
	s.mu.Unlock()

	for _, c := range abandoned {
		s.logOut(ctx, c)
	}
}

// credentialsChanged is called by sources.
func (s *Session) credentialsChanged(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.changes++
	s.backoff.resetUnavailable()
	s.retryAt = time.Time{}
	s.applyChanges(ctx)
}

// applyChanges starts to replace the sessions with other credentials than the current
// ones, unless there is none or it may not be tried yet. It is called with the lock
// held.
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

// replace logs in with the current credentials wherever a session was made with
// others, and logs out of the old one. If the login fails, the old session stays.
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
	s.retryAt = s.options.Clock.Now().Add(unavailableDelays[0])
	if notTried, ok := errors.AsType[*login.NotTriedError](err); ok && notTried.Until.After(s.retryAt) {
		s.retryAt = notTried.Until
	}

	return err
}

// establish makes a session where there is none: with the credentials of the source, and if vCenter
// refuses them and has accepted others before, with those.
func (s *Session) establish(ctx context.Context, api api) error {
	if err := s.unavailable(api); err != nil {
		return err
	}
	source, credentials, err := s.lookup(ctx)
	if err != nil {
		s.mu.Lock()
		s.backoff.recordUnavailable(api, err)
		s.mu.Unlock()

		return err
	}
	err = s.logIn(ctx, api, source, credentials)
	s.mu.Lock()
	proven := s.proven
	s.mu.Unlock()
	if !errors.Is(err, apierr.ErrDenied) || proven == (Credentials{}) || proven == credentials {
		return err
	}
	if _, former := s.tryLogin(ctx, api, source, proven); former != nil {
		return errors.Join(err, fmt.Errorf("with the credentials before: %w", former))
	}

	return nil
}

// unavailable returns the cause if no login to an API may be tried now.
func (s *Session) unavailable(api api) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.backoff.unavailable(api)
}

// logIn makes a session with the credentials of a source. If vCenter refuses
// them the source is read again, in case a change was not noticed, and other
// credentials that it has then are tried too.
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
	newest, lookupErr := s.lookupFrom(ctx, source)
	if lookupErr != nil || newest == credentials {
		return err // the refusal is what matters
	}
	_, err = s.tryLogin(ctx, api, source, newest)

	return err
}

// tryLogin makes a session, which replaces the current one. It reports whether a login
// was tried, so that it may be repeated with newer credentials; shortly after a refusal
// none is.
func (s *Session) tryLogin(ctx context.Context, api api, source Source, credentials Credentials) (bool, error) {
	if api == apiREST && credentials.shared() {
		return s.tryShared(ctx, source, credentials)
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
	var c *conn
	err := s.mayLogIn(api, credentials)
	if err == nil {
		c, err = s.open(ctx, api, credentials)
	}
	if err != nil {
		err = fmt.Errorf("log in with %s of %s: %w", credentials, source, classify(err))
	}
	if apierr.Has[*login.NotTriedError](err) {
		s.options.Metrics.recorder.LoginNotTried(s.endpoint.name(), err)

		return false, err
	}
	done(err)
	s.options.Metrics.recorder.Login(s.endpoint.name(), err)

	return true, s.recordLogin(ctx, api, credentials, c, err)
}

// tryShared is tryLogin for a REST session that shares the SOAP session, which it makes
// if there is none.
func (s *Session) tryShared(ctx context.Context, source Source, credentials Credentials) (bool, error) {
	if c := s.current(apiSOAP); c == nil || c.credentials != credentials {
		if err := s.unavailable(apiSOAP); err != nil {
			return false, err
		}
		if tried, err := s.tryLogin(ctx, apiSOAP, source, credentials); err != nil {
			return tried, err
		}
	}
	c, err := s.shareSOAP(credentials)

	return false, s.recordLogin(ctx, apiREST, credentials, c, err)
}

// recordLogin stores the result of a login, and its session.
func (s *Session) recordLogin(ctx context.Context, api api, credentials Credentials, c *conn, err error) error {
	logger := klog.FromContext(ctx).WithValues("vcenter", s.endpoint.name(), "api", api)
	s.mu.Lock()
	s.backoff.record(api, credentials, err)
	closed, old := s.closed, s.conns[api]
	if err == nil && !closed {
		s.set(api, c)
		s.proven = credentials
	}
	s.mu.Unlock()

	switch {
	case err != nil:
		logger.V(2).Info("Login failed", "err", err)

		return err
	case closed:
		s.logOut(ctx, c)

		return ErrClosed
	case old != nil:
		s.logOut(ctx, old)
	}
	logger.V(2).Info("Logged in", "credentials", credentials.String())

	return nil
}

func (s *Session) current(api api) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.conns[api]
}

// logOut logs out of a session that is no longer used.
func (s *Session) logOut(ctx context.Context, c *conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := c.logOut(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Could not log out", "vcenter", s.endpoint.name(), "api", c.api, "err", err)
	}
}
