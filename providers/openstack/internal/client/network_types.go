package client

// Port is a port of Neutron, as far as it is used:
// https://docs.openstack.org/api-ref/network/v2/#ports.
type Port struct {
	ID        string `json:"id"`
	NetworkID string `json:"network_id"`
	ProjectID string `json:"project_id"`
	// MAC is the address of the interface. It is empty in lists without all fields.
	MAC string `json:"mac_address"`
	// DeviceID is the server, the router or whatever uses the port.
	DeviceID    string `json:"device_id"`
	DeviceOwner string `json:"device_owner"`
	// Status is ACTIVE, DOWN and others.
	Status   string    `json:"status"`
	FixedIPs []FixedIP `json:"fixed_ips"`
	// Trunk is that of a parent port. It is nil for others, and without the extension
	// trunk-details.
	Trunk *Trunk `json:"trunk_details"`

	// PortSecurity is nil without the extension port-security, which is the same as true.
	PortSecurity   *bool         `json:"port_security_enabled"`
	SecurityGroups []string      `json:"security_groups"`
	AddressPairs   []AddressPair `json:"allowed_address_pairs"`
	Tags           []string      `json:"tags"`
	// Revision is that of [NetworkService.UpdateAddressPairs]. It is nil without the
	// extension standard-attr-revisions.
	Revision *int `json:"revision_number"`
}

// HasPortSecurity reports whether security groups and address pairs apply to a port.
func (p *Port) HasPortSecurity() bool { return p.PortSecurity == nil || *p.PortSecurity }

// FixedIP is an address of a port.
type FixedIP struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address"`
}

// Trunk is the trunk of a parent port.
type Trunk struct {
	ID       string    `json:"trunk_id"`
	Subports []Subport `json:"sub_ports"`
}

// Subport is a port of a trunk.
type Subport struct {
	PortID string `json:"port_id"`
}

// AddressPair is an address that a port may use besides its own.
type AddressPair struct {
	// Address is an address or a CIDR.
	Address string `json:"ip_address"`
	// MAC is that of the port if it is empty.
	MAC string `json:"mac_address,omitempty"`
}

// NetworkInfo is a network.
type NetworkInfo struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	ProjectID string `json:"project_id"`
	// External reports whether floating IPs come from it. It is nil where that is hidden:
	// in most clouds, those who do not own a network do not see it (neutron:
	// conf/policies/network.py, get_network:router:external).
	External *bool    `json:"router:external"`
	Subnets  []string `json:"subnets"`
}

// Router is a router with its extra routes.
type Router struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	ProjectID string  `json:"project_id"`
	Routes    []Route `json:"routes"`
	// Gateway is nil without an external network.
	Gateway *RouterGateway `json:"external_gateway_info"`
	// Revision is that of [NetworkService.UpdateRoutes]. It is nil without the extension
	// standard-attr-revisions.
	Revision *int `json:"revision_number"`
}

// RouterGateway is how a router is connected to an external network.
type RouterGateway struct {
	NetworkID string `json:"network_id"`
}

// Route is an extra route of a router.
type Route struct {
	// Destination is a CIDR, NextHop an address.
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}
