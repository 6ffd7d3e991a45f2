package openstack

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Endpoint is an address, protocol and port that a load balancer serves.
type Endpoint struct {
	// Address is a virtual or a floating IP address.
	Address string
	// Protocol is that of layer 4: TCP, UDP or SCTP.
	Protocol string
	// Port is the port at that address.
	Port int
	// Members are the addresses and ports that get the traffic, sorted: 10.0.0.5:30080.
	Members []string
	// Sources are the prefixes that traffic may come from, sorted; nil for all.
	Sources []string
	// LoadBalancer is the name of the load balancer, Provider its provider and Source its
	// virtual IP address, from which members get the traffic unless the provider is ovn.
	LoadBalancer, Provider, Source string
}

// lbServing is what the data plane of a load balancer does for a listener. It changes
// when a change of the load balancer ends, not when it is requested.
type lbServing struct {
	protocol string
	port     int
	members  []lbTarget
	sources  []string
}

type lbTarget struct{ id, address string }

// lbServe returns what the data plane of a load balancer does by its settings.
func (s *octaviaState) lbServe(lb *lbObject) []lbServing {
	var all []lbServing
	for _, id := range lb.listeners {
		l := s.listeners.get(id)
		p := s.pools.get(l.text("default_pool_id"))
		if !l.flag("admin_state_up") || !lb.flag("admin_state_up") || p == nil || !p.flag("admin_state_up") {
			continue
		}
		serving := lbServing{
			protocol: strings.ToUpper(layer4(l.text("protocol"))), port: l.number("protocol_port"),
			sources: slices.Sorted(slices.Values(l.texts("allowed_cidrs"))), members: s.targets(p, false),
		}
		if len(serving.members) == 0 {
			serving.members = s.targets(p, true)
		}
		all = append(all, serving)
	}

	return all
}

// targets returns the members of a pool that get traffic: those in reserve when there
// are no others.
func (s *octaviaState) targets(p *lbObject, backup bool) []lbTarget {
	var all []lbTarget
	for _, id := range p.members {
		m := s.members.get(id)
		if m.flag("admin_state_up") && m.number("weight") > 0 && m.flag("backup") == backup {
			all = append(all, lbTarget{id, net.JoinHostPort(m.text("address"), strconv.Itoa(m.number("protocol_port")))})
		}
	}

	return all
}

// Serving returns what is served now, in all regions: for each listener of a load
// balancer that its data plane has, an entry for each virtual IP address and for its
// floating IP. A load balancer that is pending serves what it did before, and one in
// ERROR goes on. Nothing is served without the port of the virtual IP address. A
// member whose operating status a test set to ERROR gets no traffic.
func (c *Cloud) Serving() []Endpoint {
	var all []Endpoint
	c.inspect(func() {
		for _, e := range c.serving() {
			all = append(all, e.Endpoint)
		}
	})

	return all
}

// served is an Endpoint with its load balancer and the members that it has.
type served struct {
	Endpoint

	region  *region
	lb      *lbObject
	targets []lbTarget
}

func (c *Cloud) serving() []served {
	var all []served
	for _, r := range c.regions {
		for _, lb := range r.octavia.loadBalancers.all() {
			p := r.neutron.ports.get(lb.text("vip_port_id"))
			if p == nil {
				continue
			}
			var addresses []string
			for _, ip := range lb.vips() {
				addresses = append(addresses, ip.String())
			}
			for _, f := range r.neutron.floatingIPs.where(func(f *floatingIP) bool { return f.portID == p.id }) {
				addresses = append(addresses, f.address.String())
			}
			for _, s := range lb.serving {
				for _, address := range addresses {
					all = append(all, served{Endpoint{
						Address: address, Protocol: s.protocol, Port: s.port, Members: r.octavia.healthy(s.members),
						Sources: s.sources, LoadBalancer: lb.text("name"), Provider: lb.text("provider"), Source: lb.text("vip_address"),
					}, r, lb, s.members})
				}
			}
		}
	}

	return all
}

func (s *octaviaState) healthy(targets []lbTarget) []string {
	var addresses []string
	for _, target := range targets {
		if m := s.members.get(target.id); m == nil || m.operating != "ERROR" {
			addresses = append(addresses, target.address)
		}
	}
	slices.Sort(addresses)

	return addresses
}

// ServedBy returns the members that get the traffic for an address, a protocol of
// layer 4 and a port now; none when it is not served.
func (c *Cloud) ServedBy(address, protocol string, port int) []string {
	for _, e := range c.Serving() {
		if e.Address == address && e.Protocol == protocol && e.Port == port {
			return e.Members
		}
	}

	return nil
}

// Watch is traffic that has to be served all the time.
type Watch struct {
	// Address, Protocol and Port are where it arrives, as in [Endpoint].
	Address, Protocol string
	Port              int
	// Member is one that must get it, such as 10.0.0.5:30080; empty for any.
	Member string
	// Client is where it comes from, which the listener must allow; the zero Addr for
	// traffic that ranges of clients do not affect.
	Client netip.Addr
	// Guarded means that the security groups of the member must let it in, too: from the
	// virtual IP address or the subnet of the member, or with the provider ovn from the client.
	Guarded bool
}

// watch is a Watch with its result.
type watch struct {
	Watch

	down bool
	// since is when it was last served before it is down, and lasted how long earlier outages were.
	since  time.Time
	lasted time.Duration
}

// name is where the traffic arrives: "192.0.2.5 TCP 80".
func (w *watch) name() string { return w.Address + " " + w.Protocol + " " + strconv.Itoa(w.Port) }

// set stores whether the traffic is served now.
func (w *watch) set(down bool, now time.Time) {
	switch {
	case down && !w.down:
		w.since = now
	case !down && w.down:
		w.lasted += now.Sub(w.since)
	}
	w.down = down
}

// WatchServing has [Cloud.Outages] report each call after which an address, protocol
// and port has no member that gets its traffic, or not the given one, such as
// 10.0.0.5:30080, unless it is empty.
func (c *Cloud) WatchServing(address, protocol string, port int, member string) {
	c.Watch(Watch{Address: address, Protocol: protocol, Port: port, Member: member})
}

// Watch has [Cloud.Outages] report each call after which traffic is not served.
func (c *Cloud) Watch(w Watch) {
	c.inspect(func() {
		c.watches = append(c.watches, &watch{Watch: w})
		c.look("Watch")
	})
}

// Outages returns the calls that ended the serving of something that is watched, at once or
// by a change of the load balancer that became due: "neutron.DeletePort: 192.0.2.5 TCP 80".
// A call that finds it still ended is not reported.
func (c *Cloud) Outages() []string {
	var outages []string
	c.inspect(func() {
		c.look("Outages")
		outages = slices.Clone(c.outages)
	})

	return outages
}

// Unserved returns what is watched and is not served now: "192.0.2.5 TCP 80".
func (c *Cloud) Unserved() []string {
	var all []string
	c.inspect(func() {
		c.look("Unserved")
		for _, w := range c.watches {
			if w.down {
				all = append(all, w.name())
			}
		}
	})

	return all
}

// OutageTimes returns for how long what is watched was not served in all, without what always
// was: "192.0.2.5 TCP 80: 3s". It is looked at after each call.
func (c *Cloud) OutageTimes() []string {
	var all []string
	c.inspect(func() {
		c.look("OutageTimes")
		for _, w := range c.watches {
			lasted := w.lasted
			if w.down {
				lasted += time.Since(w.since)
			}
			if lasted > 0 {
				all = append(all, w.name()+": "+lasted.String())
			}
		}
	})

	return all
}

// look notes what is not served after an operation. The caller holds mu.
func (c *Cloud) look(op string) {
	op, c.ended = cmp.Or(c.ended, op), ""
	if len(c.watches) == 0 {
		return
	}
	all, now := c.serving(), time.Now()
	for _, w := range c.watches {
		served := slices.ContainsFunc(all, func(e served) bool { return c.serves(e, w.Watch) })
		if !served && !w.down {
			c.outages = append(c.outages, op+": "+w.name())
		}
		w.set(!served, now)
	}
}

// serves reports whether an endpoint serves the traffic of a watch.
func (c *Cloud) serves(e served, w Watch) bool {
	if e.Address != w.Address || e.Protocol != w.Protocol || e.Port != w.Port || !allows(e.Sources, w.Client) {
		return false
	}

	return slices.ContainsFunc(e.Members, func(member string) bool {
		return (w.Member == "" || w.Member == member) && (!w.Guarded || c.lets(e, member, w.Client))
	})
}

// allows reports whether a client is in one of the prefixes, all if there are none.
func allows(prefixes []string, client netip.Addr) bool {
	return len(prefixes) == 0 || !client.IsValid() || slices.ContainsFunc(prefixes, func(text string) bool {
		return netip.MustParsePrefix(text).Contains(client)
	})
}

// lets reports whether the security groups of a member let in what the load balancer
// forwards: those of its port in the network of its subnet, or without a subnet in the project of
// the load balancer, since other networks can have the same addresses.
func (c *Cloud) lets(e served, member string, client netip.Addr) bool {
	at, subnet := netip.MustParseAddrPort(member), e.subnetOf(member)
	source := client
	if e.Provider != providerOVN {
		source = e.origin(subnet)
	}

	return accepts(e.region, at, e.Protocol, source, func(p *port) bool {
		return subnet != nil && p.networkID == subnet.networkID || subnet == nil && p.projectID == e.lb.projectID
	})
}

// subnetOf is the subnet of a member, nil for none.
func (e served) subnetOf(member string) *subnet {
	for _, target := range e.targets {
		if m := e.region.octavia.members.get(target.id); m != nil && target.address == member {
			return e.region.neutron.subnets.get(m.text("subnet_id"))
		}
	}

	return nil
}

// origin is where a member gets traffic from: the virtual IP address, or an address in the
// subnet of the member, which a load balancer with virtual machines has an interface in
// (octavia: network/drivers/neutron/allowed_address_pairs.py, plug_network).
func (e served) origin(member *subnet) netip.Addr {
	vip := netip.MustParseAddr(e.Source)
	if member != nil && !member.cidr.Contains(vip) {
		return member.cidr.Addr().Next()
	}

	return vip
}
