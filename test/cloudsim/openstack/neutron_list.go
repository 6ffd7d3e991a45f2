package openstack

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// listParameters are those of a list that are no filters (neutron:
// api/api_common.py, get_filters_from_dict and its callers).
var listParameters = []string{"fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir"}

// tagFilters are the filters by tags (neutron: extensions/standardattrtag.py).
var tagFilters = []string{"tags", "tags-any", "not-tags", "not-tags-any"}

// list serves GET of a collection. Rows are the documents of all objects that the
// caller may see, with all their attributes: those only for administrators can be
// filtered by, and are removed here.
func (r *resource) list(k *call, rows []object) (response, error) {
	filters, err := r.filters(k)
	if err != nil {
		return response{}, err
	}
	rows = slices.DeleteFunc(rows, func(row object) bool { return !filters.match(row) })
	if err := r.order(k, rows); err != nil {
		return response{}, err
	}
	rows, links, err := k.neutronPage(rows)
	if err != nil {
		return response{}, err
	}
	for i := range rows {
		rows[i] = r.visible(k, rows[i])
	}

	return found(r.plural, only(rows, k.query["fields"]), links...)
}

// show serves GET of one object.
func (r *resource) show(k *call, row object) (response, error) {
	return found(r.single, only([]object{r.visible(k, row)}, k.query["fields"])[0])
}

// visible removes the attributes that the caller must not see, and those of
// extensions that the cloud does not have.
func (r *resource) visible(k *call, row object) object {
	for i := range r.attributes {
		a := &r.attributes[i]
		if a.admin && !k.caller.admin() {
			delete(row, a.name)
		}
	}
	for name, alias := range extensionAttributes {
		if _, ok := row[name]; ok && !k.region.neutron.extension(k.cloud, alias) {
			delete(row, name)
		}
	}
	if r == networks && !k.canReadExternal(row) {
		delete(row, "router:external")
	}

	return row
}

// canReadExternal reports whether the caller may read that a network is external. With the
// policies since Wallaby only those do who own it, so that the attribute is missing
// in the response to a filter by it; with those before everyone does (neutron:
// conf/policies/network.py, get_network:router:external; tried with Zed).
func (k *call) canReadExternal(row object) bool {
	return k.cloud.opts.Profile == Bare || k.caller.canRead(row["project_id"].(string))
}

// filter reports whether a row has one of the values of a parameter.
type filter func(row object) bool

type filters []filter

func (f filters) match(row object) bool {
	return !slices.ContainsFunc(f, func(one filter) bool { return !one(row) })
}

// filters returns those of a list. A name that the resource does not have is 400
// in a cloud with the extension filter-validation, and otherwise ignored, so that
// the list has everything (neutron: api/api_common.py, get_filters_from_dict).
func (r *resource) filters(k *call) (filters, error) {
	var all filters
	var unknown []string
	for name, values := range k.query {
		if slices.Contains(listParameters, name) {
			continue
		}
		one, err := r.filter(k, name, values)
		if err != nil {
			return nil, err
		}
		if one == nil {
			unknown = append(unknown, name)

			continue
		}
		all = append(all, one)
	}
	if len(unknown) > 0 && k.region.neutron.extension(k.cloud, "filter-validation") {
		return nil, badRequest("[%s] is invalid attribute for filtering", quoted(sorted(unknown)))
	}

	return all, nil
}

// filter returns a filter, nil when the resource has none with that name.
func (r *resource) filter(k *call, name string, values []string) (filter, error) {
	if slices.Contains(tagFilters, name) {
		if !k.region.neutron.extension(k.cloud, "standard-attr-tag") {
			return nil, nil
		}

		return tagFilter(name, values), nil
	}
	a := r.attribute(name)
	switch {
	case r == ports && name == "fixed_ips":
		return addressFilter(values)
	case r == ports && name == "security_groups":
		if !k.region.neutron.extension(k.cloud, "port-security-groups-filtering") {
			return nil, nil
		}

		return groupFilter(values), nil
	case slices.Contains(r.internal, name):
		return equalFilter(name, values)
	case a == nil || a.list:
		return nil, nil
	case extensionAttributes[name] != "" && !k.region.neutron.extension(k.cloud, extensionAttributes[name]):
		return nil, nil
	}

	return equalFilter(name, values)
}

// equalFilter compares texts without regard to case, as MySQL does with its default
// collation (tried with Zed: name=PRIVATE finds private).
func equalFilter(name string, values []string) (filter, error) {
	if slices.Contains(booleans, name) {
		for _, value := range values {
			if _, ok := asBool(value); !ok {
				return nil, invalidInput("'%s' cannot be converted to boolean", value)
			}
		}
	}

	return func(row object) bool {
		return slices.ContainsFunc(values, func(value string) bool { return equalTo(row[name], value) })
	}, nil
}

// booleans are the attributes that are booleans.
var booleans = []string{"admin_state_up", "shared", "router:external", "is_default", "enable_dhcp", "port_security_enabled", "stateful"}

func equalTo(have any, value string) bool {
	switch have := have.(type) {
	case nil:
		return value == "" || value == "None" || value == "null"
	case bool:
		want, ok := asBool(value)

		return ok && want == have
	case string:
		return strings.EqualFold(have, value)
	}

	return fmt.Sprint(have) == value
}

// tagFilter filters by tags: tags are those that a row has all of, tags-any those
// that it has any of; not-tags leaves out rows with all of them and not-tags-any
// rows with any. Values separated by commas or in several parameters are the same.
func tagFilter(name string, values []string) filter {
	var wanted []string
	for _, value := range values {
		wanted = append(wanted, strings.Split(value, ",")...)
	}

	return func(row object) bool {
		tags, _ := row["tags"].([]string)
		have := 0
		for _, tag := range wanted {
			if slices.Contains(tags, tag) {
				have++
			}
		}
		switch name {
		case "tags":
			return have == len(wanted)
		case "tags-any":
			return have > 0
		case "not-tags":
			return have != len(wanted)
		}

		return have == 0
	}
}

// addressFilter is fixed_ips=ip_address=10.0.0.1 and subnet_id or
// ip_address_substr: values of one key are alternatives, and keys that there are
// none of are ignored (neutron: db/db_base_plugin_v2.py, _get_ports_query).
func addressFilter(values []string) (filter, error) {
	wanted := make(map[string][]string)
	for _, value := range values {
		key, text, ok := strings.Cut(value, "=")
		if !ok {
			return nil, invalidInput("'%s' is not of the form <key>=[value]", value)
		}
		wanted[key] = append(wanted[key], text)
	}

	return func(row object) bool {
		ips, _ := row["fixed_ips"].([]object)
		matches := func(key, attribute string, equal func(have, want string) bool) bool {
			if wanted[key] == nil {
				return true
			}

			return slices.ContainsFunc(ips, func(ip object) bool {
				return slices.ContainsFunc(wanted[key], func(want string) bool { return equal(ip[attribute].(string), want) })
			})
		}

		return matches("ip_address", "ip_address", strings.EqualFold) && matches("subnet_id", "subnet_id", strings.EqualFold) &&
			matches("ip_address_substr", "ip_address", strings.Contains)
	}, nil
}

func groupFilter(values []string) filter {
	return func(row object) bool {
		groups, _ := row["security_groups"].([]string)

		return slices.ContainsFunc(groups, func(id string) bool { return slices.Contains(values, id) })
	}
}

// order sorts rows by the keys of a request, and then by ID.
func (r *resource) order(k *call, rows []object) error {
	keys, dirs := k.query["sort_key"], k.query["sort_dir"]
	if len(keys) != len(dirs) {
		return badRequest("The number of sort_keys and sort_dirs must be same")
	}
	for _, dir := range dirs {
		if dir != "asc" && dir != "desc" {
			return badRequest("['%s'] is invalid value for sort_dirs, valid value is 'asc' and 'desc'", dir)
		}
	}
	for _, key := range keys {
		if a := r.attribute(key); a == nil || a.list || a.unsorted {
			return badRequest("['%s'] is invalid attribute for sort_keys", key)
		}
	}
	slices.SortStableFunc(rows, func(a, b object) int {
		for i, key := range keys {
			if order := compare(a[key], b[key]); order != 0 {
				if dirs[i] == "desc" {
					return -order
				}

				return order
			}
		}

		return strings.Compare(a["id"].(string), b["id"].(string))
	})

	return nil
}

// compare orders values as MySQL does: null comes first.
func compare(a, b any) int {
	if a == nil || b == nil {
		return boolInt(a != nil) - boolInt(b != nil)
	}
	if n, ok := a.(int); ok {
		if m, ok := b.(int); ok {
			return n - m
		}
	}

	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func boolInt(value bool) int {
	if value {
		return 1
	}

	return 0
}

// document returns the attributes that each resource has.
func (s *standard) document() object {
	tags := slices.Clone(s.tags)
	if tags == nil {
		tags = []string{}
	}

	return object{
		"id": s.id, "name": s.name, "description": s.description, "tenant_id": s.projectID, "project_id": s.projectID,
		"created_at": s.created.UTC().Format(neutronTime), "updated_at": s.updated.UTC().Format(neutronTime),
		"revision_number": s.revision, "tags": tags,
	}
}

// neutronTime is the form of times (neutron: services/timestamp/timestamp_db.py).
const neutronTime = "2006-01-02T15:04:05Z"

// merge adds attributes to a document.
func (o object) merge(more object) object {
	maps.Copy(o, more)

	return o
}

// orNil returns nil for an empty text, so that it is null in responses.
func orNil(text string) any {
	if text == "" {
		return nil
	}

	return text
}

// number returns the value of an integer in a query, -1 when it is none.
func number(query url.Values, name string) int {
	n, err := strconv.Atoi(query.Get(name))
	if err != nil {
		return -1
	}

	return n
}
