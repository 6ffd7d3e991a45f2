package openstack

import (
	"slices"
	"strings"
)

// Leaks returns what clients created and did not delete, sorted, a line each: load
// balancers and their parts, floating IPs, security groups, rules, routes, address
// pairs, tags. What tests made and clients deleted or changed is listed as "lost …".
func (c *Cloud) Leaks() []string {
	return c.lines(func(s serviceState) []string { return s.leaks() })
}

// Resources describes all that clients have created and not deleted, with its
// settings, in one line each and in order. Nothing in it is random, so that equal
// operations in two clouds have equal lines.
func (c *Cloud) Resources() []string {
	return c.lines(func(s serviceState) []string { return s.resources() })
}

// Dump returns the whole state as text, for the output of failed tests.
func (c *Cloud) Dump() string {
	return strings.Join(c.lines(func(s serviceState) []string { return s.dump() }), "\n")
}

// serviceState is the state of a service in one region.
type serviceState interface {
	// leaks returns a line for each resource that a client made, and "lost …" for
	// each of a test that is gone or changed.
	leaks() []string
	// resources returns the same with all settings and without IDs.
	resources() []string
	// dump returns a line for each resource.
	dump() []string
}

// states returns the states of the services of a region.
func (r *region) states() []serviceState { return []serviceState{r.nova, r.neutron, r.octavia} }

// lines returns those of all services, sorted, and with the region's name in front
// when there are several.
func (c *Cloud) lines(of func(serviceState) []string) []string {
	var all []string
	c.inspect(func() {
		for _, r := range c.regions {
			for _, s := range r.states() {
				for _, line := range of(s) {
					if len(c.regions) > 1 {
						line = r.name + " " + line
					}
					all = append(all, line)
				}
			}
		}
	})
	slices.Sort(all)

	return all
}
