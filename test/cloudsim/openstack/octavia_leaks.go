package openstack

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// leaks returns a line for each load balancer that a client made, and for each part
// that clients added to one of a test, and "lost …" for what they took away.
func (s *octaviaState) leaks() []string {
	var lines []string
	for _, lb := range s.loadBalancers.all() {
		switch {
		case lb.status == lbDeleted:
		case !lb.given:
			lines = append(lines, "load balancer "+lb.text("name"))
		default:
			lines = append(lines, differences(item{what: "load balancer " + lb.text("name"), parts: s.describe(lb)}, s.initial[lb.id])...)
		}
	}
	for _, id := range sortedKeys(s.initial) {
		if lb := s.loadBalancers.get(id); lb == nil || lb.status == lbDeleted {
			lines = append(lines, "lost "+s.initial[id].what)
		}
	}

	return lines
}

// resources returns the same with all settings.
func (s *octaviaState) resources() []string {
	var lines []string
	for _, lb := range s.loadBalancers.all() {
		switch {
		case lb.status == lbDeleted:
		case lb.given:
			lines = append(lines, differences(item{what: "load balancer " + lb.text("name"), parts: s.describe(lb)}, s.initial[lb.id])...)
		default:
			for _, part := range s.describe(lb) {
				lines = append(lines, "load balancer "+lb.text("name")+": "+part)
			}
		}
	}

	return lines
}

// dump returns a line for each object.
func (s *octaviaState) dump() []string {
	var lines []string
	for _, lb := range s.loadBalancers.all() {
		for _, o := range s.parts(lb) {
			lines = append(lines, fmt.Sprintf("%s %s of %s %s/%s %s", strings.ToLower(o.sort.name), o.id, lb.text("name"), o.status, o.operating, s.settingsOf(o)))
		}
	}

	return lines
}

// keep stores what a load balancer of a test is like.
func (s *octaviaState) keep(lb *lbObject) {
	s.initial = maps.Clone(s.initial)
	if s.initial == nil {
		s.initial = make(map[string]baseline)
	}
	s.initial[lb.id] = baseline{"load balancer " + lb.text("name"), s.describe(lb)}
}

// describe returns a line for a load balancer and for each of its parts, with their
// settings and without IDs.
func (s *octaviaState) describe(lb *lbObject) []string {
	var lines []string
	for _, o := range s.parts(lb) {
		lines = append(lines, strings.ToLower(o.sort.name)+" "+s.settingsOf(o))
	}
	slices.Sort(lines)

	return lines
}

// settingsOf returns the settings of an object that are not null. IDs of pools become
// names; other IDs are left out.
func (s *octaviaState) settingsOf(o *lbObject) string {
	shown := object{}
	for _, f := range o.sort.fields {
		value := o.settings[f.name]
		if f.hidden || value == nil || f.name == "vip_port_id" || f.name == "vip_subnet_id" || f.name == "vip_network_id" {
			continue
		}
		if p := s.pools.get(fmt.Sprint(value)); p != nil {
			value = p.text("name")
		}
		shown[f.name] = value
	}
	if p := s.pools.get(o.pool); p != nil {
		shown["pool"] = p.text("name")
	}
	text, err := json.Marshal(shown) // the keys are in order
	if err != nil {
		return err.Error()
	}

	return string(text)
}
