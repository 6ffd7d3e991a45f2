package openstack

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// neutronState is the state of Neutron in a region.
type neutronState struct {
	networks    table[network]
	subnets     table[subnet]
	ports       table[port]
	trunks      table[trunk]
	routers     table[router]
	floatingIPs table[floatingIP]
	groups      table[securityGroup]
	rules       table[securityRule]

	devices map[string][]string // IDs of ports by the ID of their device
	leases  map[fixedIP]string  // IDs of ports by address
	without []string            // aliases of extensions that a test took away
	private bool                // see [Cloud.SetPortsOfOthers]
	initial map[string]baseline // of what tests made, by ID
}

// standard has the attributes that each resource has (neutron:
// db/standard_attr.py).
type standard struct {
	id, name, description string
	projectID             string
	created, updated      time.Time
	revision              int
	tags                  []string
	serial                int  // of Neutron's database
	service               bool // made by a service for its own use
}

// touch raises the revision.
func (s *standard) touch(now time.Time) { s.revision++; s.updated = now }

type network struct {
	standard

	shared, external, isDefault bool
	down                        bool // admin_state_up is false
	noPortSecurity              bool // the default of its ports
	mtu                         int
	kind, physical              string // provider:network_type, provider:physical_network
	segment                     int    // provider:segmentation_id, 0 for none
}

type subnet struct {
	standard

	networkID  string
	cidr       netip.Prefix
	gateway    netip.Addr // the zero value for none
	pools      []addressRange
	noDHCP     bool
	raMode     string     // slaac, dhcpv6-stateful, dhcpv6-stateless, or empty
	mode       string     // ipv6_address_mode
	dns        []string   // dns_nameservers
	hostRoutes []object   // as they were sent
	next       netip.Addr // where the search for a free address begins
}

// addressRange is an allocation pool; both ends belong to it.
type addressRange struct{ first, last netip.Addr }

// slaac reports whether ports compute their address in the subnet from their MAC
// address (neutron: db/ipam_backend_mixin.py, is_auto_addr_subnet).
func (s *subnet) slaac() bool { return s.mode == "slaac" || s.mode == "dhcpv6-stateless" }

// fixedIP is an address of a port.
type fixedIP struct {
	subnetID string
	ip       netip.Addr
}

type addressPair struct{ ip, mac string }

type port struct {
	standard

	networkID       string
	mac             string
	down            bool // admin_state_up is false
	status          string
	deviceID, owner string // owner is device_owner
	fixedIPs        []fixedIP
	groups          []string // IDs, sorted
	pairs           []addressPair
	insecure        bool // port_security_enabled is false
	vnicType, host  string
	automatic       bool // Nova made it, and deletes it with its server
}

// address returns the first address of the port in a subnet, or the first one of
// all when the subnet is empty. It is the zero value when there is none.
func (p *port) address(subnetID string) netip.Addr {
	for _, f := range p.fixedIPs {
		if subnetID == "" || f.subnetID == subnetID {
			return f.ip
		}
	}

	return netip.Addr{}
}

type trunk struct {
	standard

	portID   string
	status   string
	subports []subport
}

type subport struct {
	portID, kind string // kind is segmentation_type
	segment      int
}

type extraRoute struct{ destination, nexthop string }

type router struct {
	standard

	down       bool
	external   string // ID of the network of its gateway, empty for none
	portID     string // of the gateway
	routes     []extraRoute
	interfaces []string // IDs of ports
}

type floatingIP struct {
	standard

	networkID string
	subnetID  string // of the address
	address   netip.Addr
	portID    string     // empty when it is not associated
	fixed     netip.Addr // of the port
	routerID  string
	status    string
	holder    string // ID of the port that has its address in the external network
}

type securityGroup struct {
	standard

	stateless bool
}

type securityRule struct {
	standard

	groupID              string
	direction, ethertype string
	protocol             string // empty for any
	portMin, portMax     *int
	remotePrefix         string // as responses have it; empty for none
	remoteGroup          string
	noDescription        bool // null: rules that Neutron makes itself
}

func newNeutronState(*Cloud, *region) *neutronState {
	return &neutronState{
		devices: make(map[string][]string), leases: make(map[fixedIP]string), initial: make(map[string]baseline),
	}
}

// clone returns a copy that shares nothing that changes. Slices within objects are
// replaced by changes, never written to.
func (s *neutronState) clone() *neutronState {
	return &neutronState{
		networks: s.networks.clone(func(*network) {}),
		subnets:  s.subnets.clone(func(*subnet) {}),
		ports:    s.ports.clone(func(*port) {}),
		trunks:   s.trunks.clone(func(*trunk) {}),
		routers:  s.routers.clone(func(*router) {}), floatingIPs: s.floatingIPs.clone(func(*floatingIP) {}),
		groups: s.groups.clone(func(*securityGroup) {}), rules: s.rules.clone(func(*securityRule) {}),
		devices: maps.Clone(s.devices), leases: maps.Clone(s.leases), without: slices.Clone(s.without),
		private: s.private, initial: maps.Clone(s.initial),
	}
}

// newStandard returns the attributes of a new resource.
func (c *Cloud) newStandard(kind, name, projectID string) standard {
	now := c.now()

	return standard{
		id: c.newID(kind), name: name, projectID: projectID, created: now, updated: now, revision: 1,
		serial: c.ids.Next("standard attribute"),
	}
}

// portsOf returns the ports of a device, oldest first.
func (s *neutronState) portsOf(deviceID string) []*port {
	ids := s.devices[deviceID]
	ports := make([]*port, len(ids))
	for i, id := range ids {
		ports[i] = s.ports.get(id)
	}

	return ports
}

// setDevice changes to which device a port belongs.
func (s *neutronState) setDevice(p *port, deviceID, owner string) {
	p.owner = owner
	if p.deviceID == deviceID && slices.Contains(s.devices[deviceID], p.id) {
		return
	}
	s.clearDevice(p)
	p.deviceID = deviceID
	if deviceID != "" {
		s.devices[deviceID] = append(slices.Clone(s.devices[deviceID]), p.id)
	}
}

func (s *neutronState) clearDevice(p *port) {
	rest := slices.DeleteFunc(slices.Clone(s.devices[p.deviceID]), func(id string) bool { return id == p.id })
	if len(rest) == 0 {
		delete(s.devices, p.deviceID)

		return
	}
	s.devices[p.deviceID] = rest
}

// subnetsOf returns the subnets of a network, by ID.
func (s *neutronState) subnetsOf(networkID string) []*subnet {
	return byID(s.subnets.where(func(n *subnet) bool { return n.networkID == networkID }), func(n *subnet) string { return n.id })
}

// rulesOf returns the rules of a security group, by ID.
func (s *neutronState) rulesOf(groupID string) []*securityRule {
	return byID(s.rules.where(func(r *securityRule) bool { return r.groupID == groupID }), func(r *securityRule) string { return r.id })
}

// byID sorts objects as lists of Neutron are: by ID.
func byID[T any](rows []*T, id func(*T) string) []*T {
	slices.SortFunc(rows, func(a, b *T) int {
		if id(a) < id(b) {
			return -1
		}

		return 1
	})

	return rows
}
