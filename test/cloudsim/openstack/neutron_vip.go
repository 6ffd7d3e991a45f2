package openstack

import (
	"net/netip"
	"slices"
	"strings"
)

// vipSpec is the port of a virtual IP address that Octavia wants.
type vipSpec struct {
	// lb is the ID of the load balancer.
	lb string
	// project is the ID of its project, which owns the port.
	project string
	// network is the ID of the network.
	network string
	// subnet is the ID of the subnet of the address; empty for any.
	subnet string
	// ip is the address; the zero value for any.
	ip netip.Addr
	// name and owner are those of the port; default octavia-lb-<LB> and Octavia.
	name, owner string
}

// createVIP creates the port of a virtual IP address: DOWN forever, with further
// addresses of its network's stateless subnets, owned by the project of the load
// balancer and by no server (octavia: network/drivers/neutron/
// allowed_address_pairs.py, allocate_vip). The errors are those of Neutron:
// NetworkNotFound, SubnetNotFound, InvalidIpForSubnet, InvalidIpForNetwork,
// IpAddressAlreadyAllocated, IpAddressGenerationFailure and OverQuota, which
// Octavia wraps in its own. The caller holds mu.
func (c *Cloud) createVIP(r *region, spec vipSpec) (*port, error) {
	state := r.neutron
	if state.networks.get(spec.network) == nil {
		return nil, missing("Network", spec.network)
	}
	used := len(state.ports.where(func(p *port) bool { return p.projectID == spec.project }))
	if exceeds(c.quotasOf(spec.project).Ports, used, 1) {
		return nil, overQuota("port")
	}
	p := &port{
		standard:  c.newStandard("port", spec.name, spec.project),
		networkID: spec.network, mac: c.newMAC(), status: "DOWN", down: true, vnicType: "normal",
		owner: spec.owner,
	}
	p.service = true
	if p.name == "" {
		p.name = "octavia-lb-" + spec.lb
	}
	if p.owner == "" {
		p.owner = "Octavia"
	}
	var wanted []wantedIP
	if spec.subnet != "" || spec.ip.IsValid() {
		wanted = []wantedIP{{spec.subnet, spec.ip}}
	}
	ips, err := state.allocate(p, wanted)
	if err != nil {
		return nil, err
	}
	p.fixedIPs = ips
	state.ports.put(p.id, p)
	state.setDevice(p, "lb-"+spec.lb, p.owner)

	return p, nil
}

// releaseVIP deletes the port of a load balancer, or frees it when a user made it,
// together with the association of its floating IP. There may be none any more,
// since Neutron lets users delete it (neutron: db/l3_db.py,
// prevent_l3_port_deletion protects ports of routers alone).
func (c *Cloud) releaseVIP(r *region, portID string) {
	p := r.neutron.ports.get(portID)
	switch {
	case p == nil:
	case p.service:
		c.removePort(r, p)
	default:
		r.neutron.setDevice(p, "", "")
		p.touch(c.now())
	}
}

// vipRule is what the security group of a load balancer lets in.
type vipRule struct {
	protocol string // tcp, udp, sctp; vrrp needs no port
	port     int    // 0 for none
	cidr     string // empty for any
}

// ensureVIPGroup makes the security group lb-<LB> of an amphora's port, sets its
// rules, and adds it to the port. The admin project owns it, so that users do not
// see it, and neither does it count to their quota (octavia:
// network/drivers/neutron/allowed_address_pairs.py, _update_security_group_rules
// and _create_security_group).
func (c *Cloud) ensureVIPGroup(r *region, p *port, lb string, rules []vipRule) {
	state := r.neutron
	g := c.vipGroup(r, lb)
	if g == nil {
		g = c.newGroup(r, c.keystone.project(ProjectService).id, "lb-"+lb, "")
		g.service = true
	}
	for _, old := range state.rulesOf(g.id) {
		if old.direction == "ingress" {
			state.rules.remove(old.id)
		}
	}
	for _, rule := range rules {
		made := c.newRule(g, "ingress", ethertypeOf(rule.cidr, p))
		made.protocol, made.remotePrefix, made.service = rule.protocol, rule.cidr, true
		if rule.port != 0 {
			made.portMin, made.portMax = new(rule.port), new(rule.port)
		}
		state.rules.put(made.id, made)
	}
	if !slices.Contains(p.groups, g.id) {
		state.byService(p.id, func() {
			p.groups = sorted(append(slices.Clone(p.groups), g.id))
			if !p.service { // a port of a user loses those that it had, and has this one forever (tried with Zed)
				p.groups = []string{g.id}
			}
		})
		p.touch(c.now())
	}
}

// vipGroup returns the security group of a load balancer, nil when there is none.
func (c *Cloud) vipGroup(r *region, lb string) *securityGroup {
	groups := r.neutron.groups.where(func(g *securityGroup) bool { return g.service && g.name == "lb-"+lb })
	if len(groups) == 0 {
		return nil
	}

	return groups[0]
}

// removeVIPGroup takes the security group of a load balancer off all ports but those
// of users, and deletes it unless it is in use.
func (c *Cloud) removeVIPGroup(r *region, lb string) {
	g := c.vipGroup(r, lb)
	if g == nil {
		return
	}
	used := false
	for _, p := range r.neutron.ports.all() {
		if slices.Contains(p.groups, g.id) && !p.service {
			used = true

			continue
		}
		if slices.Contains(p.groups, g.id) {
			p.groups = slices.DeleteFunc(slices.Clone(p.groups), func(id string) bool { return id == g.id })
			p.touch(c.now())
		}
	}
	if !used {
		r.neutron.removeGroup(g.id)
	}
}

// visibleNetwork returns a network that a project may use, nil when there is none.
func (s *neutronState) visibleNetwork(id, project string, admin bool) *network {
	n := s.networks.get(id)
	if n == nil || (!admin && n.projectID != project && !n.shared && !n.external) {
		return nil
	}

	return n
}

// visibleSubnet returns a subnet that a project may use: one of its own networks,
// or of a shared one.
func (s *neutronState) visibleSubnet(id, project string, admin bool) *subnet {
	n := s.subnets.get(id)
	if n == nil {
		return nil
	}
	in := s.networks.get(n.networkID)
	if !admin && n.projectID != project && in.projectID != project && !in.shared {
		return nil
	}

	return n
}

// visiblePort returns a port of a project, nil when there is none.
func (s *neutronState) visiblePort(id, project string, admin bool) *port {
	p := s.ports.get(id)
	if p == nil || (!admin && p.projectID != project) {
		return nil
	}

	return p
}

// ethertypeOf returns the IP version of a prefix, or that of a port without one.
func ethertypeOf(cidr string, p *port) string {
	if strings.Contains(cidr, ":") || (cidr == "" && p.address("").Is6()) {
		return "IPv6"
	}

	return "IPv4"
}
