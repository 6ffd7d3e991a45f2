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

// listServers responds with the servers of the project, newest first, those that
// are not on a host yet before all others (nova: compute/api.py, API.get_all).
//
// Servers of a cell that is down are not in it. Only when the request has neither
// filter nor order nor page, from 2.69 on, and the page is not full, they are in
// front of the others, as [call.unknownDetail] (nova:
// api/openstack/compute/servers.py, _is_cell_down_supported).
func listServers(k *call) (response, error) {
	q, err := k.parseServerQuery()
	if err != nil {
		return response{}, err
	}
	if q == nil {
		return found("servers", []object{})
	}
	size, err := k.novaLimit()
	if err != nil {
		return response{}, err
	}
	up, down := k.selectServers(q)
	if err := k.sortServers(up); err != nil {
		return response{}, err
	}
	if up, err = k.afterServer(up); err != nil {
		return response{}, err
	}
	page := up[:min(size, len(up))]
	rows := []object{}
	if q.bare && k.minor >= 69 {
		rows = k.unknownRows(down[:min(len(down), size-len(page))])
	}
	for _, s := range page {
		rows = append(rows, k.serverRow(s))
	}

	return found("servers", rows, k.nextServers(rows, size)...)
}

func (k *call) detailed() bool { return k.route.op == "ListServersDetail" }

func (k *call) serverRow(s *server) object {
	if k.detailed() {
		return k.serverDocument(s)
	}

	return k.basicDocument(s)
}

func (k *call) unknownRows(down []*server) []object {
	rows := make([]object, len(down))
	for i, s := range down {
		rows[i] = k.unknownBasic(s)
		if k.detailed() {
			rows[i] = k.unknownDetail(s)
		}
	}

	return rows
}

// selectServers returns the servers that a query is for, of cells that are up and of
// those that are down. The latter are known by project alone.
func (k *call) selectServers(q *serverQuery) (up, down []*server) {
	nova := k.region.nova
	for _, s := range slices.Backward(nova.servers.all()) {
		gone := s.status == "DELETED" || s.status == "SOFT_DELETED"
		if (q.project != "" && s.projectID != q.project) || (gone && !q.deleted) {
			continue
		}
		switch nova.cells[s.cell] {
		case CellDown:
			if !s.deleting && !s.unmapped {
				down = append(down, s)
			}
		case CellUnknown:
		case CellUp:
			if !slices.ContainsFunc(q.match, func(match func(*server) bool) bool { return !match(s) }) {
				up = append(up, s)
			}
		}
	}

	return up, down
}

// sortKeyNames are the orders that a request can have (nova:
// api/openstack/compute/schemas/servers.py, VALID_SORT_KEYS). Those that
// [sortKeys] lacks leave the order as it is.
var sortKeyNames = []string{
	"access_ip_v4", "access_ip_v6", "auto_disk_config", "availability_zone", "config_drive", "created_at",
	"display_description", "display_name", "host", "hostname", "image_ref", "instance_type_id", "kernel_id", "key_name",
	"launch_index", "launched_at", "locked_by", "node", "power_state", "progress", "project_id", "ramdisk_id",
	"root_device_name", "task_state", "terminated_at", "updated_at", "user_id", "uuid", "vm_state",
}

// sortKeys are the orders that a request can request, of those that Nova has.
var sortKeys = map[string]func(a, b *server) int{
	"created_at":   func(a, b *server) int { return a.created.Compare(b.created) },
	"updated_at":   func(a, b *server) int { return a.updated.Compare(b.updated) },
	"display_name": func(a, b *server) int { return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) },
	"uuid":         func(a, b *server) int { return strings.Compare(a.id, b.id) },
	"vm_state": func(a, b *server) int {
		return strings.Compare(vmStatuses[a.status].vmState, vmStatuses[b.status].vmState)
	},
	"project_id":        func(a, b *server) int { return strings.Compare(a.projectID, b.projectID) },
	"availability_zone": func(a, b *server) int { return strings.Compare(a.zone, b.zone) },
}

// sortServers puts servers in order, which is that of [call.selectServers] unless
// the request has another one.
func (k *call) sortServers(servers []*server) error {
	slices.SortStableFunc(servers, func(a, b *server) int { return cmp.Compare(onHost(a), onHost(b)) })
	keys, directions := k.query["sort_key"], k.query["sort_dir"]
	for _, direction := range directions {
		if direction != "asc" && direction != "desc" {
			return badQuery("sort_dir", direction, "'"+direction+"' is not one of ['asc', 'desc']")
		}
	}
	for i, key := range slices.Backward(keys) {
		if !slices.Contains(sortKeyNames, key) {
			return badQuery("sort_key", key, "'"+key+"' is not one of ["+quoted(sortKeyNames)+"]")
		}
		compare, ok := sortKeys[key]
		if !ok {
			continue
		}
		descending := len(directions) == 0 || directions[min(i, len(directions)-1)] == "desc"
		slices.SortStableFunc(servers, func(a, b *server) int {
			if descending {
				a, b = b, a
			}

			return compare(a, b)
		})
	}

	return nil
}

func onHost(s *server) int {
	if s.status == "BUILD" {
		return 0
	}

	return 1
}

// afterServer returns the servers behind the marker, which may be any server that
// there is a record of: one that was deleted meanwhile, or of another project (tried
// with Zed). A marker in a cell that is down is 500.
func (k *call) afterServer(servers []*server) ([]*server, error) {
	marker := k.query.Get("marker")
	if marker == "" {
		return servers, nil
	}
	s := k.region.nova.servers.get(marker)
	if s == nil || s.unmapped || k.region.nova.cells[s.cell] == CellUnknown {
		return nil, fail(http.StatusBadRequest, "", "marker [%s] not found", marker)
	}
	if k.region.nova.cells[s.cell] == CellDown {
		return nil, internalFault("nova.exception.NovaException")
	}
	if i := slices.Index(servers, s); i >= 0 {
		return servers[i+1:], nil
	}
	with := append(slices.Clone(servers), s)
	slices.SortStableFunc(with, func(a, b *server) int { return b.created.Compare(a.created) })
	if err := k.sortServers(with); err != nil {
		return nil, err
	}

	return with[slices.Index(with, s)+1:], nil
}

// novaLimit returns the size of a page: the limit of the request, but not more than
// that of the service (nova: api/openstack/common.py, get_limit_and_marker).
func (k *call) novaLimit() (int, error) {
	size := cmp.Or(k.cloud.opts.PageSize, standardPage)
	text := k.query.Get("limit")
	if text == "" {
		return size, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badQuery("limit", text, "'"+text+"' does not match '^[0-9]*$'")
	}

	return min(n, size), nil
}

// nextServers returns the link to the next page of a full one.
func (k *call) nextServers(rows []object, size int) []link {
	if size == 0 || len(rows) < size {
		return nil
	}
	query := cloneQuery(k.query)
	query.Set("marker", rows[len(rows)-1]["id"].(string))
	path := "/servers"
	if k.detailed() {
		path = "/servers/detail"
	}

	return []link{{"next", k.novaBase() + path + "?" + query.Encode()}}
}

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
		case k.minor >= 75: // nova: rest_api_version_history, 2.75
			return nil, fail(http.StatusBadRequest, "", "Additional properties are not allowed ('%s' was unexpected)", key)
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
	if id := last(k.query["flavor"]); id != "" {
		q.match = append(q.match, func(s *server) bool { return s.flavor.id == id })
	}

	return q, nil
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
		keys = append(keys, "project_id", "tenant_id", "deleted")
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
