package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// catalogAge is how often the catalog is read for a service that it does not have.
const catalogAge = time.Minute

// maxSecrets is how many secrets are removed from errors: those of several credentials, and
// of tokens that requests under way may still have.
const maxSecrets = 32

// session has the token of all services. It is safe for concurrent use.
type session struct {
	config   Config
	source   Source
	options  Options
	identity *identity
	closing  chan struct{} // closed by close

	mu      sync.Mutex
	closed  bool
	token   *token // nil while there is none
	attempt *attempt
	// proven are the credentials of the last login, and known reports whether there was
	// one.
	proven Credentials
	known  bool
	// project, and the endpoints below, are those of the first login.
	project     string
	endpoints   map[Service]*url.URL
	missing     map[Service]error
	catalogRead time.Time
	catalogBusy bool
	attempts    []*history
	// problem is the last error of new credentials, which is logged once.
	problem string
	// secrets are the last ones that were sent.
	secrets []config.Secret
}

// history is what is known of credentials.
type history struct {
	credentials         Credentials
	unavailable, denied login.Backoff
	lost                bool // Keystone has not responded since a login without a response
}

// attempt is a login under way.
type attempt struct {
	done   chan struct{} // closed once err is set
	err    error
	cancel context.CancelFunc
}

func newSession(cfg Config, source Source, o Options) *session {
	s := &session{
		config: cfg, source: source, options: o, closing: make(chan struct{}),
		endpoints: map[Service]*url.URL{}, missing: map[Service]error{},
	}

	return s
}

// current returns the token. If there is none it waits for a login, no longer than ctx.
func (s *session) current(ctx context.Context) (*token, error) {
	for {
		t, a, err := s.find(ctx)
		if t != nil || err != nil {
			return t, err
		}
		select {
		case <-a.done:
			if a.err != nil {
				return nil, a.err
			}
		case <-s.closing:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, s.waitError(ctx)
		}
	}
}

// waitError is the error of a caller that could not wait for a login.
func (s *session) waitError(ctx context.Context) error {
	err := fmt.Errorf("wait for login: %w", context.Cause(ctx))
	if errors.Is(err, context.Canceled) {
		return err
	}

	return apierr.Mark(apierr.ErrUnavailable, err)
}

// find returns the token, or a login to wait for.
func (s *session) find(ctx context.Context) (*token, *attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, ErrClosed
	case ctx.Err() != nil:
		return nil, nil, s.waitError(ctx)
	case s.token != nil:
		s.applyChanges(ctx)

		return s.token, nil, nil
	}
	if s.attempt == nil {
		s.begin(ctx, s.establish)
	}

	return nil, s.attempt, nil
}

// renewed drops a token that a service has refused, and returns the next one. A service
// that has just refused a new token, too, does not get one more.
func (s *session) renewed(ctx context.Context, refused *token, by Service) (*token, error) {
	s.mu.Lock()
	if s.token == refused {
		if at, ok := refused.rejected[by]; ok && s.options.Clock.Since(at) < rejectedAge {
			s.mu.Unlock()

			return nil, apierr.Mark(apierr.ErrDenied, fmt.Errorf("%s refuses the tokens that Keystone issues", by))
		}
		s.set(nil)
	}
	s.mu.Unlock()
	t, err := s.current(ctx)
	if err != nil {
		return nil, fmt.Errorf("log in again, since %s has refused the token: %w", by, err)
	}

	return t, nil
}

// rejected stores that a service has refused a token that was issued for it.
func (s *session) rejected(refused *token, by Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused.rejected == nil {
		refused.rejected = map[Service]time.Time{}
	}
	refused.rejected[by] = s.options.Clock.Now()
}

// set stores a token, or none. It is called with the lock held.
func (s *session) set(t *token) {
	s.token = t
	s.options.Metrics.connected(s.name(), t != nil)
}

// name is the name of the cloud in metrics and logs.
func (s *session) name() string { return s.identity.transport.base.Host }

// begin starts a login. It goes on if the callers that wait for it leave. It is called
// with the lock held and without a login under way.
func (s *session) begin(ctx context.Context, work func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.LoginTimeout)
	a := &attempt{done: make(chan struct{}), cancel: cancel}
	s.attempt = a
	go func() {
		defer cancel()
		err := work(ctx)

		s.mu.Lock()
		if s.closed {
			err = ErrClosed
		}
		a.err, s.attempt = err, nil
		if s.token != nil {
			s.applyChanges(ctx) // those of meanwhile
		}
		s.mu.Unlock()
		close(a.done)
	}()
}

// credentialsChanged is called by the source.
func (s *session) credentialsChanged(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.attempts {
		h.unavailable = login.Backoff{}
	}
	if s.token != nil {
		s.applyChanges(ctx)
	}
}

// applyChanges starts a login with new credentials, unless there are none or they may not
// be tried yet. The token stays in use meanwhile. It is called with the lock held.
func (s *session) applyChanges(ctx context.Context) {
	if s.closed || s.attempt != nil {
		return
	}
	wanted, err := s.source.Lookup(ctx, CredentialsName)
	if err != nil || wanted == s.proven || s.mayLogIn(wanted) != nil {
		return
	}
	s.begin(ctx, func(ctx context.Context) error {
		err := s.logIn(ctx, wanted)
		s.noteChange(ctx, err)

		return nil // the token in use is still valid
	})
}

// noteChange logs once that new credentials cannot be used, or that they are.
func (s *session) noteChange(ctx context.Context, err error) {
	if _, notTried := errors.AsType[*login.NotTriedError](err); notTried {
		return // it was logged when it was tried
	}
	logger := klog.FromContext(ctx).WithValues("cloud", s.name())
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	isNew := text != s.problem
	s.problem = text
	s.mu.Unlock()
	switch {
	case err == nil:
		logger.V(2).Info("Logged in with new credentials")
	case isNew:
		logger.Error(err, "New credentials cannot be used, the old ones stay in use", "source", s.source.String())
	}
}

// establish logs in: with the credentials of the source, and if these fail and others
// have worked before, with those.
func (s *session) establish(ctx context.Context) error {
	wanted, err := s.logInWanted(ctx)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	proven, known := s.proven, s.known
	s.mu.Unlock()
	if !known || proven == wanted {
		return err
	}
	s.noteChange(ctx, err)
	if old := s.logIn(ctx, proven); old != nil {
		return errors.Join(err, fmt.Errorf("with the credentials before: %w", old))
	}

	return nil
}

// logInWanted logs in with the credentials of the source, which are read again if they are
// refused: they may have changed without an event.
func (s *session) logInWanted(ctx context.Context) (Credentials, error) {
	wanted, err := s.source.Lookup(ctx, CredentialsName)
	if err != nil {
		return wanted, fmt.Errorf("read credentials: %w", err)
	}
	err = s.logIn(ctx, wanted)
	if _, notTried := errors.AsType[*login.NotTriedError](err); notTried || !errors.Is(err, apierr.ErrDenied) {
		return wanted, err
	}
	if again, changed := s.reread(ctx, wanted); changed {
		return again, s.logIn(ctx, again)
	}

	return wanted, err
}

// reread reads the source again, and reports whether it has other credentials.
func (s *session) reread(ctx context.Context, before Credentials) (Credentials, bool) {
	if err := s.source.Refresh(ctx); err != nil {
		return Credentials{}, false
	}
	now, err := s.source.Lookup(ctx, CredentialsName)

	return now, err == nil && now != before
}

// loggedIn reports whether the last login was with these credentials. Otherwise it begins one with changed
// ones.
func (s *session) loggedIn(ctx context.Context, credentials Credentials) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != nil {
		s.applyChanges(ctx)
	}

	return s.known && s.proven == credentials
}

// redact removes the secrets that are in use from a text.
func (s *session) redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret.Reveal(), secret.String())
	}

	return text
}

// hide has secrets removed from errors. It is called with the lock held.
func (s *session) hide(secrets ...config.Secret) {
	for _, secret := range secrets {
		if secret == "" || slices.Contains(s.secrets, secret) {
			continue
		}
		if s.secrets = append(s.secrets, secret); len(s.secrets) > maxSecrets {
			s.secrets = slices.Delete(s.secrets, 0, 1)
		}
	}
}

// close logs out; every further call fails with [ErrClosed].
func (s *session) close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	last, a := s.token, s.attempt
	s.set(nil)
	s.mu.Unlock()
	if a != nil {
		a.cancel()
		select {
		case <-a.done:
		case <-ctx.Done():
			return fmt.Errorf("wait for login under way: %w", context.Cause(ctx))
		}
	}

	return s.identity.revoke(ctx, last)
}
