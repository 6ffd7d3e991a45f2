package aws

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// VPCSpec describes a VPC.
type VPCSpec struct {
	// ID is made up when empty.
	ID string
	// CIDR is its IPv4 range.
	CIDR string
	// IPv6CIDR is its IPv6 range, if it has one.
	IPv6CIDR string
	// Tags are its tags.
	Tags map[string]string
}

// SubnetSpec describes a subnet.
type SubnetSpec struct {
	// ID is made up when empty.
	ID string
	// VPC is the ID of its VPC.
	VPC string
	// Zone is the name of its availability zone.
	Zone string
	// CIDR and IPv6CIDR are its ranges; the latter may be empty.
	CIDR, IPv6CIDR string
	// Outpost is the ARN of the Outpost that the subnet is on; empty for none.
	Outpost string
	// Tags are its tags.
	Tags map[string]string
}

// must panics: a builder that fails is an error of the test.
func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("build simulated cloud: %v", err))
	}

	return value
}

func wrong(format string, args ...any) { must(0, fmt.Errorf(format, args...)) }

func parseOptional(cidr string) netip.Prefix {
	if cidr == "" {
		return netip.Prefix{}
	}

	return must(netip.ParsePrefix(cidr)).Masked()
}

// orNew returns the wanted ID, if it is free, or a new one.
func orNew[T any](c *Cloud, s *store[T], wanted, prefix string) string {
	if wanted == "" {
		return c.newID(prefix)
	}
	if _, taken := s.byID[wanted]; taken {
		wrong("%s exists already", wanted)
	}

	return wanted
}

// AddVPC makes a VPC with a main route table and a default security group, and
// returns its ID. Like all methods of the builder, it panics when the spec
// is invalid.
func (c *Cloud) AddVPC(spec VPCSpec) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &vpc{
		tagged: newTagged(spec.Tags, true), Created: c.created(), id: orNew(c, &c.ec2.vpcs, spec.ID, "vpc"),
		cidrs: []netip.Prefix{parseOptional(spec.CIDR)}, ipv6: parseOptional(spec.IPv6CIDR),
	}
	c.ec2.vpcs.put(v.id, v)
	c.addTable(&routeTable{vpc: v.id, main: true}, RouteTableSpec{})
	c.addGroup(SecurityGroupSpec{VPC: v.id, Name: defaultGroup, Description: "default VPC security group"})

	return v.id
}

// AddCIDR associates a secondary IPv4 range with a VPC.
func (c *Cloud) AddCIDR(vpc, cidr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.vpc(vpc)
	if v == nil {
		wrong("no VPC %q", vpc)
	}
	v.cidrs = append(v.cidrs, parseOptional(cidr))
}

// AddSubnet makes a subnet and returns its ID.
func (c *Cloud) AddSubnet(spec SubnetSpec) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.vpc(spec.VPC)
	if v == nil {
		wrong("no VPC %q", spec.VPC)
	}
	if _, ok := c.zone(spec.Zone); !ok {
		wrong("no zone %q", spec.Zone)
	}
	s := &subnet{
		tagged: newTagged(spec.Tags, true), Created: c.created(), id: orNew(c, &c.ec2.subnets, spec.ID, "subnet"),
		vpc: spec.VPC, zone: spec.Zone, cidr: parseOptional(spec.CIDR), ipv6: parseOptional(spec.IPv6CIDR),
		used: make(map[netip.Addr]bool), outpost: spec.Outpost,
	}
	if !v.contains(s.cidr) {
		wrong("subnet range %q is not within %s", spec.CIDR, v.cidrs)
	}
	s.next = first(s.cidr)
	if s.ipv6.IsValid() {
		s.next6 = first(s.ipv6)
	}
	c.ec2.subnets.put(s.id, s)

	return s.id
}

// AddAllocation makes an Elastic IP address and returns its allocation ID and
// the address.
func (c *Cloud) AddAllocation() (id, publicIP string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &allocation{tagged: newTagged(nil, true), Created: c.created(), id: c.newID("eipalloc"), publicIP: c.newPublicIP()}
	c.ec2.allocations.put(a.id, a)

	return a.id, a.publicIP.String()
}

// SetTags replaces the tags of an instance, subnet, security group or another
// resource with an ID, as another client would.
func (c *Cloud) SetTags(id string, tags map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.taggedBy(id)
	if t == nil {
		wrong("nothing has the ID %q", id)
	}
	*t = newTagged(tags, true)
}

// Tags returns the tags of the resource with the ID, nil when there is none.
func (c *Cloud) Tags(id string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.taggedBy(id); t != nil {
		return maps.Clone(t.tags)
	}

	return nil
}

// taggedBy returns the tags of the resource with the ID, or nil.
func (c *Cloud) taggedBy(id string) *tagged {
	if t, _ := c.taggable(id); t != nil {
		return t
	}

	return nil
}

func (c *Cloud) mustInstance(id string) *instance {
	i := c.instance(id)
	if i == nil {
		wrong("no instance %q", id)
	}

	return i
}

// checkGroups panics unless the groups exist in the VPC.
func (c *Cloud) checkGroups(vpc string, ids []string) {
	for _, id := range ids {
		if g := c.group(id); g == nil || g.vpc != vpc {
			wrong("no security group %q in %s", id, vpc)
		}
	}
}

// allocateAll takes the addresses in the subnet, or the next free one for none.
func (s *subnet) allocateAll(wanted []string) []netip.Addr {
	if len(wanted) == 0 {
		addr, ok := s.take()
		if !ok {
			wrong("no free address in %s", s.id)
		}

		return []netip.Addr{addr}
	}
	addrs := make([]netip.Addr, 0, len(wanted))
	for _, text := range wanted {
		addr := must(netip.ParseAddr(text))
		if !s.allocate(addr) {
			wrong("address %s is not free in %s", addr, s.id)
		}
		addrs = append(addrs, addr)
	}

	return addrs
}

func parseAddrs(wanted []string) []netip.Addr {
	addrs := make([]netip.Addr, 0, len(wanted))
	for _, text := range wanted {
		addrs = append(addrs, must(netip.ParseAddr(text)))
	}

	return slices.Clip(addrs)
}

// launchTime is the launch time of the instances that the builder makes: an hour
// before the present time of the cloud's clock.
func (c *Cloud) launchTime() time.Time { return c.opts.Clock.Now().Add(-time.Hour) }
