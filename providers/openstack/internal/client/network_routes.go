package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

// sameAddress reports whether two texts are the same address.
func sameAddress(a, b string) bool {
	x, err1 := address.Parse(a)
	y, err2 := address.Parse(b)
	if err1 != nil || err2 != nil {
		return a == b
	}

	return x == y
}

// routerBody is a router in a request or response.
type routerBody struct {
	Router *Router `json:"router"`
}

// routesBody are the routes of a router in a request.
type routesBody struct {
	Router struct {
		Routes []Route `json:"routes"`
	} `json:"router"`
}

// checked returns the router of a response, which must be the wanted one.
func (b routerBody) checked(method, id string) (*Router, error) {
	if b.Router == nil || !strings.EqualFold(b.Router.ID, id) {
		return nil, badResponse(Network, method, fmt.Errorf("response has another router than %s", id))
	}

	return b.Router, nil
}

// GetRouter returns a router, which may belong to another project.
func (s *NetworkService) GetRouter(ctx context.Context, id string) (*Router, error) {
	if err := checkID("router", id); err != nil {
		return nil, err
	}
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	var body routerBody
	if err := readJSON(ctx, client, client.ServiceURL("routers", id), &body, nil); err != nil {
		return nil, fmt.Errorf("get router: %w", err)
	}

	return body.checked(http.MethodGet, id)
}

// RoutersByID returns routers, without their routes. Those that the project cannot see are left
// out. It makes one call for each 50 IDs.
func (s *NetworkService) RoutersByID(ctx context.Context, ids []string) ([]*Router, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Router
	for chunk := range slices.Chunk(ids, maxIDs) {
		found, err := listing[Router]{
			service: s.service, client: client, path: "routers", key: "routers", limit: pageSize,
			query:  url.Values{"id": chunk, "fields": {"id", "name", "project_id", "external_gateway_info"}},
			marker: func(r *Router) string { return r.ID }, wanted: func(r *Router) bool { return slices.Contains(chunk, r.ID) },
		}.all(ctx)
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}

// AddRoutes adds routes to a router, in one call that leaves others alone. It needs the
// extension [ExtensionExtraRouteAtomic]. Routes that exist stay; another next hop for the
// same destination is one more route.
func (s *NetworkService) AddRoutes(ctx context.Context, router string, routes ...Route) (*Router, error) {
	return s.changeRoutes(ctx, router, "add_extraroutes", nil, routes)
}

// RemoveRoutes removes routes from a router, like [NetworkService.AddRoutes]. Those that do
// not exist are no error.
func (s *NetworkService) RemoveRoutes(ctx context.Context, router string, routes ...Route) (*Router, error) {
	return s.changeRoutes(ctx, router, "remove_extraroutes", nil, routes)
}

// UpdateRoutes replaces all routes of a router. With the revision of the router that was
// read, the call fails with an ErrConflict if it was changed since.
func (s *NetworkService) UpdateRoutes(ctx context.Context, router string, routes []Route, revision *int) (*Router, error) {
	return s.changeRoutes(ctx, router, "", revision, routes)
}

// changeRoutes writes routes of a router. Without an action they replace all others.
func (s *NetworkService) changeRoutes(ctx context.Context, router, action string, revision *int, routes []Route) (*Router, error) {
	if err := checkID("router", router); err != nil {
		return nil, err
	}
	var request routesBody
	request.Router.Routes = append([]Route{}, routes...) // not null
	path := []string{"routers", router}
	if action != "" {
		path = append(path, action)
	}
	var response routerBody
	if err := s.put(ctx, request, &response, ifMatch(revision), path...); err != nil {
		return nil, fmt.Errorf("update routes: %w", err)
	}

	return response.checked(http.MethodPut, router)
}

// UpdateAddressPairs replaces all address pairs of a port. With the revision of the port
// that was read, the call fails with an ErrConflict if it was changed since.
func (s *NetworkService) UpdateAddressPairs(ctx context.Context, port string, pairs []AddressPair, revision *int) (*Port, error) {
	if err := checkID("port", port); err != nil {
		return nil, err
	}
	type fields struct {
		Pairs []AddressPair `json:"allowed_address_pairs"`
	}
	request := map[string]fields{"port": {Pairs: append([]AddressPair{}, pairs...)}}
	var response struct {
		Port *Port `json:"port"`
	}
	if err := s.put(ctx, request, &response, ifMatch(revision), "ports", port); err != nil {
		return nil, fmt.Errorf("update address pairs: %w", err)
	}
	if response.Port == nil || !strings.EqualFold(response.Port.ID, port) {
		return nil, badResponse(Network, http.MethodPut, fmt.Errorf("response has another port than %s", port))
	}

	return response.Port, nil
}
