package aws

import "slices"

// Leaks returns what clients created and did not delete, sorted, a line each:
// load balancer resources, security groups, rules of groups that the builder
// made, routes and tags. Deleted resources of the builder are listed as "lost
// …".
func (c *Cloud) Leaks() []string {
	var found []string
	c.inspect(func() {
		found = append(c.balancerLeaks(), c.networkLeaks()...)
	})
	slices.Sort(found)

	return found
}

// networkLeaks returns the leaks of EC2.
func (c *Cloud) networkLeaks() []string {
	found := slices.Clone(c.ec2.lost)
	for _, g := range c.ec2.groups.all() {
		if !g.given {
			found = append(found, "security-group "+g.name)

			continue
		}
		found = append(found, tagLeaks(g.id, g.tagged)...)
		for _, r := range g.rules {
			if !r.given {
				found = append(found, "rule "+g.id+" "+r.String())
			}
		}
		for _, r := range g.original {
			if !slices.ContainsFunc(g.rules, r.same) {
				found = append(found, "lost rule "+g.id+" "+r.String())
			}
		}
	}
	for _, t := range c.ec2.tables.all() {
		found = append(found, tagLeaks(t.id, t.tagged)...)
		for _, r := range t.routes {
			if !r.given {
				found = append(found, "route "+t.id+" "+r.destination.String())
			}
		}
		for _, r := range t.original {
			if c.routeTo(t, r) == nil {
				found = append(found, "lost route "+t.id+" "+r.String())
			}
		}
	}
	for _, i := range c.ec2.instances.all() {
		found = append(found, tagLeaks(i.id, i.tagged)...)
	}
	for _, s := range c.ec2.subnets.all() {
		found = append(found, tagLeaks(s.id, s.tagged)...)
	}
	for _, v := range c.ec2.vpcs.all() {
		found = append(found, tagLeaks(v.id, v.tagged)...)
	}

	return found
}

// tagLeaks compares the tags of a resource with those that the builder set.
func tagLeaks(id string, t tagged) []string {
	var found []string
	for key, value := range t.tags {
		if given, ok := t.given[key]; !ok || given != value {
			found = append(found, "tag "+id+" "+key+"="+value)
		}
	}
	for key, value := range t.given {
		if _, ok := t.tags[key]; !ok {
			found = append(found, "lost tag "+id+" "+key+"="+value)
		}
	}

	return found
}
