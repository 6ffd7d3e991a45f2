// Package vpc reads the network that the cluster is in: subnets, route tables
// and availability zones.
//
// What it promises: it reads what load balancers and nodes need with few,
// filtered and paged calls, and caches it for a short time; pure functions
// choose the subnets of a load balancer.
package vpc

import "net/netip"

// Subnet is a subnet of the VPC.
type Subnet struct {
	ID               string
	AvailabilityZone string
	CIDR             netip.Prefix
	// Outpost is the ARN of the Outpost that the subnet is on, empty if it is on none.
	Outpost string
	Tags    map[string]string
}

// RouteTable determines which subnets are public: those with a route to an
// internet gateway.
type RouteTable struct {
	ID string
	// Main is set on the table of all subnets without a table of their own.
	Main    bool
	Subnets []string
	Public  bool
}

// Zone is an availability zone, a local zone or a wavelength zone.
type Zone struct {
	Name string
	ID   string
	// Type is "availability-zone", "local-zone" or "wavelength-zone", empty
	// where AWS does not return it.
	Type string
}
