package aws

import (
	"slices"
	"strings"
)

// errorCodes are the error codes that the two APIs have for the same mistake.
type errorCodes struct {
	configuration func(format string, args ...any) error
	sameZone      string // message
}

var (
	classicErrors = errorCodes{conflict, "ELB cannot be attached to multiple subnets in the same AZ."}
	networkErrors = errorCodes{
		func(format string, args ...any) error { return fail("InvalidConfigurationRequest", format, args...) },
		"A load balancer cannot be attached to multiple subnets in the same Availability Zone",
	}
)

// selectSubnets returns the subnets of a load balancer: they exist, are in one
// VPC and in different zones, and have enough free addresses unless it already
// uses them.
func (c *Cloud) selectSubnets(ids, before []string, scheme string, codes errorCodes) ([]*subnet, error) {
	zones := make(map[string]bool)
	subnets := make([]*subnet, 0, len(ids))
	for _, id := range ids {
		s := c.subnet(id)
		if s == nil {
			return nil, fail("SubnetNotFound", "The subnet ID '%s' does not exist", id)
		}
		// Neither classic nor network load balancers are there:
		// https://github.com/kubernetes-sigs/aws-load-balancer-controller/pull/1627
		// https://github.com/openshift/openshift-docs/pull/71263
		if s.outpost != "" {
			return nil, fail("InvalidSubnet", "The subnet '%s' is on the Outpost '%s', which is not supported", id, s.outpost)
		}
		if zones[s.zone] {
			return nil, codes.configuration("%s", codes.sameZone)
		}
		zones[s.zone] = true
		if len(subnets) > 0 && s.vpc != subnets[0].vpc {
			return nil, fail("InvalidSubnet", "Subnets must belong to the same VPC")
		}
		if s.free() < freeAddresses && !slices.Contains(before, id) {
			return nil, fail("InvalidSubnet", "Not enough IP space available in %s. ELB requires at least %d free IP addresses in each subnet.", id, freeAddresses)
		}
		subnets = append(subnets, s)
	}
	if len(subnets) > 0 && scheme == SchemeInternetFacing && !c.hasGateway(subnets[0].vpc) {
		return nil, fail("InvalidSubnet", "VPC %s has no internet gateway", subnets[0].vpc)
	}

	return subnets, nil
}

// hasGateway reports whether some route table of the VPC leads to the internet.
func (c *Cloud) hasGateway(vpc string) bool {
	for _, table := range c.ec2.tables.all() {
		if table.vpc == vpc && slices.ContainsFunc(table.routes, func(r *route) bool { return strings.HasPrefix(r.gateway, "igw-") }) {
			return true
		}
	}

	return false
}

// validGroups checks the security groups of a load balancer in a VPC.
func (c *Cloud) validGroups(ids []string, vpc string, codes errorCodes) error {
	if most := c.balancers.quotas.SecurityGroups; len(ids) > most {
		return codes.configuration("A load balancer cannot have more than %d security groups", most)
	}
	seen := make(map[string]bool)
	for _, id := range ids {
		g := c.group(id)
		if g == nil || !c.changeable(&g.Created) || !c.propagated(g) {
			return fail("InvalidSecurityGroup", "One or more security groups are invalid: the security group '%s' does not exist", id)
		}
		if g.vpc != vpc {
			return codes.configuration("One or more security groups are invalid: '%s' is not in %s", id, vpc)
		}
		if seen[id] {
			return codes.configuration("The security group '%s' was specified more than once", id)
		}
		seen[id] = true
	}

	return nil
}

// defaultGroup returns what a classic load balancer gets that names no groups.
func (c *Cloud) defaultGroup(vpc string) []string {
	for _, g := range c.ec2.groups.all() {
		if g.vpc == vpc && g.name == "default" {
			return []string{g.id}
		}
	}

	return nil
}

// scheme returns the scheme in the request.
func scheme(p params) (string, error) {
	switch s := p.str("Scheme"); s {
	case "", SchemeInternetFacing:
		return SchemeInternetFacing, nil
	case SchemeInternal:
		return SchemeInternal, nil
	default:
		return "", fail("InvalidScheme", "Scheme '%s' is not valid", s)
	}
}

// sameSet reports whether two lists have the same elements in any order.
func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))

	return slices.Equal(a, b)
}

// releaseInterfaces deletes the network interfaces of a user when the deletion
// delay has passed: all of them, or those in the subnets.
func (c *Cloud) releaseInterfaces(user string, subnets ...string) {
	c.after(c.balancers.delays.NetworkInterfaces, func(c *Cloud) { c.detach(user, subnets...) })
}
