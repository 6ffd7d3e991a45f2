package nsxt

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// VirtualServer is a virtual server as its clients see it.
type VirtualServer struct {
	// Path is that of the object, Service that of its load balancer service.
	Path, Service string
	// Address, Protocol (TCP or UDP) and Ports are where it listens.
	Address, Protocol string
	Ports             []string
	// Members are the enabled members of the pool.
	Members []Member
	// Monitors are the active monitors of the pool.
	Monitors []Object
	// Persistent reports whether clients are kept at their member.
	Persistent bool
	// Sources are addresses and prefixes of clients, nil for all.
	Sources []string
}

// Member receives traffic. Its port is its own, or the one that the virtual server has for
// members, or that of the virtual server ([SDK]).
type Member struct{ Address, Port string }

// Admits reports whether a client is served.
func (v VirtualServer) Admits(client netip.Addr) bool {
	return v.Sources == nil || slices.ContainsFunc(v.Sources, func(source string) bool {
		if prefix, err := netip.ParsePrefix(source); err == nil {
			return prefix.Contains(client)
		}

		return source == client.String()
	})
}

// VirtualServers returns the virtual servers that are enabled and belong to a service, by
// their paths.
func (c *Cloud) VirtualServers() []VirtualServer {
	var all []VirtualServer
	c.inspect(func() {
		for _, path := range slices.Sorted(maps.Keys(c.state.objects)) {
			o := c.state.objects[path]
			if o.kind.name == "LBVirtualServer" && !o.marked && o.fields["enabled"] == true && o.fields.text("lb_service_path") != "" {
				all = append(all, c.virtualServer(o))
			}
		}
	})

	return all
}

func (c *Cloud) virtualServer(o *object) VirtualServer {
	v := VirtualServer{
		Path: o.path, Service: o.fields.text("lb_service_path"), Address: o.fields.text("ip_address"), Protocol: c.protocol(o),
		Ports:      o.fields.texts("ports"),
		Persistent: o.fields.text("lb_persistence_profile_path") != "",
	}
	if pool := c.state.objects[o.fields.text("pool_path")]; pool != nil {
		for _, member := range pool.fields.objects("members") {
			if member.text("admin_state") == "ENABLED" {
				port := slices.Concat(o.fields.texts("default_pool_member_ports"), v.Ports)[0]
				v.Members = append(v.Members, Member{member.text("ip_address"), cmp.Or(member.text("port"), port)})
			}
		}
		for _, path := range pool.fields.texts("active_monitor_paths") {
			if monitor := c.state.objects[path]; monitor != nil {
				v.Monitors = append(v.Monitors, maps.Clone(monitor.fields))
			}
		}
	}
	if list := o.fields.object("access_list_control"); list["enabled"] == true && cmp.Or(list.text("action"), "ALLOW") == "ALLOW" {
		v.Sources = []string{}
		if group := c.state.objects[list.text("group_path")]; group != nil {
			v.Sources = append(v.Sources, valuesAt(group.fields, "expression.ip_addresses")...)
		}
	}

	return v
}
