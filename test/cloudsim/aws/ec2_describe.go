package aws

import (
	"cmp"
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// kindOf is a kind of resource as Describe operations return it.
type kindOf[T withTags] struct {
	resources *store[T]
	ids       string // parameter
	noun      string // in "The <noun> 'x' does not exist"
	code      string // of errors, without the part after the dot
	most      int    // largest page, if it is not 1000
	fields    fieldsOf[T]
	id        func(T) string
	created   func(T) *simstate.Created
}

// describe returns the page of resources that a Describe operation requests.
func describe[T withTags](c *Cloud, p params, kind kindOf[T]) ([]T, *string, error) {
	ids := p.list(kind.ids)
	if len(ids) > 0 && p.has("MaxResults") {
		return nil, nil, fail("InvalidParameterCombination", "The parameter %s cannot be used with the parameter maxResults", kind.ids)
	}
	filters, err := parseFilters(p)
	if err != nil {
		return nil, nil, err
	}
	var found []T
	if len(ids) == 0 {
		found = slices.DeleteFunc(kind.resources.all(), func(resource T) bool { return !c.visible(kind.created(resource)) })
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		resource, ok := kind.resources.byID[id]
		if !ok || !c.visible(kind.created(resource)) {
			return nil, nil, fail(kind.code+".NotFound", "The %s '%s' does not exist", kind.noun, id)
		}
		found = append(found, resource)
	}
	if found, err = keep(c, found, filters, kind.fields); err != nil {
		return nil, nil, err
	}
	by := ec2Pager
	by.high = cmp.Or(kind.most, by.high)

	return page(c, p, by, found, kind.id)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
