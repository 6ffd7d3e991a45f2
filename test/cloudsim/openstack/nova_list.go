package openstack

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

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
	"root_device_name", "task_state", "terminated_at", "updated_at", "user_id", "uuid", "vm_state", "architecture", "cell_name",
	"cleaned", "default_ephemeral_device", "default_swap_device", "deleted", "deleted_at", "disable_terminate", "ephemeral_gb",
	"ephemeral_key_uuid", "id", "key_data", "launched_on", "locked", "memory_mb", "os_type", "reservation_id", "root_gb",
	"shutdown_terminate", "user_data", "vcpus", "vm_mode",
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
	path := "/servers"
	if k.detailed() {
		path = "/servers/detail"
	}

	return []link{k.novaNext(path, rows[len(rows)-1]["id"].(string))}
}
