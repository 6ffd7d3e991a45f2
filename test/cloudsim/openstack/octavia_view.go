package openstack

import (
	"slices"
	"strings"
)

// ListenerView is a listener with its default pool, as its clients and the members of the
// pool notice it.
type ListenerView struct {
	// Protocol is that of layer 4: TCP, UDP or SCTP.
	Protocol string
	Port     int
	// SourceIP reports whether a client is kept at its member.
	SourceIP bool
	// Monitor is the type of the health monitor, empty for none.
	Monitor string
	// Members are those of the pool, oldest first.
	Members []MemberView
}

// MemberView is a member of a pool.
type MemberView struct {
	Name, Address string
	Port          int
	// MonitorPort is where its health is checked, 0 for Port.
	MonitorPort int
}

// Listeners returns the listeners of a load balancer, oldest first. It panics when there
// is none of this ID.
func (c *Cloud) Listeners(id string) []ListenerView {
	var all []ListenerView
	c.inspect(func() {
		r, lb := c.lbOf(id)
		for _, listener := range lb.listeners {
			all = append(all, r.octavia.view(r.octavia.listeners.get(listener)))
		}
	})

	return all
}

func (s *octaviaState) view(l *lbObject) ListenerView {
	view := ListenerView{Protocol: strings.ToUpper(layer4(l.text("protocol"))), Port: l.number("protocol_port")}
	p := s.pools.get(l.text("default_pool_id"))
	if p == nil {
		return view
	}
	if persistence, ok := p.settings["session_persistence"].(object); ok {
		view.SourceIP = persistence["type"] == "SOURCE_IP"
	}
	if m := s.monitors.get(p.monitor); m != nil {
		view.Monitor = m.text("type")
	}
	for _, id := range slices.Clone(p.members) {
		m := s.members.get(id)
		view.Members = append(view.Members, MemberView{
			Name: m.text("name"), Address: m.text("address"), Port: m.number("protocol_port"), MonitorPort: m.number("monitor_port"),
		})
	}

	return view
}
