package nsxt

import (
	"slices"
	"strings"
)

// kind is a kind of objects.
type kind struct {
	// name is that in the names of operations.
	name string
	// pattern is the path of the collection by its segments; "*" is any ID.
	pattern []string
	// types are the values that resource_type can have; the first is the default.
	types    []string
	readOnly bool
	// allocates is set for allocations of addresses: a write of one that exists does nothing
	// ([SDK] IpAllocationsClient).
	allocates bool
	// missing refuses an update without a revision as "already exists", which happens with
	// some kinds ([terraform] 1027; which is not documented).
	missing bool
	// defaults are fields that the manager adds, and elements those that it adds to the
	// objects of a list: some of those of a manager (no source for all values).
	defaults Object
	elements map[string]Object
	// references are fields with paths of objects that must exist, and be kept.
	references []string
	// entities are the types of what realizes an intent. There are several, as all must be
	// realized ([operator] services/realizestate).
	entities []string
	// check refuses a write.
	check func(*Cloud, *object) error
	// problem is what keeps an accepted intent from being realized.
	problem func(*Cloud, *object) *Alarm
}

// newKinds returns all kinds of objects.
func newKinds() []*kind {
	all := append(newBalancingKinds(),
		&kind{name: "Tier1", pattern: []string{"infra", "tier-1s"}, types: []string{"Tier1"}, readOnly: true},
		&kind{
			name: "StaticRoute", pattern: []string{"infra", "tier-1s", "*", "static-routes"}, types: []string{"StaticRoutes"},
			defaults: Object{"enabled_on_secondary": false}, elements: map[string]Object{"next_hops": {"admin_distance": 1}},
			check: checkStaticRoute,
		},
	)
	for _, k := range all {
		k.entities = []string{"Realized" + k.types[0], "RealizedEdge" + k.types[0]}
	}

	return all
}

// collection is the last part of the path.
func (k *kind) collection() string { return k.pattern[len(k.pattern)-1] }

// kindOf returns the kind of objects at a policy path, nil for none, and whether the path is
// that of the whole collection.
func (c *Cloud) kindOf(path string) (k *kind, whole bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if slices.Contains(parts, "") {
		return nil, false
	}
	for _, k := range c.kinds {
		n := len(k.pattern)
		if len(parts) != n && len(parts) != n+1 {
			continue
		}
		if slices.EqualFunc(k.pattern, parts[:n], func(want, got string) bool { return want == "*" || want == got }) {
			return k, len(parts) == n
		}
	}

	return nil, false
}

// checkParent returns an error if what an object or collection belongs to does not exist.
func (c *Cloud) checkParent(k *kind, path string) error {
	if !slices.Contains(k.pattern, "*") {
		return nil
	}
	parts := strings.Split(path, "/") // the first is empty
	parent := strings.Join(parts[:slices.Index(k.pattern, "*")+2], "/")
	if o := c.state.objects[parent]; o == nil || o.marked {
		return notFound(parent)
	}

	return nil
}
