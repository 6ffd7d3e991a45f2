package openstack

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// flavor is a size of servers.
type flavor struct {
	id, name         string
	vcpus, ram, disk int
	specs            map[string]string // extra specs, never written to
	private          bool
}

// FlavorSpec is a flavor to add. Only Name is needed.
type FlavorSpec struct {
	// Name is the flavor's name, which need not be valid as a label.
	Name string
	// Region is the region's name; default the first one.
	Region string
	// VCPUs, RAM (MiB) and Disk (GiB) are its size; default 2, 4096 and 20.
	VCPUs, RAM, Disk int
	// ExtraSpecs are its extra specs.
	ExtraSpecs map[string]string
	// Private makes it invisible to all but administrators.
	Private bool
}

// AddFlavor adds a flavor and returns its ID, which depends on the name alone.
func (c *Cloud) AddFlavor(spec FlavorSpec) string {
	var id string
	c.inspect(func() {
		f := c.region(spec.Region).nova.flavor(spec.Name)
		f.vcpus, f.ram, f.disk = cmp.Or(spec.VCPUs, f.vcpus), cmp.Or(spec.RAM, f.ram), cmp.Or(spec.Disk, f.disk)
		f.private, f.specs = spec.Private, maps.Clone(spec.ExtraSpecs)
		id = f.id
	})

	return id
}

// DeleteFlavor deletes a flavor in all regions, given by its name. Servers keep what
// it was.
func (c *Cloud) DeleteFlavor(name string) {
	c.inspect(func() {
		for _, r := range c.regions {
			r.nova.flavors.remove(stableUUID("flavor " + name))
		}
	})
}

// flavor returns the flavor with a name, which it adds when there is none.
func (s *novaState) flavor(name string) *flavor {
	id := stableUUID("flavor " + name)
	if s.flavors.get(id) == nil {
		s.flavors.put(id, &flavor{id: id, name: name, vcpus: 2, ram: 4096, disk: 20})
	}

	return s.flavors.get(id)
}

// createFlavor adds a flavor, for administrators (nova: api-ref, create flavor).
func createFlavor(k *call) (response, error) {
	if !k.caller.admin() {
		return response{}, k.service.denied(k)
	}
	var body struct {
		Flavor struct {
			Name             string
			RAM, VCPUs, Disk int
			Public           *bool `json:"os-flavor-access:is_public"`
		}
	}
	if err := k.decode(&body); err != nil {
		return response{}, err
	}
	wanted, nova := body.Flavor, k.region.nova
	if wanted.Name == "" || wanted.RAM < 1 || wanted.VCPUs < 1 {
		return response{}, fail(http.StatusBadRequest, "", "Invalid input for field/attribute flavor.")
	}
	if nova.flavors.get(stableUUID("flavor "+wanted.Name)) != nil {
		return response{}, fail(http.StatusConflict, "", "Flavor with name %s already exists.", wanted.Name)
	}
	f := nova.flavor(wanted.Name)
	f.ram, f.vcpus, f.disk = wanted.RAM, wanted.VCPUs, wanted.Disk
	f.private = wanted.Public != nil && !*wanted.Public

	return found("flavor", k.flavorDocument(f, true))
}

// showFlavor responds with a flavor. One that is deleted, or private, is 404 (nova:
// api/openstack/compute/flavors.py).
func showFlavor(k *call) (response, error) {
	f := k.region.nova.flavors.get(k.path("id"))
	if f == nil || !k.mayUse(f) {
		return response{}, fail(http.StatusNotFound, "", "Flavor %s could not be found.", k.path("id"))
	}

	return found("flavor", k.flavorDocument(f, true))
}

// flavorOrders are the orders of lists of flavors; others leave that by ID.
var flavorOrders = map[string]func(a, b *flavor) int{
	"name":      func(a, b *flavor) int { return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) },
	"memory_mb": func(a, b *flavor) int { return a.ram - b.ram },
	"root_gb":   func(a, b *flavor) int { return a.disk - b.disk },
	"vcpus":     func(a, b *flavor) int { return a.vcpus - b.vcpus },
	"flavorid":  func(a, b *flavor) int { return strings.Compare(a.id, b.id) },
}

// listFlavors responds with the flavors that the caller may use, by ID unless the
// request has another order.
func listFlavors(k *call) (response, error) {
	usable := k.region.nova.flavors.where(k.mayUse)
	slices.SortFunc(usable, flavorOrders["flavorid"])
	if order := flavorOrders[last(k.query["sort_key"])]; order != nil {
		slices.SortStableFunc(usable, order)
	}
	if last(k.query["sort_dir"]) == "desc" {
		slices.Reverse(usable)
	}
	detail := k.route.op == "ListFlavorsDetail"
	rows := make([]object, len(usable))
	for i, f := range usable {
		rows[i] = k.flavorDocument(f, detail)
	}
	path := "/flavors"
	if detail {
		path = "/flavors/detail"
	}
	page, links, err := k.novaPage(rows, path)
	if err != nil {
		return response{}, err
	}

	return found("flavors", page, links...)
}

func (k *call) mayUse(f *flavor) bool {
	return !f.private || k.caller.admin()
}

// flavorDocument is a flavor as responses have it (nova:
// api/openstack/compute/views/flavors.py).
func (k *call) flavorDocument(f *flavor, detail bool) object {
	o := object{"id": f.id, "name": f.name, "links": k.novaLinks("/flavors/" + f.id)}
	if k.minor >= 55 {
		o["description"] = nil
	}
	if !detail {
		return o
	}
	o["ram"], o["disk"], o["vcpus"] = f.ram, f.disk, f.vcpus
	o["swap"] = ""
	if k.minor >= 75 {
		o["swap"] = 0
	}
	o["OS-FLV-EXT-DATA:ephemeral"], o["OS-FLV-DISABLED:disabled"] = 0, false
	o["os-flavor-access:is_public"], o["rxtx_factor"] = !f.private, json.Number("1.0")
	if k.minor >= 61 {
		o["extra_specs"] = orEmpty(f.specs)
	}

	return o
}

// novaBase is the URL that links of a call start with.
func (k *call) novaBase() string {
	if k.target.legacy {
		return k.base() + "/v2" + k.target.project
	}

	return k.base() + "/v2.1" + k.target.project
}

// novaLinks are the links to a resource.
func (k *call) novaLinks(path string) []link {
	return []link{{"self", k.novaBase() + path}, {"bookmark", k.base() + k.target.project + path}}
}
