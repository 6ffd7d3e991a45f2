package client

import (
	"context"

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

// GetRouter returns a router, which may belong to another project.
func (s *NetworkService) GetRouter(ctx context.Context, id string) (*Router, error) {
	return routers.get(ctx, s, id)
}

// RoutersByID returns routers, without their routes. Those that the project cannot see are left
// out. It makes one call for each 50 IDs.
func (s *NetworkService) RoutersByID(ctx context.Context, ids []string) ([]*Router, error) {
	query := networkQuery[Router]{fields: []string{"id", "name", "project_id", "external_gateway_info"}, anyProject: true}

	return routers.by(ctx, s, query, "id", ids, func(r *Router, id string) bool { return r.ID == id })
}

// AddRoutes adds routes to a router, in one call that leaves others alone. It needs the
// extension [ExtensionExtraRouteAtomic]. Routes that exist stay; another next hop for the
// same destination is one more route.
func (s *NetworkService) AddRoutes(ctx context.Context, router string, routes ...Route) (*Router, error) {
	return routers.update(ctx, s, router, routesBody(routes), nil, "add_extraroutes")
}

// RemoveRoutes removes routes from a router, like [NetworkService.AddRoutes]. Those that do
// not exist are no error.
func (s *NetworkService) RemoveRoutes(ctx context.Context, router string, routes ...Route) (*Router, error) {
	return routers.update(ctx, s, router, routesBody(routes), nil, "remove_extraroutes")
}

// UpdateRoutes replaces all routes of a router. With the revision of the router that was
// read, the call fails with an ErrConflict if it was changed since.
func (s *NetworkService) UpdateRoutes(ctx context.Context, router string, routes []Route, revision *int) (*Router, error) {
	return routers.update(ctx, s, router, routesBody(routes), revision)
}

// routesBody are the routes of a router in a request.
func routesBody(routes []Route) map[string][]Route {
	return map[string][]Route{"routes": append([]Route{}, routes...)} // not null
}
