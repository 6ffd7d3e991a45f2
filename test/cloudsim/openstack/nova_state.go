package openstack

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// novaState is the state of Nova in a region.
type novaState struct {
	servers table[server]
	flavors table[flavor]
	cells   map[string]CellState // those that are not up
}

// server is a virtual machine. One that is deleted stays until it is archived.
type server struct {
	id, name             string
	projectID, userID    string
	status               string // as responses have it: ACTIVE
	deleting             bool   // a delete is under way
	flavor               flavor // as it was when the server was made
	cell                 string
	unmapped             bool   // there is no record of the cell it is in
	zone, requestedZone  string // requested is empty when the scheduler chose
	metadata             map[string]string
	tags                 []string
	description          string
	accessIPv4           string
	accessIPv6           string
	created, updated     time.Time
	launched, terminated time.Time // zero when not yet
	addresses            []address // set by [Cloud.plug]
	actions              []serverAction
	given                bool   // made by a test
	givenName            string // by a test
}

// serverAction is an operation on a server.
type serverAction struct {
	action, request   string
	userID, projectID string
	start, updated    time.Time
}

func newNovaState(*Cloud, *region) *novaState {
	s := &novaState{cells: make(map[string]CellState)}
	for _, f := range []flavor{
		{name: "m1.tiny", vcpus: 1, ram: 512, disk: 1},
		{name: "m1.small", vcpus: 1, ram: 2048, disk: 10},
		{name: "m1.medium", vcpus: 2, ram: 4096, disk: 20},
		{name: "m1.large", vcpus: 4, ram: 8192, disk: 40},
	} {
		f.id = stableUUID("flavor " + f.name)
		s.flavors.put(f.id, &f)
	}

	return s
}

// clone returns a copy that shares nothing that changes.
func (s *novaState) clone() *novaState {
	return &novaState{
		servers: s.servers.clone(func(s *server) {
			s.metadata, s.addresses = maps.Clone(s.metadata), slices.Clone(s.addresses)
			s.tags, s.actions = slices.Clone(s.tags), slices.Clone(s.actions)
		}),
		flavors: s.flavors.clone(func(*flavor) {}),
		cells:   maps.Clone(s.cells),
	}
}

// leaks returns what clients changed of the servers that tests made.
func (s *novaState) leaks() []string {
	var found []string
	for _, server := range s.servers.all() {
		if server.name != server.givenName {
			found = append(found, "lost server name "+server.givenName)
		}
		if acted := slices.IndexFunc(server.actions, func(a serverAction) bool { return a.request != "" && a.action != "create" }); acted >= 0 {
			found = append(found, "lost server "+server.givenName+": "+server.actions[acted].action)
		}
	}

	return found
}

func (s *novaState) resources() []string { return s.leaks() }

func (s *novaState) dump() []string {
	var lines []string
	for _, v := range s.servers.all() {
		lines = append(lines, fmt.Sprintf("server %s %s %s flavor=%s zone=%s cell=%s addresses=%v",
			v.id, v.name, v.status, v.flavor.name, v.zone, v.cell, v.addresses))
	}

	return lines
}

// act records an action of a client, or of a test when there is no call.
func (c *Cloud) act(s *server, action string, k *call) {
	a := serverAction{
		action: action, userID: s.userID, projectID: s.projectID, start: c.now(), updated: c.now(),
	}
	if k != nil {
		a.request, a.userID, a.projectID = "req-"+k.id, k.caller.userID, k.caller.projectID
	}
	s.actions = append(s.actions, a)
	s.updated = c.now()
}

// seen returns the server with an ID as a call can see it: not deleted, of the
// project of the caller unless that is an administrator, in a cell that is known.
func (k *call) seen(id string) (*server, error) {
	s := k.region.nova.servers.get(id)
	if s == nil || s.status == "DELETED" {
		return nil, noServer(id)
	}

	return s, k.reachable(s)
}

// reachable returns the error that keeps a call from a server, if any. A record of
// the cell that is missing is 404 for a living server (nova: compute/api.py,
// API._get_instance); a cell that is down is 500 (_get_instance_from_cell).
func (k *call) reachable(s *server) error {
	cell := k.region.nova.cells[s.cell]
	switch {
	case !k.caller.canRead(s.projectID), s.unmapped, cell == CellUnknown:
		return noServer(s.id)
	case cell == CellDown:
		return internalFault("nova.exception.NovaException")
	}

	return nil
}

// noServer is the response about a server that is absent or of another project
// (nova: db/main/api.py, project_only; tried with Zed).
func noServer(id string) *apiError {
	return fail(404, "", "Instance %s could not be found.", id)
}
