package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/component-base/version"
)

// Service is a service of OpenStack, by its type in the catalog.
type Service string

// The services that are called.
const (
	Identity     Service = "identity"
	Compute      Service = "compute"
	Network      Service = "network"
	LoadBalancer Service = "load-balancer"
	KeyManager   Service = "key-manager"
)

// agent is the name in the User-Agent header, that of the upstream controller manager.
const agent = "openstack-cloud-controller-manager"

// service is what all services have in common: one client for its endpoint, and its
// version document, which is read once.
type service struct {
	name     Service
	session  *session
	shared   *shared
	versions once[[]apiVersion]

	mu     sync.Mutex
	client *gophercloud.ServiceClient
	base   *url.URL
	// hiddenSince is when the version document was refused.
	hiddenSince time.Time
}

func (c *Client) newService(name Service) *service {
	return &service{name: name, session: c.session, shared: c.shared}
}

// open returns the client of the service, after a login if there was none.
func (s *service) open(ctx context.Context) (*gophercloud.ServiceClient, error) {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client != nil {
		return client, nil
	}
	base, err := s.session.endpoint(ctx, s.name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		t := &transport{
			service: s.name, shared: s.shared, limiter: newLimiter(s.name, s.shared.options), tokens: s.session, base: base,
			send: s.shared.writes.Wrap(s.shared.http),
		}
		s.client, s.base = newServiceClient(t, s.session.config.UserAgent), base
		s.client.Endpoint = base.String()
	}

	return s.client, nil
}

// newServiceClient returns a client of the SDK that leaves tokens, repetitions and errors
// to the transport.
func newServiceClient(t *transport, userAgent []string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: t, CheckRedirect: checkRedirect}}
	provider.UserAgent.Prepend(agent + "/" + version.Get().GitVersion)
	for _, component := range userAgent {
		provider.UserAgent.Prepend(component)
	}

	return &gophercloud.ServiceClient{ProviderClient: provider, Type: string(t.service)}
}

// readJSON reads an object at a URL.
func readJSON(ctx context.Context, client *gophercloud.ServiceClient, from string, into any, options *gophercloud.RequestOpts) error {
	res, err := client.Get(ctx, from, into, options)
	if err == nil {
		err = res.Body.Close()
	}

	return finish(Service(client.Type), http.MethodGet, err)
}

// readStream reads an object at a URL piece by piece.
func readStream(ctx context.Context, client *gophercloud.ServiceClient, from string, read func(*json.Decoder) error) error {
	res, err := client.Get(ctx, from, nil, &gophercloud.RequestOpts{KeepResponseBody: true})
	if err == nil {
		err = receive(res, read)
	}

	return finish(Service(client.Type), http.MethodGet, err)
}

// receive decodes the body of a response, if it has one, and closes it.
func receive(res *http.Response, read func(*json.Decoder) error) error {
	defer res.Body.Close() //nolint:errcheck // read only
	if res.StatusCode == http.StatusNoContent {
		return nil
	}

	return read(json.NewDecoder(res.Body))
}

// projectID returns the project of all calls.
func (s *session) projectID(ctx context.Context) (string, error) {
	s.mu.Lock()
	project := s.project
	s.mu.Unlock()
	if project != "" {
		return project, nil
	}
	t, err := s.current(ctx)
	if err != nil {
		return "", err
	}

	return t.project, nil
}

// endpoint returns the endpoint of a service, which stays the same once it was found.
func (s *session) endpoint(ctx context.Context, name Service) (*url.URL, error) {
	t, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	found, reason := s.endpoints[name], s.missing[name]
	reread := found == nil && !s.catalogBusy && s.options.Clock.Since(s.catalogRead) >= catalogAge
	s.catalogBusy = s.catalogBusy || reread
	s.mu.Unlock()
	switch {
	case found != nil:
		return found, nil
	case !reread:
		return nil, reason
	}
	err = s.rereadCatalog(ctx, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalogBusy = false
	if err != nil && s.endpoints[name] == nil { // a login meanwhile may have found it
		s.catalogRead = s.options.Clock.Now()

		return nil, fmt.Errorf("%w (%w)", s.missing[name], err)
	}

	return s.endpoints[name], s.missing[name]
}

// rereadCatalog reads the catalog with a token. If that has ended, the catalog is that of
// the next login.
func (s *session) rereadCatalog(ctx context.Context, t *token) error {
	c, err := s.identity.readCatalog(ctx, t)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusUnauthorized {
		_, err = s.renewed(ctx, t, Identity)

		return err
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pin(ctx, c)

	return nil
}
