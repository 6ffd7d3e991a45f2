package aws

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// ec2State is the state of EC2. The cloud's mu guards it.
type ec2State struct {
	vpcs        store[*vpc]
	subnets     store[*subnet]
	tables      store[*routeTable]
	groups      store[*securityGroup]
	instances   store[*instance]
	interfaces  store[*networkInterface]
	allocations store[*allocation]
	queries     queries
	lost        []string // what the builder made and clients deleted

	hideRouteInstances bool // see SetRouteInstances
}

// store holds resources by ID and lists them in the order of their IDs.
type store[T any] struct {
	byID  map[string]T
	order []string // nil when it has to be made again
}

func (s *store[T]) get(id string) T { return s.byID[id] }

func (s *store[T]) put(id string, resource T) {
	if s.byID == nil {
		s.byID = make(map[string]T)
	}
	s.byID[id] = resource
	s.order = nil
}

func (s *store[T]) remove(id string) {
	delete(s.byID, id)
	s.order = nil
}

// all returns everything in the order of the IDs.
func (s *store[T]) all() []T {
	if s.order == nil {
		s.order = slices.Sorted(maps.Keys(s.byID))
	}
	resources := make([]T, len(s.order))
	for i, id := range s.order {
		resources[i] = s.byID[id]
	}

	return resources
}

// tagged is a resource with tags: those of the builder and the present ones.
type tagged struct{ tags, given map[string]string }

func newTagged(tags map[string]string, given bool) tagged {
	t := tagged{tags: maps.Clone(tags)}
	if t.tags == nil {
		t.tags = make(map[string]string)
	}
	if given {
		t.given = maps.Clone(tags)
	}

	return t
}

type vpc struct {
	tagged
	simstate.Created
	id    string
	cidrs []netip.Prefix // the primary one first
	ipv6  netip.Prefix   // zero without
}

// contains reports whether an IPv4 range is within one of the VPC.
func (v *vpc) contains(cidr netip.Prefix) bool {
	return slices.ContainsFunc(v.cidrs, func(own netip.Prefix) bool { return own.Overlaps(cidr) && cidr.Bits() >= own.Bits() })
}

type subnet struct {
	tagged
	simstate.Created
	id, vpc, zone string
	cidr          netip.Prefix
	ipv6          netip.Prefix // zero without
	used          map[netip.Addr]bool
	next, next6   netip.Addr
	outpost       string
}

// reserved is the number of addresses that AWS keeps in a subnet.
const reserved = 5

// free returns the number of IPv4 addresses that are left.
func (s *subnet) free() int { return max(0, 1<<(32-s.cidr.Bits())-reserved-len(s.used)) }

// take returns the next free IPv4 address and whether there is one.
func (s *subnet) take() (netip.Addr, bool) {
	if s.free() == 0 {
		return netip.Addr{}, false
	}
	for {
		addr := s.next
		s.next = addr.Next()
		if !s.cidr.Contains(s.next.Next()) { // the last address is for broadcasts
			s.next = first(s.cidr)
		}
		if !s.used[addr] {
			s.used[addr] = true

			return addr, true
		}
	}
}

// allocate takes the address and reports whether it was free.
func (s *subnet) allocate(addr netip.Addr) bool {
	if !s.cidr.Contains(addr) || s.used[addr] {
		return false
	}
	s.used[addr] = true

	return true
}

func (s *subnet) release(addr netip.Addr) { delete(s.used, addr) }

// take6 returns the next IPv6 address, which there always is.
func (s *subnet) take6() netip.Addr {
	addr := s.next6
	s.next6 = addr.Next()

	return addr
}

// first returns the first address of a subnet that is not AWS's own.
func first(cidr netip.Prefix) netip.Addr {
	addr := cidr.Masked().Addr()
	for range reserved - 1 {
		addr = addr.Next()
	}

	return addr
}

// networkInterface is an ENI.
type networkInterface struct {
	tagged
	simstate.Created
	id, subnet, vpc, zone string
	description, kind     string // kind: interface, network_load_balancer
	mac                   string
	status                string // available, in-use
	groups                []string
	addrs                 []netip.Addr // primary first
	addrs6                []netip.Addr
	privateDNS            string
	publicIP              netip.Addr
	publicDNS             string
	allocation            string
	sourceDestCheck       bool
	wantsPublic           bool        // gets a public address whenever its instance runs
	attachment            *attachment // nil when available
	user                  string      // its owner, such as a load balancer; empty for instances
	requester             string
}

type attachment struct {
	id, instance, status string // instance empty for interfaces of AWS services
	device               int32
	owner                string
	at                   time.Time
}

// allocation is an Elastic IP address.
type allocation struct {
	tagged
	simstate.Created
	id               string
	publicIP         netip.Addr
	networkInterface string
}

// subnet, group, instance and allocation return what has the ID, or nil. The
// caller holds mu.
func (c *Cloud) subnet(id string) *subnet         { return c.ec2.subnets.get(id) }
func (c *Cloud) group(id string) *securityGroup   { return c.ec2.groups.get(id) }
func (c *Cloud) instance(id string) *instance     { return c.ec2.instances.get(id) }
func (c *Cloud) allocation(id string) *allocation { return c.ec2.allocations.get(id) }
func (c *Cloud) vpc(id string) *vpc               { return c.ec2.vpcs.get(id) }

// interfacesOf returns the network interfaces of an instance in the order of
// their device index.
func (c *Cloud) interfacesOf(i *instance) []*networkInterface {
	found := make([]*networkInterface, 0, len(i.interfaces))
	for _, id := range i.interfaces {
		if eni := c.ec2.interfaces.get(id); eni != nil {
			found = append(found, eni)
		}
	}
	slices.SortStableFunc(found, func(a, b *networkInterface) int {
		return cmp.Compare(a.attachment.device, b.attachment.device)
	})

	return found
}

// groupsOf returns the IDs of an instance's security groups: those of its
// primary network interface.
func (c *Cloud) groupsOf(i *instance) []string {
	for _, eni := range c.interfacesOf(i) {
		return eni.groups
	}

	return nil
}

// lbInterface describes a network interface of a load balancer.
type lbInterface struct {
	user        string // key for detach, such as the ARN of the load balancer
	description string // "ELB my-name", "ELB net/my-name/50dc6c495c0c9188"
	kind        string // "interface" or "network_load_balancer"
	subnet      string
	groups      []string
	allocation  string     // Elastic IP to associate, or empty
	privateIP   netip.Addr // wanted address, or zero
	public      bool       // gets a public address without allocation
}

// attach makes a network interface for a load balancer; the groups are in use
// until detach. Subnet, groups and allocation must exist. The caller holds mu.
func (c *Cloud) attach(want lbInterface) error {
	s := c.subnet(want.subnet)
	addr := want.privateIP
	if addr.IsValid() {
		if !s.allocate(addr) {
			return fail("InvalidConfigurationRequest", "The private IPv4 address '%s' is not available in subnet '%s'", addr, s.id)
		}
	} else {
		var ok bool
		if addr, ok = s.take(); !ok {
			return fail("InvalidSubnet", "Not enough IP space available in %s.", s.id)
		}
	}
	eni := c.newInterface(s, []netip.Addr{addr}, want.groups)
	eni.user, eni.description, eni.kind = want.user, want.description, cmp.Or(want.kind, "interface")
	eni.requester, eni.status = "amazon-elb", "in-use"
	eni.attachment = &attachment{id: c.newID("ela-attach"), status: "attached", device: 1, owner: "amazon-elb", at: c.opts.Clock.Now()}
	if a := c.allocation(want.allocation); a != nil {
		a.networkInterface = eni.id
		eni.allocation = a.id
		c.assignPublicIP(eni, a.publicIP)
	} else if want.public {
		c.assignPublicIP(eni, c.newPublicIP())
	}

	return nil
}

// interfacesFor returns the network interfaces that attach made for a user.
func (c *Cloud) interfacesFor(user string) []*networkInterface {
	var found []*networkInterface
	for _, eni := range c.ec2.interfaces.all() {
		if eni.user == user && user != "" {
			found = append(found, eni)
		}
	}

	return found
}

// regroup sets the security groups of a user's network interfaces.
func (c *Cloud) regroup(user string, groups []string) {
	for _, eni := range c.interfacesFor(user) {
		eni.groups = slices.Clone(groups)
	}
}

// detach removes a user's network interfaces, those in one of the subnets only
// if any are given.
func (c *Cloud) detach(user string, subnets ...string) {
	for _, eni := range c.interfacesFor(user) {
		if len(subnets) == 0 || slices.Contains(subnets, eni.subnet) {
			c.dropInterface(eni)
		}
	}
}

// newInterface makes a network interface that nothing is attached to.
func (c *Cloud) newInterface(s *subnet, addrs []netip.Addr, groups []string) *networkInterface {
	eni := &networkInterface{
		tagged: newTagged(nil, true), Created: c.created(),
		id: c.newID("eni"), subnet: s.id, vpc: s.vpc, zone: s.zone, kind: "interface",
		mac: c.newMAC(), status: "available", groups: slices.Clone(groups), addrs: addrs, sourceDestCheck: true,
	}
	c.ec2.interfaces.put(eni.id, eni)

	return eni
}

// dropInterface removes a network interface and frees what it held.
func (c *Cloud) dropInterface(eni *networkInterface) {
	s := c.subnet(eni.subnet)
	for _, addr := range eni.addrs {
		s.release(addr)
	}
	if a := c.allocation(eni.allocation); a != nil {
		a.networkInterface = ""
	}
	c.ec2.interfaces.remove(eni.id)
}

func (c *Cloud) newMAC() string {
	h := c.ids.Hex("mac", 10)

	return "02:" + h[:2] + ":" + h[2:4] + ":" + h[4:6] + ":" + h[6:8] + ":" + h[8:10]
}

// newPublicIP returns an unused address of 100.64.0.0/10.
func (c *Cloud) newPublicIP() netip.Addr {
	n := c.ids.Next("public")

	return netip.AddrFrom4([4]byte{100, 64 + byte(n>>16&0x3f), byte(n >> 8), byte(n)})
}
