package openstack

import (
	"fmt"
	"slices"
	"strings"
)

// item is a resource in the lists of what there is.
type item struct {
	id, what string
	parts    []string // settings and parts that clients change
	service  bool
}

// baseline is what a resource of a test was when the test made it.
type baseline struct {
	what  string
	parts []string
}

// keep stores what a resource is like that a test has just made.
func (s *neutronState) keep(id string) {
	if i, ok := s.itemOf(id); ok {
		s.initial[id] = baseline{i.what, i.parts}
	}
}

// keepAgain stores what a resource of a test is like after the test changed it.
func (s *neutronState) keepAgain(id string) {
	if _, given := s.initial[id]; given {
		s.keep(id)
	}
}

// byService makes a change of a service to a resource, which is no change of a client:
// what it adds and takes away counts as there, or not there, from the start.
func (s *neutronState) byService(id string, change func()) {
	before, _ := s.itemOf(id)
	change()
	after, _ := s.itemOf(id)
	given, ok := s.initial[id]
	if !ok {
		return
	}
	parts := slices.DeleteFunc(slices.Clone(given.parts), func(part string) bool {
		return slices.Contains(before.parts, part) && !slices.Contains(after.parts, part)
	})
	for _, part := range after.parts {
		if !slices.Contains(before.parts, part) {
			parts = append(parts, part)
		}
	}
	s.initial[id] = baseline{given.what, parts}
}

// leaks returns a line for each resource, and for each part of one, that clients
// made, and "lost …" for what they took away of a test.
func (s *neutronState) leaks() []string {
	var lines []string
	seen := make(map[string]bool)
	for _, i := range s.items() {
		seen[i.id] = true
		before, given := s.initial[i.id]
		switch {
		case given:
			lines = append(lines, differences(i, before)...)
		case !i.service:
			lines = append(lines, i.what)
		}
	}
	for id, before := range s.initial {
		if !seen[id] {
			lines = append(lines, "lost "+before.what)
		}
	}

	return lines
}

func differences(i item, before baseline) []string {
	var lines []string
	for _, part := range i.parts {
		if !slices.Contains(before.parts, part) {
			lines = append(lines, part+" of "+i.what)
		}
	}
	for _, part := range before.parts {
		if !slices.Contains(i.parts, part) {
			lines = append(lines, "lost "+part+" of "+i.what)
		}
	}

	return lines
}

// resources returns the same with all settings.
func (s *neutronState) resources() []string {
	var lines []string
	for _, i := range s.items() {
		before, given := s.initial[i.id]
		switch {
		case given:
			lines = append(lines, differences(i, before)...)
		case !i.service:
			lines = append(lines, strings.Join(append([]string{i.what}, i.parts...), ", "))
		}
	}

	return lines
}

// dump returns a line for each resource.
func (s *neutronState) dump() []string {
	var lines []string
	for _, i := range s.items() {
		lines = append(lines, strings.Join(append([]string{i.what + " " + i.id}, i.parts...), ", "))
	}

	return lines
}

// items returns all resources.
func (s *neutronState) items() []item {
	return slices.Concat(
		each(&s.networks, s.networkItem), each(&s.subnets, s.subnetItem), each(&s.ports, s.portItem), each(&s.trunks, s.trunkItem),
		each(&s.routers, s.routerItem), each(&s.floatingIPs, s.floatingIPItem), each(&s.groups, s.groupItem), each(&s.rules, s.ruleItem),
	)
}

func each[T any](rows *table[T], describe func(*T) item) []item {
	all := make([]item, 0, rows.len())
	for _, row := range rows.all() {
		all = append(all, describe(row))
	}

	return all
}

// itemOf returns the resource with an ID.
func (s *neutronState) itemOf(id string) (item, bool) {
	for _, find := range []func() (item, bool){
		func() (item, bool) { return one(&s.ports, id, s.portItem) }, func() (item, bool) { return one(&s.networks, id, s.networkItem) },
		func() (item, bool) { return one(&s.subnets, id, s.subnetItem) }, func() (item, bool) { return one(&s.trunks, id, s.trunkItem) },
		func() (item, bool) { return one(&s.routers, id, s.routerItem) }, func() (item, bool) { return one(&s.floatingIPs, id, s.floatingIPItem) },
		func() (item, bool) { return one(&s.groups, id, s.groupItem) }, func() (item, bool) { return one(&s.rules, id, s.ruleItem) },
	} {
		if i, ok := find(); ok {
			return i, true
		}
	}

	return item{}, false
}

func one[T any](rows *table[T], id string, describe func(*T) item) (item, bool) {
	row := rows.get(id)
	if row == nil {
		return item{}, false
	}

	return describe(row), true
}

func (s *neutronState) networkItem(n *network) item { return n.item("network "+n.name, nil) }

func (s *neutronState) subnetItem(n *subnet) item {
	return n.item("subnet "+n.cidr.String()+" of network "+s.nameOf(n.networkID), nil)
}

func (s *neutronState) trunkItem(t *trunk) item {
	var parts []string
	for _, sub := range t.subports {
		parts = append(parts, fmt.Sprintf("subport %s %s %d", s.portName(sub.portID), sub.kind, sub.segment))
	}

	return t.item("trunk "+t.name, parts)
}

func (s *neutronState) floatingIPItem(f *floatingIP) item {
	var parts []string
	if f.description != "" {
		parts = append(parts, "description "+f.description)
	}
	if f.portID != "" {
		parts = append(parts, "association with port "+s.portName(f.portID)+" at "+f.fixed.String())
	}

	return f.item("floating IP "+f.address.String(), parts)
}

func (s *neutronState) groupItem(g *securityGroup) item {
	var parts []string
	if g.description != "" {
		parts = append(parts, "description "+g.description)
	}

	return g.item("security group "+g.name, parts)
}

// item returns the line of a resource, with its tags.
func (s *standard) item(what string, parts []string) item {
	for _, tag := range s.tags {
		parts = append(parts, "tag "+tag)
	}

	return item{id: s.id, what: what, parts: parts, service: s.service}
}

func (s *neutronState) nameOf(networkID string) string {
	if n := s.networks.get(networkID); n != nil {
		return n.name
	}

	return ""
}

// portName returns the name of a port, or its first address when it has none.
func (s *neutronState) portName(id string) string {
	p := s.ports.get(id)
	if p == nil || p.name != "" || len(p.fixedIPs) == 0 {
		if p != nil {
			return p.name
		}

		return ""
	}

	return p.fixedIPs[0].ip.String()
}

func (s *neutronState) portItem(p *port) item {
	var parts []string
	for _, f := range p.fixedIPs {
		parts = append(parts, "address "+f.ip.String())
	}
	for _, id := range p.groups {
		if g := s.groups.get(id); g != nil && (!g.service || g.name == "default") {
			parts = append(parts, "security group "+g.name)
		}
	}
	for _, pair := range p.pairs {
		parts = append(parts, "address pair "+pair.ip)
	}
	if p.insecure {
		parts = append(parts, "no port security")
	}
	if p.owner != "" {
		parts = append(parts, "device owner "+p.owner)
	}

	return p.item("port "+s.portName(p.id)+" in network "+s.nameOf(p.networkID), parts)
}

func (s *neutronState) routerItem(t *router) item {
	var parts []string
	if t.external != "" {
		parts = append(parts, "gateway in network "+s.nameOf(t.external))
	}
	for _, id := range t.interfaces {
		parts = append(parts, "interface "+s.portName(id))
	}
	for _, r := range t.routes {
		parts = append(parts, "route "+r.destination+" via "+r.nexthop)
	}

	return t.item("router "+t.name, parts)
}

func (s *neutronState) ruleItem(r *securityRule) item {
	text := "rule " + r.direction + " " + r.ethertype
	if r.protocol != "" {
		text += " " + r.protocol
	}
	if r.portMin != nil {
		text += " " + digits(*r.portMin)
	}
	if r.portMax != nil {
		text += "-" + digits(*r.portMax)
	}
	if r.remotePrefix != "" {
		text += " from " + r.remotePrefix
	}
	if g := s.groups.get(r.remoteGroup); g != nil {
		text += " from group " + g.name
	}
	if g := s.groups.get(r.groupID); g != nil {
		text += " of security group " + g.name
	}

	return r.item(text, nil)
}
