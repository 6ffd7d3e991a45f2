package openstack

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// serverQuery is a query of lists of servers.
type serverQuery struct {
	project string // ID, empty for all
	deleted bool   // also the deleted and soft deleted ones
	match   []func(*server) bool
	bare    bool // without limit, marker, order and filter
}

// pagingKeys are those that make a request more than bare (nova:
// api/openstack/compute/servers.py, PAGING_SORTING_PARAMS).
var pagingKeys = []string{"sort_key", "sort_dir", "limit", "marker"}

// parseServerQuery reads the filters. It returns nil when nothing can match.
func (k *call) parseServerQuery() (*serverQuery, error) {
	q := &serverQuery{project: k.caller.projectID}
	known := k.filterKeys()
	bare := true
	for key := range k.query {
		switch {
		case slices.Contains(pagingKeys, key):
			bare = false
		case slices.Contains(known, key):
			bare = bare && key == "all_tenants"
		case k.minor >= 75 && !k.knowsParameter(key): // nova: rest_api_version_history, 2.75
			return nil, fail(http.StatusBadRequest, "", "'%s' does not match any of the regexes: '^_'", key)
		}
	}
	q.bare = bare
	if all, _ := strconv.ParseBool(k.query.Get("all_tenants")); all && k.query.Has("all_tenants") {
		if !k.caller.admin() {
			return nil, novaForbidden(novaRules[k.route.op] + ":get_all_tenants")
		}
		q.project = ""
		if slices.Contains(known, "project_id") {
			q.project = cmp.Or(last(k.query["project_id"]), last(k.query["tenant_id"]))
		}
	}
	for _, filter := range []func(*serverQuery) (bool, error){k.byStatus, k.byTime, k.byName, k.byAddress, k.byTags} {
		possible, err := filter(q)
		if err != nil || !possible {
			return nil, err
		}
	}
	if ids := k.query["uuid"]; len(ids) > 0 && k.caller.admin() {
		q.match = append(q.match, func(s *server) bool { return slices.Contains(ids, s.id) })
	}
	if id := last(k.query["flavor"]); id != "" {
		q.match = append(q.match, func(s *server) bool { return s.flavor.id == id })
	}

	return q, nil
}

// parameters are those that lists of servers have beside [sortKeyNames], and lists of
// flavors (nova: api/openstack/compute/schemas/servers.py, query_params_v21 and
// later, and flavors.py, index_query).
var parameters = []string{
	"all_tenants", "changes-before", "changes-since", "created-at", "deleted", "description", "display_name", "flavor", "image", "ip",
	"ip6", "is_public", "limit", "locked", "marker", "minDisk", "minRam", "name", "not-tags", "not-tags-any", "reservation_id",
	"soft_deleted", "sort_dir", "sort_key", "status", "tags", "tags-any", "tenant_id",
}

// knowsParameter reports whether a list has a parameter. Others are dropped below
// 2.75, also from links.
func (k *call) knowsParameter(key string) bool {
	return slices.Contains(parameters, key) || slices.Contains(sortKeyNames, key) || strings.HasPrefix(key, "_")
}

// filterKeys returns the filters that a call may use; others are ignored (nova:
// api/openstack/compute/servers.py, _get_server_search_options).
func (k *call) filterKeys() []string {
	keys := []string{"name", "status", "image", "flavor", "ip", "changes-since", "all_tenants", "reservation_id"}
	if k.minor >= 5 {
		keys = append(keys, "ip6")
	}
	if k.minor >= 26 {
		keys = append(keys, "tags", "tags-any", "not-tags", "not-tags-any")
	}
	if k.minor >= 66 {
		keys = append(keys, "changes-before")
	}
	if k.caller.admin() {
		keys = append(keys, "project_id", "tenant_id", "deleted", "uuid")
	}

	return keys
}

func (k *call) byStatus(q *serverQuery) (bool, error) {
	if !k.query.Has("status") {
		deleted, _ := strconv.ParseBool(k.query.Get("deleted"))
		q.deleted = deleted && k.caller.admin()

		return true, nil
	}
	var states []string
	for _, status := range k.query["status"] {
		if _, ok := vmStatuses[strings.ToUpper(status)]; ok && !strings.EqualFold(status, "UNKNOWN") {
			states = append(states, strings.ToUpper(status))
		}
	}
	if len(states) == 0 {
		if k.minor >= 38 {
			return false, fail(http.StatusBadRequest, "", "Invalid status value")
		}

		return false, nil
	}
	if slices.Equal(states, []string{"DELETED"}) {
		if !k.caller.admin() {
			return false, fail(http.StatusForbidden, "", "Only administrators may list deleted instances")
		}
		q.deleted = true
	}
	q.match = append(q.match, func(s *server) bool { return slices.Contains(states, s.status) })

	return true, nil
}

// byTime reads changes-since and changes-before, with which deleted servers are in
// the list.
func (k *call) byTime(q *serverQuery) (bool, error) {
	for _, key := range []string{"changes-since", "changes-before"} {
		text := last(k.query[key])
		if text == "" || (key == "changes-before" && k.minor < 66) {
			continue
		}
		bound, err := parseNovaTime(text)
		if err != nil {
			return false, badQuery(key, text, "'"+text+"' is not a 'date-time'")
		}
		q.deleted = true
		q.match = append(q.match, func(s *server) bool {
			if key == "changes-since" {
				return !rounded(s.updated).Before(bound)
			}

			return !rounded(s.updated).After(bound)
		})
	}

	return true, nil
}

func parseNovaTime(text string) (time.Time, error) {
	var err error
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		var t time.Time
		if t, err = time.Parse(layout, text); err == nil {
			return t, nil
		}
	}

	return time.Time{}, err
}

// byName reads the name, which is a regular expression that is found anywhere and
// whose case does not matter on MySQL (nova: db/main/api.py,
// _regex_instance_filter; api-ref, servers).
func (k *call) byName(q *serverQuery) (bool, error) {
	text := last(k.query["name"])
	if text == "" {
		return true, nil
	}
	pattern, err := regexp.Compile("(?i)" + text)
	if err != nil {
		return false, badQuery("name", text, "'"+text+"' is not a 'regex'")
	}
	q.match = append(q.match, func(s *server) bool { return pattern.MatchString(s.name) })

	return true, nil
}

// byAddress reads ip and ip6, parts of fixed addresses.
func (k *call) byAddress(q *serverQuery) (bool, error) {
	for key, version := range map[string]int{"ip": 4, "ip6": 6} {
		part := last(k.query[key])
		if part == "" || (key == "ip6" && k.minor < 5) {
			continue
		}
		q.match = append(q.match, func(s *server) bool {
			return slices.ContainsFunc(k.cloud.addressesOf(k.region, s), func(a address) bool {
				return !a.floating && a.version == version && strings.Contains(a.ip, part)
			})
		})
	}

	return true, nil
}

// byTags reads the filters by tags (nova: api-ref, servers).
func (k *call) byTags(q *serverQuery) (bool, error) {
	if k.minor < 26 {
		return true, nil
	}
	for key, want := range map[string]struct{ all, negate bool }{
		"tags": {true, false}, "tags-any": {false, false}, "not-tags": {true, true}, "not-tags-any": {false, true},
	} {
		text := last(k.query[key])
		if text == "" {
			continue
		}
		tags := strings.Split(text, ",")
		q.match = append(q.match, func(s *server) bool {
			has := func(tag string) bool { return slices.Contains(s.tags, tag) }
			lacks := func(tag string) bool { return !has(tag) }
			matched := slices.ContainsFunc(tags, has)
			if want.all {
				matched = !slices.ContainsFunc(tags, lacks)
			}

			return matched != want.negate
		})
	}

	return true, nil
}

// last returns the last of the values of a parameter: of several, Nova takes that.
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}

	return values[len(values)-1]
}
