package openstack

import (
	"cmp"
	"net/http"
)

// LBFlavor is a flavor of load balancers to add.
type LBFlavor struct {
	// Name is its name.
	Name string
	// Provider is the provider of its load balancers; default the default one.
	Provider string
	// Region is the region's name; default the first one.
	Region string
}

type lbFlavor struct {
	LBFlavor

	id string
}

// LBZone is an availability zone of load balancers to add.
type LBZone struct {
	// Name is its name.
	Name string
	// Region is the region's name; default the first one.
	Region string
}

type lbZone struct{ LBZone }

// AddLBFlavor adds a flavor and returns its ID.
func (c *Cloud) AddLBFlavor(flavor LBFlavor) string {
	id := ""
	c.inspect(func() {
		r := c.region(flavor.Region)
		f := &lbFlavor{LBFlavor: flavor, id: c.newID("flavor of load balancers")}
		f.Provider = cmp.Or(f.Provider, c.providersOf(r.octavia)[0])
		r.octavia.flavors.put(f.id, f)
		id = f.id
	})

	return id
}

// AddLBZone adds an availability zone.
func (c *Cloud) AddLBZone(zone LBZone) {
	c.inspect(func() { c.region(zone.Region).octavia.zones.put(zone.Name, &lbZone{zone}) })
}

func (f *lbFlavor) document() object {
	return object{
		"id": f.id, "name": f.Name, "description": "", "enabled": true, "flavor_profile_id": stableUUID("profile of " + f.id),
	}
}

// listLBFlavors handles GET /lbaas/flavors.
func listLBFlavors(k *call) (response, error) {
	rows := []object{}
	for _, f := range k.region.octavia.flavors.all() {
		if name := k.query.Get("name"); name == "" || name == f.Name {
			rows = append(rows, f.document())
		}
	}

	return found("flavors", only(rows, k.query["fields"]), []link{}...)
}

// listLBZones handles GET /lbaas/availabilityzones.
func listLBZones(k *call) (response, error) {
	rows := []object{}
	for _, z := range k.region.octavia.zones.all() {
		rows = append(rows, object{
			"name": z.Name, "description": "", "enabled": true, "availability_zone_profile_id": stableUUID("profile of " + z.Name),
		})
	}

	return found("availability_zones", only(rows, k.query["fields"]), []link{}...)
}

// listLBProviders handles GET /lbaas/providers.
func listLBProviders(k *call) (response, error) {
	descriptions := map[string]string{
		providerAmphora: "amphora (noop data plane)", providerOctavia: "alias of amphora", providerOVN: "Octavia OVN driver.",
	}
	rows := []object{}
	for _, name := range k.cloud.providersOf(k.region.octavia) {
		rows = append(rows, object{"name": name, "description": descriptions[name]})
	}

	return reply(http.StatusOK, object{"providers": rows})
}
