package openstack

import "slices"

// DeletePort deletes a port as its owner does, without any call: also that of the
// virtual IP address of an ACTIVE load balancer, which Neutron does not protect, and
// with it the association of its floating IP (neutron: db/l3_db.py,
// prevent_l3_port_deletion). It panics when there is none.
func (c *Cloud) DeletePort(id string) {
	c.inspect(func() {
		r, p := c.portOf(id)
		c.removePort(r, p)
		r.neutron.dropInitial(id)
	})
}

// SetPortGroups replaces the security groups of a port, by their IDs.
func (c *Cloud) SetPortGroups(id string, groups ...string) {
	c.inspect(func() {
		r, p := c.portOf(id)
		p.groups = sorted(slices.Clone(groups))
		p.touch(c.now())
		r.neutron.keepAgain(id)
	})
}

// TouchPort raises the revision of a port and changes nothing else, as Nova and the
// agents of Neutron do at any time.
func (c *Cloud) TouchPort(id string) {
	c.inspect(func() {
		_, p := c.portOf(id)
		p.touch(c.now())
	})
}

// DeleteFloatingIP deletes a floating IP as its owner does, without any call. It
// panics when there is none.
func (c *Cloud) DeleteFloatingIP(id string) {
	c.inspect(func() {
		for _, r := range c.regions {
			if f := r.neutron.floatingIPs.get(id); f != nil {
				c.removeFloatingIP(r, f)
				r.neutron.dropInitial(id)

				return
			}
		}
		panic("openstack: no floating IP " + id)
	})
}

// DeleteSecurityGroup takes a security group off all ports and deletes it, without
// any call. It panics when there is none.
func (c *Cloud) DeleteSecurityGroup(id string) {
	c.inspect(func() {
		for _, r := range c.regions {
			if r.neutron.groups.get(id) == nil {
				continue
			}
			for _, p := range r.neutron.ports.where(func(p *port) bool { return slices.Contains(p.groups, id) }) {
				p.groups = slices.DeleteFunc(slices.Clone(p.groups), func(have string) bool { return have == id })
				p.touch(c.now())
				r.neutron.keepAgain(p.id)
			}
			for _, rule := range r.neutron.rulesOf(id) {
				r.neutron.dropInitial(rule.id)
			}
			r.neutron.removeGroup(id)
			r.neutron.dropInitial(id)

			return
		}
		panic("openstack: no security group " + id)
	})
}

// dropInitial ends that a resource is one of a test.
func (s *neutronState) dropInitial(id string) { delete(s.initial, id) }

// Port is a port as it is now.
type Port struct {
	ID, Name, Network, Status, Device, DeviceOwner string
	IPs, Groups, AddressPairs                      []string
	Revision                                       int
}

// Port returns a port, and reports whether there is one with that ID.
func (c *Cloud) Port(id string) (Port, bool) {
	var out Port
	c.inspect(func() {
		for _, r := range c.regions {
			p := r.neutron.ports.get(id)
			if p == nil {
				continue
			}
			out = Port{
				ID: p.id, Name: p.name, Network: p.networkID, Status: p.status, Device: p.deviceID, DeviceOwner: p.owner,
				Groups: slices.Clone(p.groups), Revision: p.revision,
			}
			for _, f := range p.fixedIPs {
				out.IPs = append(out.IPs, f.ip.String())
			}
			for _, pair := range p.pairs {
				out.AddressPairs = append(out.AddressPairs, pair.ip)
			}
		}
	})

	return out, out.ID != ""
}

// ServerPorts returns the IDs of the ports of a server, or of any other device.
func (c *Cloud) ServerPorts(deviceID string) []string {
	var ids []string
	c.inspect(func() {
		for _, r := range c.regions {
			ids = append(ids, r.neutron.devices[deviceID]...)
		}
	})

	return ids
}
