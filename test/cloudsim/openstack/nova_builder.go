package openstack

import (
	"cmp"
	"maps"
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
	// Networks are those that the server is in.
	Networks []ServerNetwork
	// Status is one of Nova's; default ACTIVE.
	Status string
	// Flavor is the flavor's name; default m1.small.
	Flavor string
	// Zone is the availability zone; default nova.
	Zone string
	// Metadata are key-value pairs of the server.
	Metadata map[string]string
	// AccessIPv4 and AccessIPv6 are addresses that a user entered.
	AccessIPv4, AccessIPv6 string
}

// AddServer adds a server and returns its ID.
func (c *Cloud) AddServer(spec ServerSpec) string {
	var id string
	c.inspect(func() {
		r := c.region(spec.Region)
		project := c.keystone.project(cmp.Or(spec.Project, ProjectCCM))
		s := &server{
			id: spec.ID, name: spec.Name, projectID: project.id, userID: c.keystone.user(UserCCM).id,
			status: cmp.Or(spec.Status, "ACTIVE"), flavor: cmp.Or(spec.Flavor, "m1.small"), zone: cmp.Or(spec.Zone, "nova"),
			metadata: maps.Clone(spec.Metadata), accessIPv4: spec.AccessIPv4, accessIPv6: spec.AccessIPv6,
			created: c.now(), updated: c.now(), given: true,
		}
		if s.id == "" {
			s.id = c.newID("server")
		}
		r.nova.servers.put(s.id, s)
		c.plug(r, s, spec.Networks)
		id = s.id
	})

	return id
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
