package openstack

import (
	"maps"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// StaleReads makes reads show the state before the latest write, as a database of
// several nodes does when a service writes to one and reads from another: a GET
// right after a POST is a 404, one after a PUT shows the old value
// (https://galeracluster.com/library/kb/read-after-write.html,
// https://lists.openstack.org/pipermail/openstack-dev/2015-February/056052.html).
type StaleReads struct {
	// Every is how many writes to a service there are for each one that is followed
	// by stale reads; 0 means none.
	Every int
	// Reads is how many reads of that service are stale then.
	Reads int
}

// TypicalStaleReads returns the default: one stale read of a service after each
// tenth write to it. How often this happens in a real cloud depends on its load
// and on how it distributes connections, and is not documented.
func TypicalStaleReads() StaleReads { return StaleReads{Every: 10, Reads: 1} }

// SetStaleReads sets which reads are stale from now on. What was written before is
// visible.
func (c *Cloud) SetStaleReads(reads StaleReads) {
	c.inspect(func() { c.replica = replica{StaleReads: reads} })
}

// replica is the node of the database that lags behind, by region and service.
type replica struct {
	StaleReads
	writes map[replicaKey]int
	behind map[replicaKey]*behind
}

type replicaKey struct{ region, service string }

// behind is an old state and how often it is still shown.
type behind struct {
	state *region
	reads int
}

// view returns the state that a call reads: the present one for every write, and
// for most reads. The caller holds mu.
func (c *Cloud) view(k *call) *region {
	now := c.region(k.target.region)
	if k.service.global || k.route.open || c.replica.Every == 0 {
		return now
	}
	key := replicaKey{now.name, k.service.name}
	if k.route.writes() {
		c.replica.written(key, now)

		return now
	}
	old := c.replica.behind[key]
	if old == nil {
		return now
	}
	old.reads--
	if old.reads == 0 {
		delete(c.replica.behind, key)
	}

	return old.state
}

// written counts a write, and keeps the state before it when reads are to see that.
func (r *replica) written(key replicaKey, now *region) {
	if r.writes == nil {
		r.writes, r.behind = make(map[replicaKey]int), make(map[replicaKey]*behind)
	}
	r.writes[key]++
	if r.writes[key]%r.Every == 0 && r.Reads > 0 {
		r.behind[key] = &behind{state: now.before(key.service), reads: r.Reads}
	}
}

// before returns the region with a copy of the present state of one service.
func (r *region) before(service string) *region {
	out := *r
	switch service {
	case "nova":
		out.nova = r.nova.clone()
	case "neutron":
		out.neutron = r.neutron.clone()
	case "octavia":
		out.octavia = r.octavia.clone()
	}

	return &out
}

func (r *replica) clone() replica {
	out := *r
	out.writes = maps.Clone(r.writes)
	out.behind = simstate.CloneMap(r.behind, func(*behind) {}) // nothing changes the state in it

	return out
}
