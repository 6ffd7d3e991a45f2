package nsxt

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// delete marks an object for deletion; it is gone when its realization is ([SDK]
// MarkedForDelete). With force, references do not matter ([SDK] forceParam).
func (c *Cloud) delete(k *call) (any, error) {
	o := c.state.objects[k.path]
	if o == nil || o.marked {
		return nil, notFound(k.path)
	}
	if err := k.checkProtection(o); err != nil {
		return nil, err
	}

	return nil, c.mark(o, k.query.Get("force") == "true")
}

// mark refuses to delete what has children or is referenced, which lasts until the objects
// that refer to it are gone ([terraform] 942, 877).
func (c *Cloud) mark(o *object, force bool) error {
	if user := c.userOf(o.path); user != "" && !force {
		return &apiError{
			status: http.StatusBadRequest, code: codeInUse, module: modulePolicy,
			message: fmt.Sprintf("The object path=[%s] has children or is referenced by other objects path=[%s].", o.path, user),
		}
	}
	o.marked = true
	if o.seed != nil {
		c.state.lost[o.path] = true
	}
	c.reindex(o)
	if c.spec.AddressReturnsAtOnce {
		c.release(o)
	}
	path := o.path
	c.after(c.spec.DeletionTime, func(c *Cloud) { c.remove(path) })

	return nil
}

// remove ends an object that was marked. Search shows it a while longer.
func (c *Cloud) remove(path string) {
	o := c.state.objects[path]
	if o == nil || !o.marked {
		return
	}
	c.release(o)
	delete(c.state.objects, path)
	c.after(c.spec.SearchLag, func(c *Cloud) {
		if c.state.objects[path] == nil {
			delete(c.state.index, path)
		}
	})
}

// userOf returns the path of an object that refers to another one or is below it, "" for
// none.
func (c *Cloud) userOf(path string) string {
	for _, other := range slices.Sorted(maps.Keys(c.state.objects)) {
		if strings.HasPrefix(other, path+"/") || slices.Contains(c.state.objects[other].references(), path) {
			return other
		}
	}

	return ""
}

// references returns the paths of the objects that an object refers to.
func (o *object) references() []string {
	var paths []string
	for _, field := range o.kind.references {
		paths = append(paths, valuesAt(o.fields, field)...)
	}

	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}
