package aws

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// createClassic implements CreateLoadBalancer. The same request again returns the
// existing load balancer.
func (c *Cloud) createClassic(p params) (any, error) {
	want, err := c.readClassic(p)
	if err != nil {
		return nil, err
	}
	if b := c.balancers.classics[want.Name]; b != nil {
		if !b.isAs(want) {
			return nil, fail("DuplicateLoadBalancerName", "Load Balancer named '%s' already exists and it is configured with different parameters.", want.Name)
		}

		return lbDNSNameXML{b.DNSName}, nil
	}
	if err := quota(len(c.balancers.classics)+1, c.balancers.quotas.ClassicLoadBalancers, "TooManyLoadBalancers", "classic load balancers"); err != nil {
		return nil, err
	}
	b := &classicBalancer{ClassicLoadBalancer: want, Created: c.created(), registered: make(map[string]time.Time)}
	b.user = "elb " + c.ids.Hex("elb", 8)
	if err := c.moveIn(b, want.Subnets); err != nil {
		return nil, err
	}
	_, domain := partition(c.opts.Region)
	b.DNSName = want.Name + "-" + c.newDigits("elb-name") + "." + c.opts.Region + ".elb." + domain
	if b.Scheme == SchemeInternal {
		b.DNSName = "internal-" + b.DNSName
	}
	c.balancers.classics[b.Name] = b

	return lbDNSNameXML{b.DNSName}, nil
}

// readClassic reads a complete load balancer and checks it.
func (c *Cloud) readClassic(p params) (ClassicLoadBalancer, error) {
	b := ClassicLoadBalancer{
		Name: p.str("LoadBalancerName"), Subnets: p.list("Subnets.member"), SecurityGroups: p.list("SecurityGroups.member"),
		Attributes: defaultClassicAttributes(), Policies: make(map[string]ClassicPolicy), BackendPolicies: make(map[int32][]string),
	}
	if err := checkName("LoadBalancer", b.Name); err != nil {
		return b, err
	}
	listeners := p.structs("Listeners.member")
	switch {
	case len(listeners) == 0:
		return b, invalid("Listeners must not be empty")
	case len(b.Subnets) == 0 && len(p.list("AvailabilityZones.member")) > 0:
		return b, conflict("Default VPC not found")
	case len(b.Subnets) == 0:
		return b, invalid("Either AvailabilityZones or SubnetIds must be specified")
	}
	var err error
	if b.Scheme, err = scheme(p); err != nil {
		return b, err
	}
	subnets, err := c.selectSubnets(b.Subnets, nil, b.Scheme, classicErrors)
	if err != nil {
		return b, err
	}
	b.VPC = subnets[0].vpc
	b.Zones = zonesOf(subnets)
	if err := c.validGroups(b.SecurityGroups, b.VPC, classicErrors); err != nil {
		return b, err
	}
	if len(b.SecurityGroups) == 0 {
		b.SecurityGroups = c.defaultGroup(b.VPC)
	}
	if b.Tags, err = readTags(p); err != nil {
		return b, err
	}
	if err := c.listen(&b, listeners); err != nil {
		return b, err
	}
	b.HealthCheck = ClassicHealthCheck{
		Target: "TCP:" + strconv.Itoa(int(b.Listeners[0].InstancePort)), Interval: 30, Timeout: 5, HealthyThreshold: 10, UnhealthyThreshold: 2,
	}

	return b, nil
}

func zonesOf(subnets []*subnet) []string {
	zones := make([]string, 0, len(subnets))
	for _, s := range subnets {
		zones = append(zones, s.zone)
	}
	slices.Sort(zones)

	return zones
}

// isAs reports whether the load balancer is as the request defines it. What only
// other operations can set does not count.
func (b *classicBalancer) isAs(want ClassicLoadBalancer) bool {
	return b.Scheme == want.Scheme && sameSet(b.Subnets, want.Subnets) && sameSet(b.SecurityGroups, want.SecurityGroups) &&
		maps.Equal(b.Tags, want.Tags) &&
		slices.EqualFunc(b.Listeners, want.Listeners, func(x, y ClassicListener) bool { return x.sameAs(y) })
}

// moveIn makes the network interfaces in new subnets.
func (c *Cloud) moveIn(b *classicBalancer, subnets []string) error {
	for i, id := range subnets {
		err := c.attach(lbInterface{
			user: b.user, description: "ELB " + b.Name, subnet: id, groups: b.SecurityGroups, public: b.Scheme == SchemeInternetFacing,
		})
		if err != nil {
			if i > 0 {
				c.detach(b.user, subnets[:i]...)
			}

			return err
		}
	}

	return nil
}

// newDigits returns digits as the names of classic load balancers have them.
func (c *Cloud) newDigits(kind string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' {
			return r - 'a' + '0'
		}

		return r
	}, c.ids.Hex(kind, 10))
}

// deleteClassic implements DeleteLoadBalancer. It succeeds when there is none.
func (c *Cloud) deleteClassic(p params) (any, error) {
	if err := p.require("LoadBalancerName"); err != nil {
		return nil, err
	}
	name := p.str("LoadBalancerName")
	if b := c.balancers.classics[name]; b != nil && c.changeable(&b.Created) {
		delete(c.balancers.classics, name)
		c.releaseInterfaces(b.user)
	}

	return nil, nil
}

// describeClassic implements DescribeLoadBalancers.
func (c *Cloud) describeClassic(p params) (any, error) {
	var found []*classicBalancer
	if names := p.list("LoadBalancerNames.member"); len(names) > 0 {
		for _, name := range names {
			b := c.balancers.classics[name]
			if b == nil || !c.visible(&b.Created) {
				return nil, noClassic(name)
			}
			found = append(found, b)
		}
		slices.SortFunc(found, func(a, b *classicBalancer) int { return strings.Compare(a.Name, b.Name) })
	} else {
		for _, b := range sortedValues(c.balancers.classics) {
			if c.visible(&b.Created) {
				found = append(found, b)
			}
		}
	}
	found, next, err := page(c, p, markerPager, found, func(b *classicBalancer) string { return b.Name })
	if err != nil {
		return nil, err
	}
	out := lbClassicListXML{NextMarker: next}
	for _, b := range found {
		out.Descriptions = append(out.Descriptions, c.classicWire(b))
	}

	return out, nil
}

// attachClassicSubnets implements AttachLoadBalancerToSubnets.
func (c *Cloud) attachClassicSubnets(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	added := slices.DeleteFunc(p.list("Subnets.member"), func(id string) bool { return slices.Contains(b.Subnets, id) })
	all := slices.Concat(b.Subnets, added)
	subnets, err := c.selectSubnets(all, b.Subnets, b.Scheme, classicErrors)
	if err != nil {
		return nil, err
	}
	if err := c.moveIn(b, added); err != nil {
		return nil, err
	}
	b.Subnets, b.Zones = all, zonesOf(subnets)

	return lbSubnetsXML{b.Subnets}, nil
}

// detachClassicSubnets implements DetachLoadBalancerFromSubnets. One subnet must
// stay.
func (c *Cloud) detachClassicSubnets(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	gone := p.list("Subnets.member")
	for _, id := range gone {
		if !slices.Contains(b.Subnets, id) {
			return nil, conflict("The load balancer %q is not attached to the subnet %s", b.Name, id)
		}
	}
	left := slices.DeleteFunc(slices.Clone(b.Subnets), func(id string) bool { return slices.Contains(gone, id) })
	if len(left) == 0 {
		return nil, conflict("Requested configuration change for LoadBalancer %q is invalid because you attempted to detach all the subnets for this LoadBalancer and a LoadBalancer cannot be attached to zero subnets in VPC.", b.Name)
	}
	subnets, err := c.selectSubnets(left, left, b.Scheme, classicErrors)
	if err != nil {
		return nil, err
	}
	if len(gone) > 0 {
		c.releaseInterfaces(b.user, gone...)
	}
	b.Subnets, b.Zones = left, zonesOf(subnets)

	return lbSubnetsXML{b.Subnets}, nil
}

// applyClassicGroups implements ApplySecurityGroupsToLoadBalancer.
func (c *Cloud) applyClassicGroups(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	groups := p.list("SecurityGroups.member")
	if len(groups) == 0 {
		return nil, invalid("SecurityGroups must not be empty")
	}
	if err := c.validGroups(groups, b.VPC, classicErrors); err != nil {
		return nil, err
	}
	b.SecurityGroups = groups
	c.regroup(b.user, groups)

	return lbGroupsXML{groups}, nil
}
