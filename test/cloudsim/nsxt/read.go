package nsxt

import (
	"maps"
	"slices"
	"strings"
)

// get returns an object. One that is marked for deletion is not found ([SDK] MarkedForDelete).
func (c *Cloud) get(k *call) (any, error) {
	o := c.state.objects[k.path]
	if o == nil || o.marked {
		return nil, notFound(k.path)
	}

	return o.document(k.caller), nil
}

// list returns a page of the objects of a collection, without those that are marked for
// deletion unless they are asked for ([SDK]).
func (c *Cloud) list(k *call) (any, error) {
	if err := c.checkParent(k.kind, k.path); err != nil {
		return nil, err
	}
	rows := []Object{}
	for _, path := range slices.Sorted(maps.Keys(c.state.objects)) {
		o := c.state.objects[path]
		rest, below := strings.CutPrefix(path, k.path+"/")
		if !below || strings.Contains(rest, "/") || o.marked && k.query.Get("include_mark_for_delete_objects") != "true" {
			continue
		}
		rows = append(rows, o.document(k.caller))
	}
	if slices.Contains(c.spec.BareLists, k.kind.collection()) {
		return Object{"results": rows}, nil
	}

	return c.page(k, rows)
}
