package openstack

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

func (r extraRoute) python() string {
	return "{'destination': '" + r.destination + "', 'nexthop': '" + r.nexthop + "'}"
}

// parseRoutes reads routes that were checked.
func parseRoutes(raw json.RawMessage) []extraRoute {
	var entries []struct{ Destination, Nexthop string }
	_ = json.Unmarshal(raw, &entries)
	routes := make([]extraRoute, len(entries))
	for i, e := range entries {
		routes[i] = extraRoute{e.Destination, e.Nexthop}
	}

	return routes
}

// checkRoutes checks the routes of a router: how many there are, and that each next
// hop is in a subnet of the router and none of its own addresses (neutron:
// db/extraroute_db.py, _validate_routes).
func (k *call) checkRoutes(t *router, routes []extraRoute) error {
	if most := k.cloud.quotasOf(t.projectID).Routes; exceeds(most, 0, len(routes)) {
		return fail(http.StatusBadRequest, "RoutesExhausted",
			"Unable to complete operation for %s. The number of routes exceeds the maximum %d.", t.id, most)
	}
	own := k.region.neutron.addressesOfRouter(t)
	for _, route := range routes {
		hop := netip.MustParseAddr(route.nexthop)
		connected := slices.ContainsFunc(own, func(f fixedIP) bool { return k.region.neutron.subnets.get(f.subnetID).cidr.Contains(hop) })
		reason := ""
		if !connected {
			reason = "the nexthop is not connected with router"
		} else if slices.ContainsFunc(own, func(f fixedIP) bool { return f.ip == hop }) {
			reason = "the nexthop is used by router"
		}
		if reason != "" {
			texts := make([]string, len(routes))
			for i, r := range routes {
				texts[i] = r.python()
			}

			return fail(http.StatusBadRequest, "InvalidRoutes", "Invalid format for routes: [%s], %s", strings.Join(texts, ", "), reason)
		}
	}

	return nil
}

// addressesOfRouter returns the addresses of a router, that of its gateway
// included.
func (s *neutronState) addressesOfRouter(t *router) []fixedIP {
	var all []fixedIP
	for _, p := range s.portsOf(t.id) {
		all = append(all, p.fixedIPs...)
	}

	return all
}

// addRoutes serves add_extraroutes: routes that are there already are fine, and
// another next hop for a known destination is a second route beside the first
// (neutron: db/extraroute_db.py, add_extraroutes).
func addRoutes(k *call) (response, error) {
	return k.changeRoutes(func(have, given []extraRoute) []extraRoute {
		for _, route := range given {
			if !slices.Contains(have, route) {
				have = append(have, route)
			}
		}

		return have
	})
}

// removeRoutes serves remove_extraroutes: routes that are not there are fine.
func removeRoutes(k *call) (response, error) {
	return k.changeRoutes(func(have, given []extraRoute) []extraRoute {
		return slices.DeleteFunc(have, func(route extraRoute) bool { return slices.Contains(given, route) })
	})
}

func (k *call) changeRoutes(change func(have, given []extraRoute) []extraRoute) (response, error) {
	t, err := k.router(k.path("id"))
	if err != nil {
		return response{}, err
	}
	if err := k.revise(t.revision); err != nil {
		return response{}, err
	}
	given, err := k.routesGiven()
	if err != nil {
		return response{}, err
	}
	routes := change(slices.Clone(t.routes), given)
	if err := k.checkRoutes(t, routes); err != nil {
		return response{}, err
	}
	if !slices.Equal(routes, t.routes) {
		t.routes = routes
		t.touch(k.now())
	}

	doc := t.document(k.region.neutron)
	doc["gw_port_id"], doc["ha_vr_id"] = orNil(t.portID), 0 // this response has all attributes for everyone

	return found("router", doc)
}

// routesGiven reads the routes of a call. They are checked less than in an update of
// the router: an address is a destination too, and host bits stay (as tried with
// Zed).
func (k *call) routesGiven() ([]extraRoute, error) {
	var body struct {
		Router struct {
			Routes []struct{ Destination, Nexthop *string }
		}
	}
	if json.Unmarshal(k.body, &body) != nil || body.Router.Routes == nil {
		return nil, internalError()
	}
	routes := make([]extraRoute, len(body.Router.Routes))
	for i, r := range body.Router.Routes {
		if r.Destination == nil || r.Nexthop == nil {
			return nil, internalError()
		}
		if _, err := netip.ParsePrefix(*r.Destination); err != nil {
			if _, err := netip.ParseAddr(*r.Destination); err != nil {
				return nil, fail(http.StatusBadRequest, "AddrFormatError", "invalid IPNetwork %s", *r.Destination)
			}
		}
		if _, err := netip.ParseAddr(*r.Nexthop); err != nil {
			return nil, fail(http.StatusBadRequest, "AddrFormatError", "failed to detect a valid IP address from '%s'", *r.Nexthop)
		}
		routes[i] = extraRoute{*r.Destination, *r.Nexthop}
	}

	return routes, nil
}
