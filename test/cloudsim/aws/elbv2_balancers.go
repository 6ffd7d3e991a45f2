package aws

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// createNetwork implements CreateLoadBalancer. The same request again returns the
// existing load balancer.
func (c *Cloud) createNetwork(p params) (any, error) {
	want, err := c.readNetwork(p)
	if err != nil {
		return nil, err
	}
	if n := c.networkByName(want.name); n != nil {
		if !n.isAs(want) {
			return nil, fail("DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", want.name)
		}

		return lbNetworksXML{LoadBalancers: []lbNetworkXML{c.networkWire(n)}}, nil
	}
	if err := quota(len(c.balancers.networks)+1, c.balancers.quotas.NetworkLoadBalancers, "TooManyLoadBalancers", "network load balancers"); err != nil {
		return nil, err
	}
	for _, m := range want.mappings {
		if err := c.checkMapping(m, want.scheme); err != nil {
			return nil, err
		}
	}
	n := &want
	id := c.ids.Hex("loadbalancer", 16)
	_, domain := partition(c.opts.Region)
	n.Created = c.created()
	n.arn = c.balancerARN("loadbalancer/net/" + n.name + "/" + id)
	n.dns = n.name + "-" + id + ".elb." + c.opts.Region + "." + domain
	n.active = c.opts.Clock.Now().Add(c.balancers.delays.Provisioning)
	n.attributes = defaultNetworkAttributes(n.scheme)
	if err := c.addInterfaces(n, n.mappings); err != nil {
		return nil, err
	}
	c.balancers.networks[n.arn] = n
	out := c.networkWire(n)
	out.State = &lbStateXML{Code: "provisioning"} // it always begins so

	return lbNetworksXML{LoadBalancers: []lbNetworkXML{out}}, nil
}

// readNetwork reads a load balancer and checks what does not change.
func (c *Cloud) readNetwork(p params) (network, error) {
	n := network{name: p.str("Name"), groups: p.list("SecurityGroups.member")}
	n.grouped = len(n.groups) > 0
	if err := checkName("Load balancer", n.name); err != nil {
		return n, err
	}
	if strings.HasPrefix(n.name, "internal-") {
		return n, invalid("Load balancer name '%s' cannot begin with 'internal-'", n.name)
	}
	if kind := cmp.Or(p.str("Type"), "application"); kind != "network" {
		return n, invalid("Load balancers of type '%s' are not simulated, only those of type 'network'", kind)
	}
	if kind := p.str("IpAddressType"); kind != "" && kind != "ipv4" {
		return n, configuration("IP address type '%s' needs subnets with IPv6 CIDR blocks, which are not simulated", kind)
	}
	var err error
	if n.scheme, err = scheme(p); err != nil {
		return n, err
	}
	if n.mappings, err = c.readMappings(p, n.scheme); err != nil {
		return n, err
	}
	n.vpc = c.subnet(n.mappings[0].Subnet).vpc
	if err := c.validGroups(n.groups, n.vpc, networkErrors); err != nil {
		return n, err
	}
	n.tags, err = readTags(p)

	return n, err
}

// readMappings returns the subnets of a request, in the order of their zones.
func (c *Cloud) readMappings(p params, scheme string) ([]SubnetMapping, error) {
	var mappings []SubnetMapping
	for _, id := range p.list("Subnets.member") {
		mappings = append(mappings, SubnetMapping{Subnet: id})
	}
	structs := p.structs("SubnetMappings.member")
	if (len(mappings) == 0) == (len(structs) == 0) {
		return nil, invalid("You must specify either subnets or subnet mappings")
	}
	for _, m := range structs {
		mappings = append(mappings, SubnetMapping{m.str("SubnetId"), "", m.str("AllocationId"), m.str("PrivateIPv4Address")})
	}
	ids := make([]string, 0, len(mappings))
	addressed := 0
	for _, m := range mappings {
		ids = append(ids, m.Subnet)
		if m.Allocation != "" {
			addressed++
		}
	}
	if addressed > 0 && addressed < len(mappings) {
		return nil, configuration("You must specify either allocation IDs for all subnets or for none")
	}
	subnets, err := c.selectSubnets(ids, nil, scheme, networkErrors)
	if err != nil {
		return nil, err
	}
	for i, s := range subnets {
		mappings[i].Zone = s.zone
	}
	slices.SortFunc(mappings, func(a, b SubnetMapping) int { return strings.Compare(a.Zone, b.Zone) })

	return mappings, nil
}

// checkMapping checks the addresses that a load balancer shall have in a subnet.
func (c *Cloud) checkMapping(m SubnetMapping, scheme string) error {
	if m.Allocation != "" {
		a := c.allocation(m.Allocation)
		switch {
		case scheme != SchemeInternetFacing:
			return configuration("Allocation IDs cannot be specified for an internal load balancer")
		case a == nil:
			return fail("AllocationIdNotFound", "The allocation IDs '%s' do not exist", m.Allocation)
		case a.networkInterface != "":
			return fail("ResourceInUse", "The allocation IDs '%s' are not available for use", m.Allocation)
		}
	}
	if m.PrivateIPv4 == "" {
		return nil
	}
	if scheme != SchemeInternal {
		return configuration("Private IPv4 addresses can only be specified for an internal load balancer")
	}
	s := c.subnet(m.Subnet)
	addr, err := netip.ParseAddr(m.PrivateIPv4)
	if err != nil || !s.cidr.Contains(addr) {
		return configuration("The private IPv4 address '%s' is not in the range of the subnet '%s'", m.PrivateIPv4, m.Subnet)
	}
	if s.used[addr] {
		return configuration("The private IPv4 address '%s' is already in use", m.PrivateIPv4)
	}

	return nil
}

// isAs reports whether the load balancer is as the request defines it.
func (n *network) isAs(want network) bool {
	return n.scheme == want.scheme && slices.Equal(n.mappings, want.mappings) && sameSet(n.groups, want.groups) &&
		maps.Equal(n.tags, want.tags)
}

// addInterfaces makes the network interfaces of new mappings, or none of them.
func (c *Cloud) addInterfaces(n *network, mappings []SubnetMapping) error {
	for i, m := range mappings {
		addr, _ := netip.ParseAddr(m.PrivateIPv4) // checked before; zero when there is none
		err := c.attach(lbInterface{
			user: n.arn, description: "ELB " + strings.TrimPrefix(n.arn, c.balancerARN("loadbalancer/")), kind: "network_load_balancer",
			subnet: m.Subnet, groups: n.groups, allocation: m.Allocation, privateIP: addr, public: n.scheme == SchemeInternetFacing,
		})
		if err != nil {
			for _, done := range mappings[:i] {
				c.detach(n.arn, done.Subnet)
			}

			return err
		}
	}

	return nil
}

// deleteNetwork implements DeleteLoadBalancer. It succeeds when there is none.
// Target groups stay.
func (c *Cloud) deleteNetwork(p params) (any, error) {
	arn, err := c.arnOf(p, "LoadBalancerArn", "loadbalancer")
	if err != nil {
		return nil, err
	}
	n := c.balancers.networks[arn]
	if n == nil || !c.changeable(&n.Created) {
		return nil, nil
	}
	if n.attributes["deletion_protection.enabled"] == "true" {
		return nil, fail("OperationNotPermitted", "Load balancer '%s' cannot be deleted because deletion protection is enabled", arn)
	}
	for _, l := range c.listenersOf(arn) {
		delete(c.balancers.listeners, l.arn)
		c.release(l.group)
	}
	delete(c.balancers.networks, arn)
	c.releaseInterfaces(arn)

	return nil, nil
}

// describeNetworks implements DescribeLoadBalancers.
func (c *Cloud) describeNetworks(p params) (any, error) {
	arns, names := p.list("LoadBalancerArns.member"), p.list("Names.member")
	if len(arns) > 0 && len(names) > 0 {
		return nil, invalid("Load balancer names and load balancer ARNs cannot be specified at the same time")
	}
	if n := len(arns) + len(names); n > tagNames {
		return nil, invalid("No more than %d load balancers can be described by name or ARN, not %d", tagNames, n)
	}
	var found []*network
	for _, n := range sortedValues(c.balancers.networks) {
		named := slices.Contains(arns, n.arn) || slices.Contains(names, n.name)
		if (named || len(arns)+len(names) == 0) && c.visible(&n.Created) {
			found = append(found, n)
		}
	}
	for _, want := range slices.Concat(arns, names) {
		if !slices.ContainsFunc(found, func(n *network) bool { return n.arn == want || n.name == want }) {
			return nil, noNetwork(want)
		}
	}
	found, next, err := page(c, p, markerPager, found, func(n *network) string { return n.arn })
	if err != nil {
		return nil, err
	}
	out := lbNetworksXML{NextMarker: next}
	for _, n := range found {
		out.LoadBalancers = append(out.LoadBalancers, c.networkWire(n))
	}

	return out, nil
}

// setNetworkGroups implements SetSecurityGroups.
func (c *Cloud) setNetworkGroups(p params) (any, error) {
	n, err := c.networkOf(p)
	if err != nil {
		return nil, err
	}
	groups := p.list("SecurityGroups.member")
	switch {
	case !n.grouped:
		return nil, configuration("You cannot set security groups on a Network Load Balancer which was created without any security groups.")
	case len(groups) == 0:
		return nil, configuration("You cannot remove all security groups of a Network Load Balancer.")
	}
	if err := c.validGroups(groups, n.vpc, networkErrors); err != nil {
		return nil, err
	}
	n.groups = groups
	c.regroup(n.arn, groups)

	return lbGroupIDsXML{"on", groups}, nil
}
