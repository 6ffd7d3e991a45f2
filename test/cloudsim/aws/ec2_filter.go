package aws

import (
	"slices"
	"strings"
)

// filterValueLimit bounds the values of all filters of a call together.
const filterValueLimit = 200

// filter is one condition: a field that has one of the values, in which * and ? have no meaning here.
type filter struct {
	name   string
	values map[string]bool
}

// fieldsOf are the filters of a kind of resource that clients use, and the values of a resource
// that each of them matches. Filters on tags are added to all of them.
type fieldsOf[T any] map[string]func(c *Cloud, resource T) []string

// withTags is what filters on tags work with.
type withTags interface{ tagMap() map[string]string }

func (t *tagged) tagMap() map[string]string { return t.tags }

func parseFilters(p params) ([]filter, error) {
	var filters []filter
	count := 0
	for _, item := range p.structs("Filter") {
		f := filter{name: item.str("Name"), values: make(map[string]bool)}
		values := item.list("Value")
		count += len(values)
		switch {
		case f.name == "":
			return nil, fail("MissingParameter", "The request must contain the parameter %sName", item.prefix)
		case len(values) == 0:
			return nil, fail("InvalidParameterValue", "The filter '%s' has no values", f.name)
		case count > filterValueLimit:
			return nil, fail("FilterLimitExceeded", "The maximum number of filter values specified on a single call is %d", filterValueLimit)
		}
		for _, value := range values {
			f.values[value] = true
		}
		filters = append(filters, f)
	}

	return filters, nil
}

func (f filter) match(values []string) bool {
	return slices.ContainsFunc(values, func(value string) bool { return f.values[value] })
}

// keep returns the resources that match all filters, in their order.
func keep[T withTags](c *Cloud, resources []T, filters []filter, fields fieldsOf[T]) ([]T, error) {
	for _, f := range filters {
		if fields[f.name] == nil && f.name != "tag-key" && !strings.HasPrefix(f.name, "tag:") {
			return nil, fail("InvalidParameterValue", "The filter '%s' is invalid", f.name)
		}
	}
	if len(filters) == 0 {
		return resources, nil
	}
	kept := make([]T, 0, len(resources))
	for _, resource := range resources {
		if !slices.ContainsFunc(filters, func(f filter) bool { return !f.match(valuesOf(c, resource, f.name, fields)) }) {
			kept = append(kept, resource)
		}
	}

	return kept, nil
}

func valuesOf[T withTags](c *Cloud, resource T, name string, fields fieldsOf[T]) []string {
	if get := fields[name]; get != nil {
		return get(c, resource)
	}
	var values []string
	for key, value := range resource.tagMap() {
		switch name {
		case "tag-key":
			values = append(values, key)
		case "tag:" + key:
			values = append(values, value)
		}
	}

	return values
}

// one returns a field's value as filters see it.
func one(value string) []string {
	if value == "" {
		return nil
	}

	return []string{value}
}

// texts returns the texts of some values.
func texts[T interface{ String() string }](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.String()
	}

	return out
}
