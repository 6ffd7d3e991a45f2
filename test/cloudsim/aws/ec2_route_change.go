package aws

import (
	"net/netip"
	"slices"
)

// wantedTable returns the route table that a request names.
func (c *Cloud) wantedTable(p params) (*routeTable, error) {
	if err := p.require("RouteTableId"); err != nil {
		return nil, err
	}
	id := p.str("RouteTableId")
	t := c.ec2.tables.get(id)
	if t == nil || !c.changeable(&t.Created) {
		return nil, fail("InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist", id)
	}

	return t, nil
}

// wantedDestination returns the destination that a request names, in the form
// that AWS stores.
func wantedDestination(p params) (netip.Prefix, error) {
	name, ipv6 := "DestinationCidrBlock", false
	if !p.has(name) {
		name, ipv6 = "DestinationIpv6CidrBlock", true
	}
	switch {
	case !p.has(name):
		return netip.Prefix{}, fail("MissingParameter", "The request must contain the parameter destinationCidrBlock or destinationIpv6CidrBlock")
	case p.has("DestinationCidrBlock") && p.has("DestinationIpv6CidrBlock"):
		return netip.Prefix{}, fail("InvalidParameterCombination", "The request must contain exactly one destination")
	}
	text, err := parseCIDR(p.str(name), ipv6)
	if err != nil {
		return netip.Prefix{}, fail("InvalidParameterValue", "Value (%s) for parameter %s is invalid. This is not a valid CIDR block.", p.str(name), name)
	}

	return netip.ParsePrefix(text)
}

// wantedTarget sets the target that a request names on a route of the table.
func (c *Cloud) wantedTarget(p params, t *routeTable, r *route) error {
	var targets []string
	for _, name := range []string{"GatewayId", "InstanceId", "NatGatewayId", "NetworkInterfaceId"} {
		if p.str(name) != "" {
			targets = append(targets, name)
		}
	}
	if len(targets) != 1 {
		return fail("InvalidParameterCombination", "The request must contain exactly one of gatewayId, natGatewayId, networkInterfaceId or instanceId")
	}
	id := p.str(targets[0])
	switch targets[0] {
	case "InstanceId":
		found, err := c.findInstances([]string{id}, c.changeable)
		if err != nil {
			return err
		}
		eni, err := c.onlyInterface(found[0])
		if err != nil {
			return err
		}

		return c.target(t, r, eni)
	case "NetworkInterfaceId":
		eni := c.ec2.interfaces.get(id)
		if eni == nil {
			return fail("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", id)
		}

		return c.target(t, r, eni)
	}
	if c.vpc(t.vpc).contains(r.destination) {
		return fail("InvalidParameterValue", "The destination CIDR block %s is equal to or more specific than one of this VPC's CIDR blocks. This route can target only an interface or an instance.", r.destination)
	}
	r.gateway, r.eni = id, ""

	return nil
}

func (c *Cloud) target(t *routeTable, r *route, eni *networkInterface) error {
	if eni.vpc != t.vpc {
		return fail("InvalidParameterValue", "route table %s and network interface %s belong to different networks", t.id, eni.id)
	}
	r.gateway, r.eni = "", eni.id

	return nil
}

// createRoute implements CreateRoute.
func (c *Cloud) createRoute(p params) (any, error) {
	t, err := c.wantedTable(p)
	if err != nil {
		return nil, err
	}
	r := &route{}
	if r.destination, err = wantedDestination(p); err != nil {
		return nil, err
	}
	if err := c.wantedTarget(p, t, r); err != nil {
		return nil, err
	}
	v := c.vpc(t.vpc)
	switch {
	case c.routeTo(t, r.destination) != nil, slices.Contains(v.cidrs, r.destination), r.destination == v.ipv6:
		return nil, fail("RouteAlreadyExists", "The route identified by %s already exists.", r.destination)
	case len(t.routes) >= c.opts.Limits.RoutesPerTable:
		return nil, fail("RouteLimitExceeded", "The maximum number of routes has been reached.")
	}
	t.routes = append(t.routes, r)

	return &done{true}, nil
}

// replaceRoute implements ReplaceRoute.
func (c *Cloud) replaceRoute(p params) (any, error) {
	t, err := c.wantedTable(p)
	if err != nil {
		return nil, err
	}
	destination, err := wantedDestination(p)
	if err != nil {
		return nil, err
	}
	r := c.routeTo(t, destination)
	if r == nil {
		return nil, fail("InvalidParameterValue", "There is no route defined for '%s' in the route table. Use CreateRoute instead.", destination)
	}
	replaced := *r
	if err := c.wantedTarget(p, t, &replaced); err != nil {
		return nil, err
	}
	*r = replaced

	return &done{true}, nil
}

// deleteRoute implements DeleteRoute.
func (c *Cloud) deleteRoute(p params) (any, error) {
	t, err := c.wantedTable(p)
	if err != nil {
		return nil, err
	}
	destination, err := wantedDestination(p)
	if err != nil {
		return nil, err
	}
	r := c.routeTo(t, destination)
	if r == nil {
		return nil, fail("InvalidRoute.NotFound", "no route with destination-cidr-block %s in route table %s", destination, t.id)
	}
	t.routes = slices.DeleteFunc(t.routes, func(other *route) bool { return other == r })

	return &done{true}, nil
}
