package session

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// open makes a session. Until credentials are sent it ends with ctx; from then on
// it goes on until there is a response or the call has lasted too long, since only
// the response has the session to log out of.
func (s *Session) open(ctx context.Context, api api, credentials Credentials) (*conn, error) {
	c := &conn{api: api, credentials: credentials}
	var err error
	switch api {
	case apiSOAP:
		c.soap, err = s.openSOAP(ctx, credentials)
	default:
		c.rest, err = s.openREST(ctx, credentials)
	}
	c.since = s.options.Clock.Now()

	return c, err
}

func (s *Session) openSOAP(ctx context.Context, credentials Credentials) (*vim25.Client, error) {
	client, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	send, err := s.prepareLogin(ctx, client, credentials)
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		client.CloseIdleConnections()

		return nil, err
	}
	if err := s.sendGuarded(ctx, apiSOAP, credentials, send); err != nil {
		s.logOutLost(ctx, client, err)

		return nil, err
	}

	return client, nil
}

// sendGuarded sends credentials as soon as the login guard allows it. It ends with ctx
// before that, and with the call afterwards.
func (s *Session) sendGuarded(
	ctx context.Context, api api, credentials Credentials, send func(context.Context) error,
) error {
	if !credentials.password() {
		return send(context.WithoutCancel(ctx))
	}
	done, err := s.options.LoginGuard.Reserve(ctx, s.loginRequest(api, credentials))
	if err != nil {
		return err
	}
	err = classify(send(context.WithoutCancel(ctx)))
	done(loginResult(err), err)

	return err
}

// prepareLogin makes the calls that have to come before the login, and returns the one
// that sends the credentials.
func (s *Session) prepareLogin(
	ctx context.Context, client *vim25.Client, credentials Credentials,
) (func(context.Context) error, error) {
	manager := session.NewManager(client)
	switch {
	case credentials.shared():
		ticket, err := fetchTicket(ctx, credentials, s.options.Metrics.call)

		return func(ctx context.Context) error { return manager.CloneSession(ctx, ticket) }, err
	case credentials.certificate():
		signer, err := s.issueToken(ctx, client, credentials)

		return func(ctx context.Context) error {
			return manager.LoginByToken(client.WithHeader(ctx, soap.Header{Security: signer}))
		}, err
	default:
		return func(ctx context.Context) error { return manager.Login(ctx, userinfo(credentials)) }, nil
	}
}

// logOutLost ends the session that a login may have made although its response was
// lost. That takes the cookie, which comes at the beginning of a response.
func (s *Session) logOutLost(ctx context.Context, client *vim25.Client, err error) {
	if errors.Is(err, apierr.ErrUnavailable) && client.SessionCookie() != nil {
		s.logOut(ctx, &conn{api: apiSOAP, soap: client})
	}
	client.CloseIdleConnections()
}

func (s *Session) openREST(ctx context.Context, credentials Credentials) (*rest.Client, error) {
	if !credentials.certificate() {
		transport, err := s.endpoint.newClient(s.options)
		if err != nil {
			return nil, err
		}
		client := s.newREST(&vim25.Client{Client: transport})
		if err = s.probe(ctx, client); err == nil {
			err = s.sendGuarded(ctx, apiREST, credentials, func(ctx context.Context) error {
				return s.restPaths.logIn(ctx, client, userinfo(credentials))
			})
		}

		return client, closeOnError(client, err)
	}
	vim, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	client := s.newREST(vim)
	signer, err := s.issueToken(ctx, vim, credentials)
	if err = cmp.Or(err, context.Cause(ctx)); err == nil {
		err = s.restPaths.logIn(client.WithSigner(context.WithoutCancel(ctx), signer), client, nil)
	}

	return client, closeOnError(client, err)
}

// probe calls the REST API without credentials, if it did not respond to the last
// login: each password that may have been received may have been refused. The SOAP
// API is always called without credentials first.
func (s *Session) probe(ctx context.Context, client *rest.Client) error {
	s.mu.Lock()
	lost := s.backoff.apis[apiREST].lost
	s.mu.Unlock()
	if !lost {
		return nil
	}
	if _, err := client.Session(ctx); err != nil {
		return fmt.Errorf("call REST API without credentials: %w", err)
	}

	return nil
}

// closeOnError closes the connections of a client that cannot be used.
func closeOnError(client *rest.Client, err error) error {
	if err != nil {
		client.CloseIdleConnections()
	}

	return err
}

// shareSOAP makes a REST client that shares the SOAP session, by its cookie.
func (s *Session) shareSOAP(credentials Credentials) (*conn, error) {
	parent := s.current(apiSOAP)
	if parent == nil {
		return nil, apierr.Mark(apierr.ErrUnavailable, errors.New("SOAP session has ended"))
	}
	cookie := parent.soap.SessionCookie()
	if cookie == nil {
		return nil, apierr.Mark(apierr.ErrUnavailable, errors.New("SOAP session has no cookie"))
	}
	client := s.newREST(parent.soap)
	client.SessionID(cookie.Value)

	return &conn{
		api: apiREST, credentials: credentials, since: s.options.Clock.Now(), rest: client, parent: parent,
	}, nil
}

// newREST makes a REST client with the connections of a SOAP client.
func (s *Session) newREST(vim *vim25.Client) *rest.Client {
	client := rest.NewClient(vim)
	client.Transport = restTransport{base: client.DefaultTransport(), count: s.count, paths: &s.restPaths}
	client.Timeout = s.options.CallTimeout

	return client
}

// connect makes a SOAP client and checks, without credentials, that it has a vCenter.
func (s *Session) connect(ctx context.Context) (*vim25.Client, error) {
	transport, err := s.endpoint.newClient(s.options)
	if err != nil {
		return nil, err
	}
	transport.Namespace, transport.Version = "urn:"+vim25.Namespace, vim25.Version
	client := &vim25.Client{Client: transport, RoundTripper: s.caller(serviceVIM, transport)}
	client.ServiceContent, err = methods.GetServiceContent(ctx, client)
	if err == nil && !client.Valid() {
		err = apierr.Mark(apierr.ErrUnavailable, errors.New("answer is not that of a vCenter"))
	}
	if err != nil {
		client.CloseIdleConnections()

		return nil, err
	}
	transport.Version = commonVersion(client.ServiceContent.About.ApiVersion)

	return client, nil
}

// commonVersion returns the API version to send to a vCenter: its own, unless that
// is newer than that of the SDK. A login by token fails with a version that the
// vCenter does not have:
// https://github.com/vmware/govmomi/blob/v0.56.0/cli/session/login.go.
func commonVersion(theirs string) string {
	own := version.MustParseGeneric(vim25.Version)
	if v, err := version.ParseGeneric(theirs); err != nil || own.LessThan(v) {
		return vim25.Version
	}

	return theirs
}

// caller returns what counts, bounds and retries the calls of a SOAP client.
func (s *Session) caller(service string, client *soap.Client) soap.RoundTripper {
	client.Transport = statusRecorder{base: client.DefaultTransport()}

	return &caller{
		client:  client,
		service: service,
		count:   s.count,
		timeout: s.options.CallTimeout,
		tries:   s.endpoint.roundTrips(),
	}
}

// issueToken exchanges a client certificate, at the token service of vCenter, for a
// token that only the holder of its key can use.
func (s *Session) issueToken(ctx context.Context, client *vim25.Client, credentials Credentials) (*sts.Signer, error) {
	pair, err := tls.X509KeyPair([]byte(credentials.User), []byte(credentials.Password.Reveal()))
	if err != nil {
		return nil, apierr.Mark(apierr.ErrDenied, fmt.Errorf("load client certificate: %w", err))
	}
	tokens, err := sts.NewClient(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("find token service: %w", err)
	}
	tokens.RoundTripper = s.caller(serviceSTS, tokens.Client)
	signer, err := tokens.Issue(ctx, sts.TokenRequest{Certificate: &pair, Delegatable: true})
	if err == nil {
		return signer, nil
	}
	if err = classify(err); !apierr.IsMarked(err) && !errors.Is(err, context.Canceled) {
		err = apierr.Mark(apierr.ErrDenied, err) // faults of this service have no types
	}

	return nil, fmt.Errorf("issue token: %w", err)
}

func userinfo(credentials Credentials) *url.Userinfo {
	return url.UserPassword(credentials.User, credentials.Password.Reveal())
}
