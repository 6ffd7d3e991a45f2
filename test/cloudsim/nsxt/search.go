package nsxt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reindex has the search API see an object as it is now, later.
func (c *Cloud) reindex(o *object) {
	document := o.document(caller{})
	c.after(c.spec.SearchLag, func(c *Cloud) { c.state.index[o.path] = document })
}

// search returns a page of the objects that match a query. It returns those that are marked
// for deletion, too ([terraform] 516).
func (c *Cloud) search(k *call) (any, error) {
	match, err := parseQuery(k.query.Get("query"))
	if err != nil {
		return nil, err
	}
	rows := []Object{}
	for _, path := range slices.Sorted(maps.Keys(c.state.index)) {
		if document := c.state.index[path]; match(document) {
			rows = append(rows, document)
		}
	}

	return c.page(k, rows)
}

// valuesAt returns all values of a field such as "tags.scope", of each element of a list.
func valuesAt(value any, field string) []string {
	switch v := value.(type) {
	case nil:
		return nil
	case Object:
		return valuesIn(v, field)
	case map[string]any:
		return valuesIn(v, field)
	case []any:
		var all []string
		for _, element := range v {
			all = append(all, valuesAt(element, field)...)
		}

		return all
	}
	if field != "" {
		return nil
	}

	return []string{fmt.Sprint(value)}
}

func valuesIn(fields map[string]any, field string) []string {
	if field == "" {
		return nil
	}
	name, rest, _ := strings.Cut(field, ".")

	return valuesAt(fields[name], rest)
}
