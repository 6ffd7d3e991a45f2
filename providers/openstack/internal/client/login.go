package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// The delays between two logins with the same credentials. Those of passwords that were
// refused are longer, and of the login guard.
var (
	deniedDelays = []time.Duration{
		5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute,
	}
	unavailableDelays = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second}
)

// cleanupTimeout bounds the logout of a token that is not used.
const cleanupTimeout = 5 * time.Second

// maxHistories is of how many credentials failures are known.
const maxHistories = 8

// of returns what is known of credentials. It is called with the lock held.
func (s *session) of(credentials Credentials) *history {
	for _, h := range s.attempts {
		if h.credentials == credentials {
			return h
		}
	}
	if len(s.attempts) >= maxHistories {
		s.attempts = slices.Delete(s.attempts, 0, 1)
	}
	h := &history{credentials: credentials}
	s.attempts = append(s.attempts, h)

	return h
}

// mayLogIn returns an error if credentials may not be tried now. It is called with the
// lock held.
func (s *session) mayLogIn(credentials Credentials) error {
	h := s.of(credentials)
	for _, b := range []*login.Backoff{&h.unavailable, &h.denied} {
		if err := b.Err(s.options.Clock.Now()); err != nil {
			return &login.NotTriedError{Until: b.Until(), Cause: err}
		}
	}
	if !credentials.isPassword() {
		return nil
	}

	return s.options.LoginGuard.Check(s.request(credentials))
}

// request describes a login with a password to the guard. A password is another one in
// another scope: Keystone refuses both in the same way, so that a scope that was corrected
// must be tried.
func (s *session) request(credentials Credentials) login.Request {
	return login.Request{
		Account:  credentials.account(),
		Password: config.Secret(credentials.scopeKey() + "\n" + credentials.Password.Reveal()),
		Target:   "Keystone " + s.name(),
	}
}

// logIn logs in with credentials and uses the token if it is for the same project.
func (s *session) logIn(ctx context.Context, credentials Credentials) error {
	s.mu.Lock()
	err := s.mayLogIn(credentials)
	h := s.of(credentials)
	s.hide(credentials.Password, credentials.ApplicationCredentialSecret, credentials.Token)
	s.mu.Unlock()
	if err == nil {
		err = s.try(ctx, credentials, h)
	}
	if err != nil {
		return fmt.Errorf("log in to Keystone %s: %w", s.name(), err)
	}

	return nil
}

// try logs in now, and stores the result.
func (s *session) try(ctx context.Context, credentials Credentials, h *history) error {
	result, err := s.send(ctx, credentials, h)
	if err == nil {
		err = s.use(ctx, credentials, result)
	}
	if _, ok := errors.AsType[*login.NotTriedError](err); ok {
		s.options.Metrics.recorder.LoginNotTried(s.name(), err)

		return err
	}
	s.options.Metrics.recorder.Login(s.name(), err)
	s.record(h, err)

	return err
}

// record stores the result of a login. That of a refused password is in the guard.
func (s *session) record(h *history, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	switch {
	case err == nil:
		*h = history{credentials: h.credentials}
	case s.closed:
	case errors.Is(err, apierr.ErrUnavailable) || errors.Is(err, apierr.ErrThrottled):
		h.unavailable.Fail(now, unavailableDelays, err)
		h.lost = h.lost || isLost(err)
	default:
		h.unavailable, h.lost = login.Backoff{}, false
		if !isRefusedPassword(h.credentials, err) {
			h.denied.Fail(now, deniedDelays, err)
		}
	}
}

// send sends credentials as soon as the guard allows it. After a login without a response,
// Keystone must respond to a request without credentials first.
func (s *session) send(ctx context.Context, credentials Credentials, h *history) (*issued, error) {
	s.mu.Lock()
	lost := h.lost
	s.mu.Unlock()
	if err := s.identity.discover(ctx, lost); err != nil {
		return nil, err
	}
	if !credentials.isPassword() {
		return s.identity.authenticate(ctx, credentials)
	}
	done, err := s.options.LoginGuard.Reserve(ctx, s.request(credentials))
	if err != nil {
		return nil, err
	}
	result, err := s.identity.authenticate(ctx, credentials)
	done(loginResult(credentials, err), err)

	return result, err
}

// loginResult returns what the error of a login means for a password.
func loginResult(credentials Credentials, err error) login.Result {
	switch {
	case err == nil:
		return login.Accepted
	case isRefusedPassword(credentials, err):
		return login.Refused
	case isLost(err):
		return login.Lost
	}

	return login.Failed
}

// isLost reports whether Keystone may have refused a login without a response. An error that
// it describes itself is no refusal.
func isLost(err error) bool {
	e, ok := errors.AsType[*Error](err)

	return ok && !e.own && e.mayBeApplied()
}

// isRefusedPassword reports whether Keystone has refused a password: not because other
// methods are missing, and not because something else does not exist.
func isRefusedPassword(credentials Credentials, err error) bool {
	e, ok := errors.AsType[*Error](err)

	return ok && credentials.isPassword() && e.Service == Identity && e.Status == http.StatusUnauthorized && !e.receipt
}

// use makes the token of a login the one in use, if it is for the same project.
func (s *session) use(ctx context.Context, credentials Credentials, result *issued) error {
	t := &token{
		id: result.id, project: result.project, owned: result.owned, since: s.options.Clock.Now(), credentials: credentials,
	}
	s.mu.Lock()
	s.hide(t.id)
	err := s.checkProject(t)
	if err == nil && !s.closed {
		s.pin(ctx, result.catalog)
		s.project, s.proven, s.known = t.project, credentials, true
		s.set(t)
	}
	unused := err != nil || s.closed
	s.mu.Unlock()
	if unused {
		s.giveBack(ctx, t)
	}

	return err
}

// giveBack logs out of a token that is not used. If that fails, the token ends by itself.
func (s *session) giveBack(ctx context.Context, t *token) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := s.identity.revoke(ctx, t); err != nil {
		klog.FromContext(ctx).V(2).Info("Could not log out of a token that is not used", "cloud", s.name(), "reason", err.Error())
	}
}

// checkProject returns an error for a token that is not for the project of the first
// login. It is called with the lock held.
func (s *session) checkProject(t *token) error {
	switch {
	case t.project == "":
		return apierr.Mark(apierr.ErrDenied, errors.New("the token is for no project: a project, an application credential or a trust is required"))
	case s.known && t.project != s.project:
		return apierr.Mark(apierr.ErrDenied, fmt.Errorf("the token is for project %s instead of %s: the project cannot be changed while the process runs", t.project, s.project))
	}

	return nil
}

// pin stores the endpoints of services that have none yet. It is called with the lock
// held.
func (s *session) pin(ctx context.Context, c catalog) {
	s.catalogRead = s.options.Clock.Now()
	logger := klog.FromContext(ctx)
	if regions := c.regions(); !s.known && c.region == "" && len(regions) > 1 {
		logger.Info("The catalog has several regions and none is configured, the first endpoint of each service is used", "regions", strings.Join(regions, ","))
	}
	for _, service := range pinnedServices {
		if s.endpoints[service] != nil {
			continue
		}
		found, err := c.find(service)
		s.missing[service] = err
		if err != nil {
			logger.V(2).Info("No endpoint", "service", service, "reason", err.Error())

			continue
		}
		s.endpoints[service] = found
		logger.V(2).Info("Found endpoint", "service", service, "url", found.Redacted())
	}
}
