package openstack

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// NetworkSpec is a network to add. Only Name is needed.
type NetworkSpec struct {
	// Name is the name, which need not be unique.
	Name string
	// ID is a UUID; by default a new one.
	ID string
	// Region is the region's name; default the first one.
	Region string
	// Project is the name of its project; default [ProjectCCM], and [ProjectAdmin]
	// for an external or shared one.
	Project string
	// External networks are those that floating IPs and gateways of routers are from.
	External bool
	// Default marks the external network that is_default.
	Default bool
	// Shared networks can be used by all projects.
	Shared bool
	// NoPortSecurity is the default of ports in it.
	NoPortSecurity bool
	// Tags are its tags.
	Tags []string
}

// AddNetwork adds a network and returns its ID.
func (c *Cloud) AddNetwork(spec NetworkSpec) string {
	var id string
	c.inspect(func() {
		r := c.region(spec.Region)
		owner := ProjectCCM
		if spec.External || spec.Shared {
			owner = ProjectAdmin
		}
		n := &network{
			standard: c.givenStandard("network", spec.ID, spec.Name, cmp.Or(spec.Project, owner)), mtu: 1450, kind: "vxlan",
			external: spec.External, isDefault: spec.Default, shared: spec.Shared, noPortSecurity: spec.NoPortSecurity,
		}
		n.segment, n.tags = 100+r.neutron.networks.len(), sorted(slices.Clone(spec.Tags))
		r.neutron.networks.put(n.id, n)
		r.neutron.keep(n.id)
		id = n.id
	})

	return id
}

// givenStandard returns the attributes of a resource of a test.
func (c *Cloud) givenStandard(kind, id, name, project string) standard {
	s := c.newStandard(kind, name, c.keystone.project(project).id)
	s.id = cmp.Or(id, s.id)

	return s
}

// SubnetSpec is a subnet to add. Network and CIDR are needed.
type SubnetSpec struct {
	// Network is the ID of its network.
	Network string
	// CIDR is the prefix: 10.0.0.0/24 or fd00::/64.
	CIDR string
	// ID is a UUID; by default a new one.
	ID string
	// Name is the name, which need not be unique.
	Name string
	// Gateway is the gateway's address; default the first host address. None is for
	// a subnet without.
	Gateway string
	// Pools are the ranges that ports get addresses from, as "10.0.0.10-10.0.0.20";
	// default all host addresses but the gateway.
	Pools []string
	// SLAAC makes ports compute their addresses; each port in the network has one.
	SLAAC bool
	// Tags are its tags.
	Tags []string
}

// None is no value, where an empty one is the default.
const None = "none"

// AddSubnet adds a subnet, of the project of its network, and returns its ID.
func (c *Cloud) AddSubnet(spec SubnetSpec) string {
	var id string
	c.inspect(func() {
		r, in := c.networkOf(spec.Network)
		n := &subnet{standard: c.newStandard("subnet", spec.Name, in.projectID), networkID: in.id}
		n.id, n.revision, n.tags = cmp.Or(spec.ID, n.id), 0, sorted(slices.Clone(spec.Tags))
		n.cidr = netip.MustParsePrefix(spec.CIDR).Masked()
		if spec.SLAAC {
			n.raMode, n.mode = "slaac", "slaac"
		}
		switch spec.Gateway {
		case "":
			n.gateway = n.cidr.Addr().Next()
		case None:
		default:
			n.gateway = netip.MustParseAddr(spec.Gateway)
		}
		n.pools = standardPools(n.cidr, n.gateway)
		if spec.Pools != nil {
			n.pools = nil
		}
		for _, text := range spec.Pools {
			begin, end, _ := strings.Cut(text, "-")
			n.pools = append(n.pools, addressRange{netip.MustParseAddr(begin), netip.MustParseAddr(end)})
		}
		r.neutron.subnets.put(n.id, n)
		r.neutron.keep(n.id)
		id = n.id
	})

	return id
}

// PortSpec is a port to add. Only Network is needed.
type PortSpec struct {
	// Network is the ID of its network.
	Network string
	// ID is a UUID; by default a new one.
	ID string
	// Name is the name, which need not be unique.
	Name string
	// Project is the name of its project; default that of the network.
	Project string
	// IPs are its fixed addresses; default one of each IP version that the network
	// has, and an empty list means none. One of each stateless subnet of the network
	// comes in addition.
	IPs []string
	// Server is the ID of the server that it belongs to. The port stays when the
	// server is deleted.
	Server string
	// Groups are the IDs of its security groups; default that with the name default
	// of its project.
	Groups []string
	// AddressPairs are IP addresses or prefixes that it may use in addition.
	AddressPairs []string
	// NoPortSecurity is a port without security groups and address pairs.
	NoPortSecurity bool
	// DeviceOwner is what it is for; default compute:nova with a server.
	DeviceOwner string
	// Status is one of Neutron's; default ACTIVE with a server, and DOWN.
	Status string
	// Tags are its tags.
	Tags []string
}

// AddPort adds a port and returns its ID. Nova shows its addresses after
// [Delays].AddressCache.
func (c *Cloud) AddPort(spec PortSpec) string {
	var id string
	c.inspect(func() {
		r, in := c.networkOf(spec.Network)
		p := &port{
			standard: c.newStandard("port", spec.Name, in.projectID), networkID: in.id, mac: c.newMAC(), vnicType: "normal",
			status: cmp.Or(spec.Status, "DOWN"), owner: spec.DeviceOwner, insecure: spec.NoPortSecurity || in.noPortSecurity,
		}
		p.id, p.tags = cmp.Or(spec.ID, p.id), sorted(slices.Clone(spec.Tags))
		if spec.Project != "" {
			p.projectID = c.keystone.project(spec.Project).id
		}
		if spec.Server != "" {
			p.owner, p.status, p.host = cmp.Or(spec.DeviceOwner, "compute:nova"), cmp.Or(spec.Status, "ACTIVE"), computeHost
		}
		if !p.insecure {
			p.groups = sorted(slices.Clone(spec.Groups))
			if spec.Groups == nil {
				p.groups = []string{c.defaultGroup(r, p.projectID).id}
			}
		}
		for _, ip := range spec.AddressPairs {
			p.pairs = append(p.pairs, addressPair{ip: ip, mac: p.mac})
		}
		c.giveAddresses(r, p, spec.IPs)
		r.neutron.ports.put(p.id, p)
		r.neutron.setDevice(p, spec.Server, p.owner)
		r.neutron.keep(p.id)
		c.portsChanged(r, p.deviceID)
		id = p.id
	})

	return id
}

// Subport is a port in a trunk.
type Subport struct {
	// Port is the ID of the port.
	Port string
	// Segment is the VLAN of its traffic in the trunk.
	Segment int
}

// AddTrunk adds a trunk to a port and returns its ID.
func (c *Cloud) AddTrunk(name, portID string, subports ...Subport) string {
	var id string
	c.inspect(func() {
		r, p := c.portOf(portID)
		t := &trunk{standard: c.newStandard("trunk", name, p.projectID), portID: p.id, status: p.status}
		t.revision = 0
		r.neutron.trunks.put(t.id, t)
		added := make([]subport, len(subports))
		for i, sub := range subports {
			added[i] = subport{sub.Port, "vlan", sub.Segment}
		}
		c.attachSubports(r, t, added)
		r.neutron.keep(t.id)
		for _, sub := range subports {
			r.neutron.keepAgain(sub.Port)
		}
		id = t.id
	})

	return id
}

// RouterSpec is a router to add. Only Name is needed.
type RouterSpec struct {
	// Name is the name, which need not be unique.
	Name string
	// ID is a UUID; by default a new one.
	ID string
	// Region is the region's name; default the first one.
	Region string
	// Project is the name of its project; default [ProjectCCM].
	Project string
	// External is the ID of the network of its gateway, if it has one.
	External string
	// Subnets are the IDs of the subnets that it is in: as the gateway, unless another
	// router is that.
	Subnets []string
	// Routes are destinations and next hops: {"10.200.0.0/24", "10.0.0.5"}.
	Routes [][2]string
}

// AddRouter adds a router and returns its ID.
func (c *Cloud) AddRouter(spec RouterSpec) string {
	var id string
	c.inspect(func() {
		r := c.region(spec.Region)
		t := &router{standard: c.givenStandard("router", spec.ID, spec.Name, cmp.Or(spec.Project, ProjectCCM))}
		r.neutron.routers.put(t.id, t)
		if spec.External != "" {
			if err := c.addGateway(r, t, r.neutron.networks.get(spec.External)); err != nil {
				panic("openstack: gateway of a router: " + err.Error())
			}
		}
		for _, subnetID := range spec.Subnets {
			refused := c.addInterface(r, t, wantedIP{subnetID, r.neutron.subnets.get(subnetID).gateway})
			if refused == nil {
				continue
			}
			if err := c.addInterface(r, t, wantedIP{subnetID: subnetID}); err != nil { // the gateway is taken
				panic("openstack: interface of a router: " + errors.Join(refused, err).Error())
			}
		}
		for _, route := range spec.Routes {
			t.routes = append(t.routes, extraRoute{route[0], route[1]})
		}
		r.neutron.keep(t.id)
		id = t.id
	})

	return id
}

// FloatingIPSpec is a floating IP to add. Only Network is needed.
type FloatingIPSpec struct {
	// Network is the ID of the external network.
	Network string
	// Address is its address; default the next free one.
	Address string
	// Project is the name of its project; default [ProjectCCM].
	Project string
	// Port is the ID of the port that it is for, if it is. It is for the port's first
	// IPv4 address, whether or not there is a router between them.
	Port string
	// Description is its description.
	Description string
	// Tags are its tags.
	Tags []string
}

// AddFloatingIP adds a floating IP and returns its ID.
func (c *Cloud) AddFloatingIP(spec FloatingIPSpec) string {
	var id string
	c.inspect(func() {
		r, in := c.networkOf(spec.Network)
		f := &floatingIP{standard: c.givenStandard("floating IP", "", "", cmp.Or(spec.Project, ProjectCCM)), networkID: in.id, status: "DOWN"}
		f.revision, f.description, f.tags = 0, spec.Description, sorted(slices.Clone(spec.Tags))
		var ip netip.Addr
		if spec.Address != "" {
			ip = netip.MustParseAddr(spec.Address)
		}
		if err := c.holdAddress(r, f, "", ip); err != nil {
			panic("openstack: floating IP: " + err.Error())
		}
		r.neutron.floatingIPs.put(f.id, f)
		r.neutron.keep(f.id)
		if p := r.neutron.ports.get(spec.Port); p != nil {
			c.giveFloatingIP(r, p, f.address)
			c.portsChanged(r, p.deviceID)
		}
		id = f.id
	})

	return id
}

// SecurityGroupSpec is a security group to add. Only Name is needed.
type SecurityGroupSpec struct {
	// Name is the name, which need not be unique.
	Name string
	// Description is the description.
	Description string
	// Region is the region's name; default the first one.
	Region string
	// Project is the name of its project; default [ProjectCCM].
	Project string
	// Rules are those beside the two that let everything out.
	Rules []SecurityRule
	// NoEgress leaves out these two.
	NoEgress bool
	// Tags are its tags.
	Tags []string
}

// SecurityRule is a rule that lets traffic in.
type SecurityRule struct {
	// Protocol is tcp, udp and so on; empty for any.
	Protocol string
	// From and To are the range of ports; 0 for any.
	From, To int
	// Prefix is where the traffic comes from; empty for anywhere with IPv4.
	Prefix string
}

// AddSecurityGroup adds a security group and returns its ID.
func (c *Cloud) AddSecurityGroup(spec SecurityGroupSpec) string {
	var id string
	c.inspect(func() {
		r := c.region(spec.Region)
		g := c.newGroup(r, c.keystone.project(cmp.Or(spec.Project, ProjectCCM)).id, spec.Name, spec.Description)
		g.tags = sorted(slices.Clone(spec.Tags))
		if spec.NoEgress {
			for _, rule := range r.neutron.rulesOf(g.id) {
				r.neutron.rules.remove(rule.id)
			}
		}
		for _, wanted := range spec.Rules {
			ethertype := "IPv4"
			if strings.Contains(wanted.Prefix, ":") {
				ethertype = "IPv6"
			}
			rule := c.newRule(g, "ingress", ethertype)
			rule.protocol, rule.remotePrefix = wanted.Protocol, wanted.Prefix
			if wanted.From != 0 {
				rule.portMin, rule.portMax = new(wanted.From), new(wanted.To)
			}
			r.neutron.rules.put(rule.id, rule)
		}
		for _, rule := range r.neutron.rulesOf(g.id) {
			r.neutron.keep(rule.id)
		}
		r.neutron.keep(g.id)
		id = g.id
	})

	return id
}

// networkOf returns a network of any region. It panics when there is none.
func (c *Cloud) networkOf(id string) (*region, *network) {
	for _, r := range c.regions {
		if n := r.neutron.networks.get(id); n != nil {
			return r, n
		}
	}
	panic("openstack: no network " + id)
}

// portOf returns a port of any region. It panics when there is none.
func (c *Cloud) portOf(id string) (*region, *port) {
	for _, r := range c.regions {
		if p := r.neutron.ports.get(id); p != nil {
			return r, p
		}
	}
	panic("openstack: no port " + id)
}
