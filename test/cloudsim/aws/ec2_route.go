package aws

import "net/netip"

// routeTable is a table with its routes; the local ones are implied.
type routeTable struct {
	tagged
	birth
	id, vpc string
	main    bool
	subnets []string // explicit associations
	routes  []*route
	given   bool
}

type route struct {
	destination netip.Prefix
	gateway     string // igw-…, vgw-…, or a NAT gateway nat-…
	eni         string
	instance    string // as it was when the route was made
	given       bool
}
