package openstack

// RouterRoutes returns the extra routes of a router: destinations and next hops. It
// panics when there is no such router.
func (c *Cloud) RouterRoutes(id string) [][2]string {
	var routes [][2]string
	c.inspect(func() {
		for _, route := range c.routerOf(id).routes {
			routes = append(routes, [2]string{route.destination, route.nexthop})
		}
	})

	return routes
}

// SetRouterRoutes replaces the routes of a router, as another user may. They are not
// checked. It panics when there is no such router.
func (c *Cloud) SetRouterRoutes(id string, routes ...[2]string) {
	c.changeRouter(id, func(t *router) {
		t.routes = nil
		for _, route := range routes {
			t.routes = append(t.routes, extraRoute{route[0], route[1]})
		}
		t.touch(c.now())
	})
}

// TouchRouter raises the revision of a router and changes nothing else.
func (c *Cloud) TouchRouter(id string) {
	c.changeRouter(id, func(t *router) { t.touch(c.now()) })
}

// AddRouterInterface makes a router the gateway of one more subnet. It panics when that
// is not possible.
func (c *Cloud) AddRouterInterface(id, subnetID string) {
	c.inspect(func() {
		for _, r := range c.regions {
			t, n := r.neutron.routers.get(id), r.neutron.subnets.get(subnetID)
			if t == nil || n == nil {
				continue
			}
			if err := c.addInterface(r, t, wantedIP{n.id, n.gateway}); err != nil {
				panic("openstack: interface of a router: " + err.Error())
			}
			r.neutron.keepAgain(id)
		}
	})
}

// changeRouter changes a router of any region.
func (c *Cloud) changeRouter(id string, change func(*router)) {
	c.inspect(func() {
		change(c.routerOf(id))
		for _, r := range c.regions {
			r.neutron.keepAgain(id)
		}
	})
}

// routerOf returns a router of any region. It panics when there is none.
func (c *Cloud) routerOf(id string) *router {
	for _, r := range c.regions {
		if t := r.neutron.routers.get(id); t != nil {
			return t
		}
	}
	panic("openstack: no router " + id)
}

// SetPortSecurity sets whether a port has port security, and its address pairs, as
// another user may. It panics when there is no such port.
func (c *Cloud) SetPortSecurity(id string, secure bool, pairs ...string) {
	c.inspect(func() {
		r, p := c.portOf(id)
		p.insecure, p.pairs = !secure, nil
		for _, ip := range pairs {
			p.pairs = append(p.pairs, addressPair{ip: ip, mac: p.mac})
		}
		p.touch(c.now())
		r.neutron.keepAgain(id)
	})
}

// PortIDs returns the IDs of all ports.
func (c *Cloud) PortIDs() []string {
	var ids []string
	c.inspect(func() {
		for _, r := range c.regions {
			for _, p := range r.neutron.ports.all() {
				ids = append(ids, p.id)
			}
		}
	})

	return ids
}
