package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// identity calls Keystone, with the API of version 3.
type identity struct {
	transport *transport
	client    *gophercloud.ServiceClient
	// versioned reports whether the URL has the version, so that none is looked for.
	versioned            bool
	endpointType, region string

	mu         sync.Mutex
	discovered bool
}

// newIdentity returns the client of a Keystone. It makes no call.
func newIdentity(cfg Config, s *shared) (*identity, error) {
	base, err := url.Parse(strings.TrimSpace(cfg.AuthURL))
	if err != nil {
		return nil, errors.New("parse auth URL: malformed") // the cause quotes it
	}
	if base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("auth URL is no URL with http or https")
	}
	kind, err := endpointType(cfg.EndpointType)
	if err != nil {
		return nil, err
	}
	i := &identity{endpointType: kind, region: cfg.Region}
	root := strings.TrimRight(base.Path, "/")
	switch path.Base(root) {
	case "v3":
		i.versioned, root = true, strings.TrimSuffix(root, "/v3")
	case "v2.0":
		root = strings.TrimSuffix(root, "/v2.0")
	}
	base = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: root + "/"}
	i.transport = &transport{service: Identity, shared: s, limiter: newLimiter(Identity, s.options), base: base, send: s.http}
	i.client = newServiceClient(i.transport, cfg.UserAgent)
	i.client.Endpoint = base.String() + "v3/"

	return i, nil
}

// discover checks once that Keystone has version 3, unless the URL has it. With probe it
// calls Keystone in any case: a password is not sent to one that does not respond.
func (i *identity) discover(ctx context.Context, probe bool) error {
	i.mu.Lock()
	skip := i.versioned || i.discovered
	i.mu.Unlock()
	if skip && !probe {
		return nil
	}
	from := i.transport.base.String()
	if i.versioned {
		from = i.client.Endpoint
	}
	found, err := readVersions(ctx, i.client, from)
	if e, ok := errors.AsType[*Error](err); ok && e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError && !errors.Is(err, apierr.ErrThrottled) {
		return nil // a proxy may hide the document, and Keystone has responded
	}
	if err != nil {
		return fmt.Errorf("discover versions: %w", err)
	}
	for _, v := range found {
		if strings.HasPrefix(v.ID, "v3") {
			i.mu.Lock()
			i.discovered = true
			i.mu.Unlock()

			return nil
		}
	}

	return apierr.Mark(apierr.ErrInvalid, errors.New("keystone has no version 3 of its API, which is the only one that is supported"))
}

// issued is the response to a login.
type issued struct {
	id      config.Secret
	project string
	owned   bool
	catalog catalog
}

// authenticate logs in.
func (i *identity) authenticate(ctx context.Context, credentials Credentials) (*issued, error) {
	if credentials.isToken() && !credentials.isScoped() {
		return i.inspect(ctx, credentials.Token)
	}
	options := credentials.options()
	if err := checkInput(options); err != nil {
		return nil, err
	}
	result := tokens.Create(ctx, i.client, options)
	if result.Err != nil {
		return nil, explainLogin(credentials, finish(Identity, http.MethodPost, result.Err))
	}

	return i.read(result, config.Secret(result.Header.Get("X-Subject-Token")), true)
}

// inspect returns a token as it is.
func (i *identity) inspect(ctx context.Context, id config.Secret) (*issued, error) {
	result := tokens.GetResult{}
	resp, err := i.client.Get(ctx, i.client.ServiceURL("auth", "tokens"), &result.Body, &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"X-Subject-Token": id.Reveal(), tokenHeader: id.Reveal()},
	})
	if err == nil {
		err = resp.Body.Close()
	}
	if _, result.Header, result.Err = gophercloud.ParseResponse(resp, err); result.Err != nil {
		return nil, explainLogin(Credentials{Token: id}, finish(Identity, http.MethodGet, result.Err))
	}

	return i.read(result, id, false)
}

// extractor is the result of a login of the SDK.
type extractor interface{ ExtractInto(v any) error }

// read returns what the response to a login has.
func (i *identity) read(from extractor, id config.Secret, owned bool) (*issued, error) {
	var body struct {
		Project *tokens.Project       `json:"project"`
		Catalog []tokens.CatalogEntry `json:"catalog"`
	}
	if err := from.ExtractInto(&body); err != nil || id == "" {
		return nil, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("identity: response has no token: %w", cmp.Or(err, errors.New("no header with it"))))
	}
	result := &issued{id: id, owned: owned, catalog: i.catalogOf(body.Catalog)}
	if body.Project != nil {
		result.project = body.Project.ID
	}

	return result, nil
}

func (i *identity) catalogOf(entries []tokens.CatalogEntry) catalog {
	return catalog{entries: entries, endpointType: i.endpointType, region: i.region}
}

// readCatalog reads the catalog of a token.
func (i *identity) readCatalog(ctx context.Context, t *token) (catalog, error) {
	var body tokens.ServiceCatalog
	err := readJSON(ctx, i.client, i.client.ServiceURL("auth", "catalog"), &body, &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{tokenHeader: t.id.Reveal()},
	})
	if err != nil {
		return catalog{}, fmt.Errorf("read catalog: %w", err)
	}

	return i.catalogOf(body.Entries), nil
}

// revoke logs out of a token that a login of this process has issued.
func (i *identity) revoke(ctx context.Context, t *token) error {
	if t == nil || !t.owned {
		return nil
	}
	res, err := i.client.Delete(ctx, i.client.ServiceURL("auth", "tokens"), &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"X-Subject-Token": t.id.Reveal(), tokenHeader: t.id.Reveal()},
	})
	if err == nil {
		err = res.Body.Close()
	}
	err = finish(Identity, http.MethodDelete, err)
	if errors.Is(err, apierr.ErrNotFound) || errors.Is(err, apierr.ErrDenied) {
		return nil // it has ended
	}
	if err != nil {
		return fmt.Errorf("log out: %w", err)
	}

	return nil
}

// options returns the credentials as the SDK takes them.
func (c Credentials) options() *tokens.AuthOptions {
	o := &tokens.AuthOptions{}
	switch {
	case c.isPassword():
		o.Password = c.Password.Reveal()
	case c.isApplicationCredential():
		o.ApplicationCredentialID, o.ApplicationCredentialName = c.ApplicationCredentialID, c.ApplicationCredentialName
		o.ApplicationCredentialSecret = c.ApplicationCredentialSecret.Reveal()
	default:
		o.TokenID = c.Token.Reveal()
	}
	if !c.isToken() {
		if o.UserID = c.UserID; o.UserID == "" {
			o.Username, o.DomainID = c.Username, c.UserDomainID
			if o.DomainID == "" {
				o.DomainName = c.UserDomainName
			}
		}
	}
	o.Scope = c.scope()

	return o
}

// scope returns the scope of a login. An ID needs no domain.
func (c Credentials) scope() tokens.Scope {
	switch {
	case c.isApplicationCredential():
		return tokens.Scope{} // it has one
	case c.TrustID != "":
		return tokens.Scope{TrustID: c.TrustID}
	case c.ProjectID != "":
		return tokens.Scope{ProjectID: c.ProjectID}
	case c.ProjectName != "" && c.ProjectDomainID != "":
		return tokens.Scope{ProjectName: c.ProjectName, DomainID: c.ProjectDomainID}
	case c.ProjectName != "":
		return tokens.Scope{ProjectName: c.ProjectName, DomainName: c.ProjectDomainName}
	case c.DomainID != "":
		return tokens.Scope{DomainID: c.DomainID}
	default:
		return tokens.Scope{DomainName: c.DomainName}
	}
}

// checkInput returns an error for credentials of which something is missing.
func checkInput(o *tokens.AuthOptions) error {
	scope, err := o.ToTokenV3ScopeMap()
	if err == nil {
		_, err = o.ToTokenV3CreateMap(scope)
	}
	if err != nil {
		return apierr.Mark(apierr.ErrInvalid, fmt.Errorf("credentials are incomplete: %w", err))
	}

	return nil
}

// explainLogin adds to the error of a login what it means for these credentials.
func explainLogin(credentials Credentials, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden && e.Status != http.StatusNotFound {
		return err
	}
	if e.Status == http.StatusNotFound && errors.Is(e.means, apierr.ErrUnavailable) {
		return err // not of Keystone
	}
	var what string
	switch {
	case e.receipt:
		what = "Keystone requires further authentication methods for this user: use an application credential"
	case e.Status == http.StatusForbidden:
		what = "the credentials may not be used for this scope"
	case credentials.isApplicationCredential():
		what = "the application credential is wrong, expired or deleted, or its user has lost the role"
	case credentials.isToken():
		what = "the token is wrong or expired, and cannot be renewed"
	case credentials.TrustID != "":
		what = "the trustee's password is wrong, the account is locked, its directory cannot be reached, or the trust has ended"
	default:
		what = "user or password is wrong, the account is locked, its directory cannot be reached, or it has no role in the project"
	}
	denied := *e
	denied.means = apierr.ErrDenied

	return fmt.Errorf("%s: %w", what, &denied)
}
