package openstack

import "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"

// Snapshot is a state of the cloud, with everything that exists in it and what is
// about to happen. It stays as it is, and can be restored any number of times.
type Snapshot struct {
	ids      simstate.IDs
	schedule simstate.Schedule[*Cloud]
	replica  replica
	keystone *keystoneState
	regions  []*region
}

// Snapshot copies the present state. Quotas and tokens are part of it; delays,
// denied operations, the catalog, the interceptor with its rules and its log are
// not.
func (c *Cloud) Snapshot() *Snapshot {
	var s *Snapshot
	c.inspect(func() {
		s = &Snapshot{
			ids: c.ids.Clone(), schedule: c.schedule.Clone(), replica: c.replica.clone(),
			keystone: c.keystone.clone(), regions: cloneRegions(c.regions),
		}
	})

	return s
}

// Restore restores a state, of this cloud or of another one with the same
// options. What follows is the same each time, IDs of new resources included.
func (c *Cloud) Restore(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids, c.schedule, c.replica = s.ids.Clone(), s.schedule.Clone(), s.replica.clone()
	c.keystone, c.regions = s.keystone.clone(), cloneRegions(s.regions)
}

func cloneRegions(regions []*region) []*region {
	out := make([]*region, len(regions))
	for i, r := range regions {
		out[i] = &region{name: r.name, nova: r.nova.clone(), neutron: r.neutron.clone(), octavia: r.octavia.clone()}
	}

	return out
}
