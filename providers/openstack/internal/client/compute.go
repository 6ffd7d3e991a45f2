package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// ErrOtherProject means that an object belongs to another project than that of the
// process. It is an ErrInvalid.
var ErrOtherProject = apierr.Mark(apierr.ErrInvalid, errors.New("belongs to another project"))

// wantedCompute is the microversion in use, unless the highest one of the service is
// lower: from it on, servers of a cell that is down are listed, with status UNKNOWN.
// https://docs.openstack.org/nova/latest/reference/api-microversion-history.html.
var wantedCompute = features.Version{Major: 2, Minor: 69}

// actionsVersion is the microversion from which on deleted servers have actions, from the
// same page.
var actionsVersion = features.Version{Major: 2, Minor: 21}

// ErrNoActions means that Nova has no actions of deleted servers. It is an ErrInvalid.
var ErrNoActions = apierr.Mark(apierr.ErrInvalid, fmt.Errorf("nova has no actions of deleted servers, which needs microversion %s", actionsVersion))

// ComputeService calls Nova.
type ComputeService struct{ *service }

// Available returns the reason if there is no endpoint.
func (s *ComputeService) Available(ctx context.Context) error {
	_, err := s.open(ctx)

	return err
}

// computeVersion is the microversion in use.
type computeVersion struct {
	features.Version

	// hidden reports whether the microversions of the service are not known.
	hidden bool
}

// versioned returns a client with the base of the API and the microversion.
func (s *ComputeService) versioned(ctx context.Context) (*gophercloud.ServiceClient, computeVersion, error) {
	client, err := s.open(ctx)
	if err != nil {
		return nil, computeVersion{}, err
	}
	base, hasVersion := versionBase(client.Endpoint)
	all, err := s.document(ctx, client, base)
	if err != nil {
		return nil, computeVersion{}, fmt.Errorf("read versions: %w", err)
	}
	chosen := chooseCompute(all)
	copied := *client
	if !hasVersion {
		copied.ResourceBase = client.Endpoint + chosen.ID + "/"
	}
	highest, ok := parseVersion(chosen.Version)
	if !ok {
		return &copied, computeVersion{hidden: len(all) == 0}, nil
	}
	if highest.AtLeast(wantedCompute) {
		highest = wantedCompute
	}
	copied.Microversion = highest.String()

	return &copied, computeVersion{Version: highest}, nil
}

// versionBase returns an endpoint up to its version, after which it may have the project,
// and whether it has one.
func versionBase(endpoint string) (string, bool) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint, false
	}
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i, segment := range slices.Backward(segments) {
		if versionSegment.MatchString(segment) {
			u.Path = "/" + strings.Join(segments[:i+1], "/") + "/"

			return u.String(), true
		}
	}

	return endpoint, false
}

// chooseCompute returns the entry of version 2.1, else that of 2.0.
func chooseCompute(all []apiVersion) apiVersion {
	chosen := apiVersion{ID: "v2.1"}
	for _, v := range all {
		number, ok := parseVersion(v.ID)
		if ok && number == (features.Version{Major: 2, Minor: 1}) {
			return v
		}
		if ok && number == (features.Version{Major: 2, Minor: 0}) {
			chosen = apiVersion{ID: "v2"}
		}
	}

	return chosen
}

// get reads one object at a path.
func (s *ComputeService) get(ctx context.Context, into any, path ...string) error {
	client, _, err := s.versioned(ctx)
	if err != nil {
		return err
	}

	return s.done(readJSON(ctx, client, client.ServiceURL(path...), into, nil))
}

// done returns the error of a call. If the microversion is no longer known, for example
// because an older release was installed, it is read again.
func (s *ComputeService) done(err error) error {
	err = finish(s.name, http.MethodGet, err)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotAcceptable {
		s.versions.reset()
	}

	return err
}

// ListServers returns all servers of the project. Those of cells that are down have the
// status [StatusUnknown] from microversion 2.69 on, and are missing before: that a server
// is missing proves nothing. If a page fails it returns what came before, along with the
// error.
//
// The first page is requested without a limit, a marker and filters: only then are the
// servers of such cells listed.
// https://docs.openstack.org/api-guide/compute/down_cells.html.
func (s *ComputeService) ListServers(ctx context.Context) ([]*Server, error) {
	return s.list(ctx, nil, 0, func(*Server) bool { return true })
}

func (s *ComputeService) list(ctx context.Context, query url.Values, limit int, wanted func(*Server) bool) ([]*Server, error) {
	client, _, err := s.versioned(ctx)
	if err != nil {
		return nil, err
	}
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := listing[Server]{
		service: s.service, client: client, path: "servers/detail", key: "servers", query: query, limit: limit,
		marker: func(row *Server) string {
			if row.Status == StatusUnknown {
				return "" // its cell does not respond
			}

			return row.ID
		},
		wanted: func(row *Server) bool {
			return row.ID != "" && row.Status != StatusDeleted && row.ownedBy(project) && wanted(row)
		},
	}.all(ctx)

	return rows, s.done(err)
}

// ownedBy reports whether a server is one of a project. That of a server in a cell that is
// down may not be known.
func (s *Server) ownedBy(project string) bool {
	return s.ProjectID == project || s.ProjectID == "" && s.Status == StatusUnknown
}

// ServersByName returns the servers of the project with a name: those with exactly this
// name, and if there are none, those whose name differs in case only, as databases
// compare. The servers of cells that are down are missing.
func (s *ComputeService) ServersByName(ctx context.Context, name string) ([]*Server, error) {
	if name == "" {
		return nil, apierr.Mark(apierr.ErrInvalid, errors.New("list servers: the name is empty"))
	}
	query := url.Values{"name": {"^" + regexp.QuoteMeta(name) + "$"}}
	rows, err := s.list(ctx, query, pageSize, func(row *Server) bool { return strings.EqualFold(row.Name, name) })
	if err != nil {
		return nil, err
	}
	var exact []*Server
	for _, row := range rows {
		if row.Name == name {
			exact = append(exact, row)
		}
	}
	if len(exact) > 0 {
		return exact, nil
	}

	return rows, nil
}

// GetServer returns a server, past every cache. The error is an ErrNotFound if Nova itself
// responds that it does not exist. That is certain only if more is known: Nova responds
// the same for a server whose mapping to a cell is missing.
func (s *ComputeService) GetServer(ctx context.Context, id string) (*Server, error) {
	if err := checkID("server", id); err != nil {
		return nil, err
	}
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	var body struct {
		Server *Server `json:"server"`
	}
	if err := s.get(ctx, &body, "servers", id); err != nil {
		return nil, fmt.Errorf("get server: %w", err)
	}
	switch {
	case body.Server == nil || !strings.EqualFold(body.Server.ID, id):
		return nil, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("get server %s: response has another one", id))
	case !body.Server.ownedBy(project):
		return nil, fmt.Errorf("get server %s: %w", id, ErrOtherProject)
	}

	return body.Server, nil
}

// ServerFlavorID returns the ID of the flavor of a server, which only microversions before
// 2.47 have.
func (s *ComputeService) ServerFlavorID(ctx context.Context, id string) (string, error) {
	if err := checkID("server", id); err != nil {
		return "", err
	}
	client, _, err := s.versioned(ctx)
	if err != nil {
		return "", err
	}
	client.Microversion = ""
	var body struct {
		Server Server `json:"server"`
	}
	if err := readJSON(ctx, client, client.ServiceURL("servers", id), &body, nil); err != nil {
		return "", fmt.Errorf("get server without microversion: %w", err)
	}
	if body.Server.Flavor.ID == "" {
		return "", apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("get server %s without microversion: response has no flavor ID", id))
	}

	return body.Server.Flavor.ID, nil
}

// ServerActions returns what was done with a server, also with one that is deleted, unless
// the records were archived. The newest comes first. It is ErrNoActions for a service that
// has none of deleted servers.
func (s *ComputeService) ServerActions(ctx context.Context, id string) ([]Action, error) {
	if err := checkID("server", id); err != nil {
		return nil, err
	}
	client, v, err := s.versioned(ctx)
	switch {
	case err != nil:
		return nil, err
	case v.hidden:
		client.Microversion = actionsVersion.String()
	case !v.AtLeast(actionsVersion):
		return nil, ErrNoActions
	}
	var body struct {
		Actions []Action `json:"instanceActions"`
	}
	err = readJSON(ctx, client, client.ServiceURL("servers", id, "os-instance-actions"), &body, nil)
	if e, ok := errors.AsType[*Error](err); ok && v.hidden && e.Status == http.StatusNotAcceptable {
		return nil, ErrNoActions
	}
	if err = s.done(err); err != nil {
		return nil, fmt.Errorf("list actions of server: %w", err)
	}
	if body.Actions == nil {
		return nil, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("list actions of server %s: response has none", id))
	}

	return body.Actions, nil
}

// GetFlavor returns a flavor by its ID, which may be any text. Flavors that are deleted or
// private are an ErrNotFound.
func (s *ComputeService) GetFlavor(ctx context.Context, id string) (*Flavor, error) {
	if id == "" || id == "." || id == ".." {
		return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("get flavor: %q is no ID", id))
	}
	var body struct {
		Flavor *Flavor `json:"flavor"`
	}
	if err := s.get(ctx, &body, "flavors", url.PathEscape(id)); err != nil {
		return nil, fmt.Errorf("get flavor: %w", err)
	}
	if body.Flavor == nil || body.Flavor.ID != id {
		return nil, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("get flavor %s: response has another one", id))
	}

	return body.Flavor, nil
}
