package nsxt

import (
	"fmt"
	"slices"
)

// capacity is what a load balancer service of a size has.
type capacity struct{ credits, virtualServers, pools, members int }

// capacities are those of the sizes: credits of [docs] NSX-T 3.2 and [KB] 322486; numbers of
// docs.pivotal.io/pra/2-2/routing for LARGE, and without a stored source for the others.
var capacities = map[string]capacity{
	"SMALL": {1, 20, 60, 300}, "MEDIUM": {10, 100, 300, 2000}, "LARGE": {40, 1000, 3000, 7500}, "XLARGE": {80, 2000, 4000, 10000},
}

// exceeded returns which limit a service exceeds after a change, "" for none. Members count
// for each pool.
func (c *Cloud) exceeded(service, changed *object) string {
	size := service.fields.text("size")
	limit, ok := capacities[size]
	if !ok || service.fields["relax_scale_validation"] == true {
		return ""
	}
	virtualServers, members, pools := 0, 0, map[string]bool{}
	for _, v := range c.others("LBVirtualServer", changed) {
		if v.fields.text("lb_service_path") != service.path {
			continue
		}
		virtualServers++
		path := v.fields.text("pool_path")
		if pool := c.at(path, changed); pool != nil && !pools[path] {
			pools[path] = true
			members += len(pool.fields.objects("members"))
		}
	}
	if virtualServers <= limit.virtualServers && len(pools) <= limit.pools && members <= limit.members {
		return ""
	}

	return fmt.Sprintf("size %s is too small for %d virtual servers, %d pools and %d members", size, virtualServers, len(pools), members)
}

// checkService refuses a service of unknown size, or one too many on a tier-1 gateway.
func checkService(c *Cloud, o *object) error {
	size, tier1 := o.fields.text("size"), o.fields.text("connectivity_path")
	if _, ok := capacities[size]; !ok && size != "DLB" {
		return invalid("size %s is unknown", size)
	}
	if tier1 == "" {
		return nil
	}
	t, ok := c.tier1(tier1)
	if !ok || !t.EdgeCluster && c.spec.RefuseWithoutEdge {
		return badPath(tier1)
	}
	if len(c.servicesAt(tier1, o)) > c.spec.ServicesPerTier1 {
		return invalid("%s has a load balancer service", tier1)
	}

	return nil
}

// servicesAt returns the services of a tier-1 gateway after a change, oldest first.
func (c *Cloud) servicesAt(tier1 string, changed *object) []*object {
	all := slices.DeleteFunc(c.others("LBService", changed), func(o *object) bool { return o.fields.text("connectivity_path") != tier1 })
	slices.SortStableFunc(all, func(a, b *object) int { return a.created.Compare(b.created) })

	return all
}

// serviceProblem is an edge that is missing or full, which only the realized state shows
// ([docs] NSX-T 3.2, load balancers; [KB] 322486).
func serviceProblem(c *Cloud, o *object) *Alarm {
	path := o.fields.text("connectivity_path")
	t, ok := c.tier1(path)
	if !ok {
		return nil
	}
	if !t.EdgeCluster {
		return &Alarm{Message: path + " has no edge cluster."}
	}
	credits := 0
	for _, service := range c.servicesAt(path, o) {
		credits += capacities[service.fields.text("size")].credits
		if service == o && t.Credits > 0 && credits > t.Credits {
			return &Alarm{Message: "The edge of " + path + " has no capacity for a load balancer service of this size."}
		}
	}

	return nil
}
