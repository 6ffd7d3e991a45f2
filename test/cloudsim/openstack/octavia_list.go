package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// lbAuxiliary are the parameters of lists that are no filters (octavia:
// api/common/pagination.py).
var lbAuxiliary = []string{
	"limit", "marker", "sort", "sort_key", "sort_dir", "fields", "page_reverse",
	"tags", "tags-any", "not-tags", "not-tags-any",
}

// lbList handles a list of all objects of a sort. Who may read one project alone gets 403
// for the ID of another one; who may read all gets all without it (octavia:
// api/v2/controllers/base.py, _auth_get_all).
func lbList(sort *lbSort) handler {
	return func(k *call) (response, error) {
		project := k.query.Get("project_id")
		if project == "" && !k.lbGlobal() {
			project = k.caller.projectID
		}
		if !k.lbReads(project) && (project != "" || !k.lbGlobal()) {
			return response{}, lbForbidden()
		}
		objects := k.region.octavia.table(sort).where(func(o *lbObject) bool {
			return project == "" || o.projectID == project
		})

		return k.lbPage(sort, objects)
	}
}

// lbPage filters, sorts and cuts a list.
func (k *call) lbPage(sort *lbSort, objects []*lbObject) (response, error) {
	if _, err := k.octaviaLimit(); err != nil {
		return response{}, err
	}
	keys, err := k.lbSortKeys()
	if err != nil {
		return response{}, err
	}
	matches, err := k.lbFilters(sort)
	if err != nil {
		return response{}, err
	}
	rows := []object{}
	for _, o := range objects {
		if row := k.lbDocument(o); matches(o, row) {
			rows = append(rows, row)
		}
	}
	for _, key := range keys {
		if !sort.sortable(key.name) {
			return response{}, fail(http.StatusBadRequest, "", "Supplied sort key '%s' is not valid.", key.name)
		}
	}
	slices.SortStableFunc(rows, func(a, b object) int { return compareRows(a, b, keys) })
	page, links, err := k.octaviaPage(rows)
	if err != nil {
		return response{}, err
	}

	return found(sort.plural, only(page, k.query["fields"]), links...)
}

// lbShown responds with one object, with the fields that the query names.
func (k *call) lbShown(o *lbObject) (response, error) {
	rows := only([]object{k.lbDocument(o)}, k.query["fields"])

	return found(o.sort.single, rows[0])
}

// lbShow handles a call for one object.
func lbShow(sort *lbSort) handler {
	return func(k *call) (response, error) {
		o, err := k.lbGet(sort, k.path("id"))
		if err != nil {
			return response{}, err
		}

		return k.lbShown(o)
	}
}

type sortKey struct {
	name string
	down bool
}

// lbSortKeys returns the order of a list: what the request has, then the time of
// creation, which has no fraction of a second, and the ID.
func (k *call) lbSortKeys() ([]sortKey, error) {
	var keys []sortKey
	add := func(name, direction string) error {
		switch strings.ToLower(direction) {
		case "asc", "desc":
			keys = append(keys, sortKey{name, strings.EqualFold(direction, "desc")})

			return nil
		}
		// Refused before the service's own error handling.
		message := "Supplied sort direction '" + direction + "' is not valid."
		body, err := json.Marshal(object{"code": http.StatusBadRequest, "title": "Bad Request", "description": message})
		if err != nil {
			return err
		}

		return &apiError{status: http.StatusBadRequest, message: message, raw: body}
	}
	names, directions := k.query.Get("sort"), ""
	if names == "" {
		names, directions = k.query.Get("sort_key"), k.query.Get("sort_dir")
	}
	dirs := strings.Split(directions, ",")
	for i, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
		name, direction, given := strings.Cut(name, ":")
		if !given && i < len(dirs) {
			direction = dirs[i]
		}
		if direction == "" {
			direction = "asc"
		}
		if err := add(name, direction); err != nil {
			return nil, err
		}
	}

	return append(keys, sortKey{name: "created_at"}, sortKey{name: "id"}), nil
}

// sortable reports whether lists can be sorted by an attribute.
func (s *lbSort) sortable(name string) bool {
	switch name {
	case "id", "created_at", "updated_at", "project_id", "provisioning_status", "operating_status":
		return true
	}

	return slices.ContainsFunc(s.fields, func(f lbField) bool { return f.name == name && !f.hidden }) && !slices.Contains(s.unsortable, name)
}

func compareRows(a, b object, keys []sortKey) int {
	for _, key := range keys {
		n := compareValues(a[key.name], b[key.name])
		if key.down {
			n = -n
		}
		if n != 0 {
			return n
		}
	}

	return 0
}

func compareValues(a, b any) int {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			return x - y
		}
	}
	if a == nil || b == nil {
		return map[bool]int{true: 1}[a != nil] - map[bool]int{true: 1}[b != nil]
	}

	return strings.Compare(pythonValue(a, false), pythonValue(b, false))
}

// lbFilters returns what a list's parameters let pass. Each attribute takes one
// value; with two, the database refuses the query (compared with Zed); an attribute
// that a sort does not have is 400.
func (k *call) lbFilters(sort *lbSort) (func(*lbObject, object) bool, error) {
	wanted := make(map[string]string)
	for key, values := range k.query {
		if slices.Contains(lbAuxiliary, key) {
			continue
		}
		if !sort.filterable(key) || (key == "tags" && k.octaviaMinor() < sinceTags) {
			return nil, fail(http.StatusBadRequest, "", "One or more arguments are either duplicate or invalid")
		}
		if len(values) > 1 {
			return nil, fail(http.StatusInternalServerError, "",
				`(pymysql.err.OperationalError) (4078, "Illegal parameter data types varchar and row for operation '='")`)
		}
		wanted[key] = values[0]
	}
	tags := k.lbTagFilter()

	return func(o *lbObject, row object) bool {
		for key, value := range wanted {
			if !lbMatches(o, row, key, value) {
				return false
			}
		}

		return tags(o.texts("tags"))
	}, nil
}

func (s *lbSort) filterable(key string) bool {
	if slices.Contains(s.filters, key) {
		return true
	}
	switch key {
	case "vip_sg_ids", "additional_vips", "allowed_cidrs", "insert_headers", "session_persistence":
		return false
	}

	return s.sortable(key)
}

// lbMatches reports whether an attribute has a value. The database compares texts
// without regard to case.
func lbMatches(o *lbObject, row object, key, value string) bool {
	switch key {
	case "loadbalancer_id", "load_balancer_id":
		return o.lb == value
	case "pool_id":
		return o.pool == value
	}
	if b, ok := row[key].(bool); ok {
		wanted, _ := truth(json.RawMessage(`"` + value + `"`))

		return wanted == b
	}
	if row[key] == nil {
		return false
	}

	return strings.EqualFold(pythonValue(lbComparable(row[key]), false), value)
}

func lbComparable(value any) any {
	if n, ok := value.(int); ok {
		return float64(n)
	}

	return value
}

// lbTagFilter returns what the parameters about tags let pass: all of tags, one of
// tags-any, not all of not-tags, none of not-tags-any. Only whole tags match.
func (k *call) lbTagFilter() func([]string) bool {
	list := func(key string) []string {
		var tags []string
		for _, value := range k.query[key] {
			tags = append(tags, strings.Split(value, ",")...)
		}

		return tags
	}
	all, some, notAll, none := list("tags"), list("tags-any"), list("not-tags"), list("not-tags-any")

	return func(tags []string) bool {
		has := func(tag string) bool { return slices.Contains(tags, tag) }
		lacks := func(tag string) bool { return !has(tag) }

		return !slices.ContainsFunc(all, lacks) && (some == nil || slices.ContainsFunc(some, has)) &&
			(notAll == nil || slices.ContainsFunc(notAll, lacks)) && !slices.ContainsFunc(none, has)
	}
}
