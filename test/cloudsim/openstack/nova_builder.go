package openstack

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// ServerSpec is a server to add. Only Name is needed.
type ServerSpec struct {
	// Name is the server's name, which need not be unique.
	Name string
	// ID is a UUID; by default a new one.
	ID string
	// Region is the region's name; default the first one.
	Region string
	// Project is the name of its project; default [ProjectCCM].
	Project string
	// User is the name of the user that made it; default [UserCCM].
	User string
	// Networks are those that the server is in.
	Networks []ServerNetwork
	// Status is one of [Statuses]; default ACTIVE. A server in BUILD, and one that
	// went from there to ERROR, has neither addresses nor a zone.
	Status string
	// Flavor is the flavor's name; default m1.small. One that is not there is added.
	Flavor string
	// Zone is the availability zone that its user requested; without, it is nova and
	// the scheduler's choice.
	Zone string
	// Cell is the name of the cell that the server is in; default cell1.
	Cell string
	// Metadata are key-value pairs of the server.
	Metadata map[string]string
	// Tags are its tags.
	Tags []string
	// AccessIPv4 and AccessIPv6 are addresses that a user entered.
	AccessIPv4, AccessIPv6 string
}

// CellState is the state of a cell, which is a database of Nova with some of the
// servers (https://docs.openstack.org/api-guide/compute/down_cells.html).
type CellState int

// The states of a cell.
const (
	// CellUp is a cell that responds.
	CellUp CellState = iota
	// CellDown is a cell that does not respond. Its servers are absent from lists, or
	// have the status UNKNOWN and hardly a field from microversion 2.69 on.
	CellDown
	// CellUnknown is a cell that the API has no record of, as during an upgrade: its
	// servers are 404 and absent from lists, and run.
	CellUnknown
)

// AddServer adds a server and returns its ID.
func (c *Cloud) AddServer(spec ServerSpec) string {
	var id string
	c.inspect(func() {
		r := c.region(spec.Region)
		project := c.keystone.project(cmp.Or(spec.Project, ProjectCCM))
		s := &server{
			id: spec.ID, name: spec.Name, givenName: spec.Name, description: spec.Name, // nova: as below 2.19
			projectID: project.id, userID: c.keystone.user(cmp.Or(spec.User, UserCCM)).id,
			status: mustStatus(cmp.Or(spec.Status, "ACTIVE")), flavor: *r.nova.flavor(cmp.Or(spec.Flavor, "m1.small")),
			cell: cmp.Or(spec.Cell, "cell1"), zone: cmp.Or(spec.Zone, "nova"), requestedZone: spec.Zone,
			metadata: maps.Clone(spec.Metadata), tags: slices.Clone(spec.Tags), accessIPv4: spec.AccessIPv4, accessIPv6: spec.AccessIPv6,
			created: c.now(), updated: c.now(), given: true,
		}
		if s.id == "" {
			s.id = c.newID("server")
		}
		if s.status != "BUILD" {
			s.launched = c.now()
		}
		c.act(s, "create", nil)
		r.nova.servers.put(s.id, s)
		c.plug(r, s, spec.Networks)
		id = s.id
	})

	return id
}

// SetServerStatus sets the status of a server to one of [Statuses].
func (c *Cloud) SetServerStatus(id, status string) {
	c.inspect(func() {
		_, s := c.serverOf(id)
		if s.status == "BUILD" && status != "ERROR" {
			s.launched = c.now()
		}
		s.status, s.updated = mustStatus(status), c.now()
	})
}

// RenameServer gives a server another name.
func (c *Cloud) RenameServer(id, name string) {
	c.inspect(func() {
		_, s := c.serverOf(id)
		s.name, s.givenName, s.updated = name, name, c.now()
	})
}

// SetServerZone moves a server to another availability zone.
func (c *Cloud) SetServerZone(id, zone string) {
	c.inspect(func() {
		_, s := c.serverOf(id)
		s.zone, s.updated = zone, c.now()
	})
}

// DeleteServer deletes a server, with its ports, as its user would: what is known of
// it stays in lists by changes-since and in its actions.
func (c *Cloud) DeleteServer(id string) {
	c.inspect(func() {
		r, s := c.serverOf(id)
		c.act(s, "delete", nil)
		c.finishDelete(r, s)
	})
}

// RemoveServer deletes a server without a trace.
func (c *Cloud) RemoveServer(id string) {
	c.inspect(func() {
		r, s := c.serverOf(id)
		c.unplug(r, s)
		r.nova.servers.remove(id)
	})
}

// ArchiveServers removes all that is known of deleted servers, in every region
// (nova-manage db archive_deleted_rows).
func (c *Cloud) ArchiveServers() {
	c.inspect(func() {
		for _, r := range c.regions {
			for _, s := range r.nova.servers.all() {
				if s.status == "DELETED" {
					r.nova.servers.remove(s.id)
				}
			}
		}
	})
}

// SetCell sets the state of a cell in a region; an empty name is the first region.
func (c *Cloud) SetCell(region, cell string, state CellState) {
	c.inspect(func() {
		if state == CellUp {
			delete(c.region(region).nova.cells, cell)

			return
		}
		c.region(region).nova.cells[cell] = state
	})
}

// SetServerMapped sets whether there is a record of the cell that a server is in.
// Without, the server is 404, while lists, which go through all cells, have it.
func (c *Cloud) SetServerMapped(id string, mapped bool) {
	c.inspect(func() {
		_, s := c.serverOf(id)
		s.unmapped = !mapped
	})
}

// finishDelete ends the life of a server. The caller holds mu.
func (c *Cloud) finishDelete(r *region, s *server) {
	c.unplug(r, s)
	s.status, s.deleting, s.terminated, s.updated = "DELETED", false, c.now(), c.now()
}

// serverOf returns a server of any region. It panics when there is none.
func (c *Cloud) serverOf(id string) (*region, *server) {
	for _, r := range c.regions {
		if s := r.nova.servers.get(id); s != nil {
			return r, s
		}
	}
	panic("openstack: no server " + id)
}

// mustStatus returns a status. It panics when there is none like that.
func mustStatus(status string) string {
	if _, ok := vmStatuses[status]; !ok {
		panic("openstack: no status " + status)
	}

	return status
}

// rounded is a time as the database of Nova has it.
func rounded(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
