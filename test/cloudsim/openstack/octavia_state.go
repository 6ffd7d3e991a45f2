package openstack

import (
	"maps"
	"slices"
	"time"
)

// The values of provisioning_status (octavia: common/constants.py).
const (
	lbActive        = "ACTIVE"
	lbPendingCreate = "PENDING_CREATE"
	lbPendingUpdate = "PENDING_UPDATE"
	lbPendingDelete = "PENDING_DELETE"
	lbError         = "ERROR"
	lbDeleted       = "DELETED"
)

// octaviaState is the state of Octavia in a region.
type octaviaState struct {
	loadBalancers table[lbObject]
	listeners     table[lbObject]
	pools         table[lbObject]
	members       table[lbObject]
	monitors      table[lbObject]
	policies      table[lbObject]
	flavors       table[lbFlavor]
	zones         table[lbZone] // by name
	secrets       table[secret]

	initial   map[string]baseline // load balancers of tests; replaced by changes
	quotas    map[string]lbQuota  // that an operator set by the API, by project
	recorded  map[string]bool     // projects that have a record to lock for quotas
	busyUntil time.Time           // when the worker of a serial cloud is free
	rules     lbRules
}

// lbRules are what tests change about a cloud's Octavia.
type lbRules struct {
	stuck       bool // parts of new load balancers stay pending
	held        bool // changes of all load balancers stay pending
	keepDeleted bool
	unordered   bool     // versions
	noVIPBy     []string // vip_port_id and so on that are disallowed
	vipNetworks []string // the ones that are allowed; nil for all
	providers   []string // instead of those of the profile
	broken      []string // providers that are enabled and cannot be loaded
	failing     int      // how many of the next creations fail
}

// lbObject is a load balancer or a part of one. Its settings and lists are replaced
// by changes, never written to.
type lbObject struct {
	sort      *lbSort
	id        string
	projectID string
	lb        string // ID of the load balancer, its own one included
	status    string // provisioning_status
	operating string // operating_status
	created   time.Time
	updated   time.Time // zero before the first change
	settings  object    // what clients set, as responses have it

	// Of a load balancer.
	listeners, pools []string    // IDs, oldest first
	serving          []lbServing // by the data plane
	change           int         // counts changes, so that an old one cannot end a new one
	changedBy        string      // the operation of the last change, empty for a creation
	due              bool        // a change that is held has reached its end
	held             bool        // changes stay pending
	fails            int         // how many of the next changes end in ERROR
	ownPort          bool        // Octavia made the port of the VIP
	given            bool        // made by a test
	stuck            bool        // stays pending until it is changed

	// Of a pool: members, health monitor; broken ones are back in ERROR after each change.
	members []string
	monitor string
	broken  bool

	// The pool of a member or monitor, the listener of a policy.
	pool, listener string
}

func newOctaviaState(*Cloud, *region) *octaviaState {
	return &octaviaState{quotas: make(map[string]lbQuota), recorded: make(map[string]bool)}
}

// clone returns a copy that shares nothing that changes.
func (s *octaviaState) clone() *octaviaState {
	own := func(*lbObject) {}
	out := *s
	out.loadBalancers, out.listeners, out.pools = s.loadBalancers.clone(own), s.listeners.clone(own), s.pools.clone(own)
	out.members, out.monitors, out.policies = s.members.clone(own), s.monitors.clone(own), s.policies.clone(own)
	out.flavors, out.zones = s.flavors.clone(func(*lbFlavor) {}), s.zones.clone(func(*lbZone) {})
	out.secrets = s.secrets.clone(func(*secret) {})
	out.quotas, out.recorded, out.initial = maps.Clone(s.quotas), maps.Clone(s.recorded), maps.Clone(s.initial)

	return &out
}

// table returns the objects of a sort.
func (s *octaviaState) table(sort *lbSort) *table[lbObject] {
	switch sort {
	case lbListeners:
		return &s.listeners
	case lbPools:
		return &s.pools
	case lbMembers:
		return &s.members
	case lbMonitors:
		return &s.monitors
	case lbPolicies:
		return &s.policies
	}

	return &s.loadBalancers
}

// text returns a setting that is a string, empty when it is null.
func (o *lbObject) text(key string) string {
	value, _ := o.settings[key].(string)

	return value
}

// number returns a setting that is an integer, 0 when it is null.
func (o *lbObject) number(key string) int {
	value, _ := o.settings[key].(int)

	return value
}

// flag returns a setting that is a boolean.
func (o *lbObject) flag(key string) bool {
	value, _ := o.settings[key].(bool)

	return value
}

// texts returns a setting that is a list of strings.
func (o *lbObject) texts(key string) []string {
	value, _ := o.settings[key].([]string)

	return value
}

// set changes settings.
func (o *lbObject) set(changes object) {
	settings := maps.Clone(o.settings)
	maps.Copy(settings, changes)
	o.settings = settings
}

// listenersOf returns the listeners whose default pool a pool is, oldest first. Those
// that lead to it by an L7 policy are none (compared with Zed).
func (s *octaviaState) listenersOf(p *lbObject) []*lbObject {
	var found []*lbObject
	for _, id := range s.loadBalancers.get(p.lb).listeners {
		if l := s.listeners.get(id); l.text("default_pool_id") == p.id {
			found = append(found, l)
		}
	}

	return found
}

// policiesOf returns the L7 policies of a listener by position.
func (s *octaviaState) policiesOf(l *lbObject) []*lbObject {
	found := s.policies.where(func(x *lbObject) bool { return x.listener == l.id })
	slices.SortStableFunc(found, func(a, b *lbObject) int { return a.number("position") - b.number("position") })

	return found
}

// parts returns the load balancer and all that belongs to it.
func (s *octaviaState) parts(lb *lbObject) []*lbObject {
	all := []*lbObject{lb}
	for _, id := range lb.listeners {
		l := s.listeners.get(id)
		all = append(append(all, l), s.policiesOf(l)...)
	}
	for _, id := range lb.pools {
		p := s.pools.get(id)
		all = append(all, p)
		if p.monitor != "" {
			all = append(all, s.monitors.get(p.monitor))
		}
		for _, member := range p.members {
			all = append(all, s.members.get(member))
		}
	}

	return all
}

// remove removes an object and what belongs to it.
func (s *octaviaState) remove(o *lbObject) {
	switch o.sort {
	case lbLoadBalancers:
		for _, part := range s.parts(o)[1:] {
			s.table(part.sort).remove(part.id)
		}
	case lbListeners:
		lb := s.loadBalancers.get(o.lb)
		lb.listeners = without(lb.listeners, o.id)
		for _, policy := range s.policiesOf(o) {
			s.policies.remove(policy.id)
		}
	case lbPools:
		s.removePool(o)
	case lbMembers:
		p := s.pools.get(o.pool)
		p.members = without(p.members, o.id)
	case lbMonitors:
		s.pools.get(o.pool).monitor = ""
	}
	s.table(o.sort).remove(o.id)
}

func (s *octaviaState) removePool(p *lbObject) {
	lb := s.loadBalancers.get(p.lb)
	lb.pools = without(lb.pools, p.id)
	for _, id := range lb.listeners {
		if l := s.listeners.get(id); l.text("default_pool_id") == p.id {
			l.set(object{"default_pool_id": nil})
		}
	}
	for _, member := range p.members {
		s.members.remove(member)
	}
	s.monitors.remove(p.monitor)
}

// without returns a list without an ID.
func without(ids []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == id })
}
