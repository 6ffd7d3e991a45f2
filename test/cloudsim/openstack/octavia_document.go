package openstack

import "time"

// lbTime is the form of times in responses of Octavia.
const lbTime = "2006-01-02T15:04:05"

// lbDocument is an object as responses have it (octavia: api/v2/types; compared with
// Zed).
func (k *call) lbDocument(o *lbObject) object {
	state := k.region.octavia
	doc := k.lbPlain(o)
	switch o.sort {
	case lbLoadBalancers:
		doc["listeners"], doc["pools"] = lbIDs(o.listeners), lbIDs(o.pools)
	case lbListeners:
		doc["loadbalancers"], doc["l7policies"] = lbIDs([]string{o.lb}), lbIDs(idsOf(state.policiesOf(o)))
	case lbPools:
		doc["loadbalancers"], doc["listeners"] = lbIDs([]string{o.lb}), lbIDs(idsOf(state.listenersOf(o)))
		doc["members"] = lbIDs(o.members)
		if o.monitor != "" { // absent, not null, without
			doc["healthmonitor_id"] = o.monitor
		}
	case lbMonitors:
		doc["pools"] = lbIDs([]string{o.pool})
	case lbPolicies:
		doc["rules"] = []object{}
	}

	return doc
}

// lbFull is a load balancer in the response to its creation: its parts are in it with
// all they have, but for the monitors, which are null (compared with Zed).
func (k *call) lbFull(lb *lbObject) object {
	state := k.region.octavia
	doc := k.lbPlain(lb)
	listeners, pools := []object{}, []object{}
	for _, id := range lb.listeners {
		l := k.lbPlain(state.listeners.get(id))
		policies := []object{}
		for _, policy := range state.policiesOf(state.listeners.get(id)) {
			p := k.lbPlain(policy)
			p["rules"] = []object{}
			policies = append(policies, p)
		}
		l["l7policies"] = policies
		listeners = append(listeners, l)
	}
	for _, id := range lb.pools {
		p := state.pools.get(id)
		pool := k.lbPlain(p)
		pool["listeners"], pool["healthmonitor"] = lbIDs(idsOf(state.listenersOf(p))), nil
		members := []object{}
		for _, member := range p.members {
			members = append(members, k.lbPlain(state.members.get(member)))
		}
		pool["members"] = members
		pools = append(pools, pool)
	}
	doc["listeners"], doc["pools"] = listeners, pools

	return doc
}

// lbPlain is an object without what is related to it.
func (k *call) lbPlain(o *lbObject) object {
	doc := object{
		"id": o.id, "project_id": o.projectID, "tenant_id": o.projectID, "provisioning_status": o.status,
		"operating_status": o.operating, "created_at": o.created.UTC().Format(lbTime), "updated_at": lbTimeOrNull(o.updated),
	}
	for _, f := range o.sort.fields {
		if !f.hidden && f.since <= k.octaviaMinor() {
			doc[f.name] = o.settings[f.name]
		}
	}

	return doc
}

func lbTimeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}

	return t.UTC().Format(lbTime)
}

// lbIDs is a list of objects with their ID alone.
func lbIDs(ids []string) []object {
	out := make([]object, len(ids))
	for i, id := range ids {
		out[i] = object{"id": id}
	}

	return out
}

func idsOf(objects []*lbObject) []string {
	out := make([]string, len(objects))
	for i, o := range objects {
		out[i] = o.id
	}

	return out
}

// lbStatusTree is the state of a load balancer and all its parts. Members have no
// monitor_port there, and pools without listener are missing (octavia:
// api/v2/types/load_balancer.py, LoadBalancerStatusResponse).
func (k *call) lbStatusTree(lb *lbObject) object {
	state := k.region.octavia
	listeners := []object{}
	for _, id := range lb.listeners {
		l := state.listeners.get(id)
		pools := []object{}
		for _, pool := range lb.pools {
			p := state.pools.get(pool)
			for _, leads := range state.listenersOf(p) {
				if leads.id == id {
					pools = append(pools, k.lbPoolStatus(p))
				}
			}
		}
		status := lbStatus(l)
		status["pools"] = pools
		listeners = append(listeners, status)
	}
	status := lbStatus(lb)
	status["listeners"] = listeners

	return object{"statuses": object{"loadbalancer": status}}
}

func (k *call) lbPoolStatus(p *lbObject) object {
	state := k.region.octavia
	members := []object{}
	for _, id := range p.members {
		m := state.members.get(id)
		status := lbStatus(m)
		status["address"], status["protocol_port"] = m.settings["address"], m.settings["protocol_port"]
		members = append(members, status)
	}
	status := lbStatus(p)
	status["members"] = members
	if p.monitor != "" {
		monitor := state.monitors.get(p.monitor)
		status["health_monitor"] = lbStatus(monitor)
		status["health_monitor"].(object)["type"] = monitor.settings["type"]
	}

	return status
}

func lbStatus(o *lbObject) object {
	return object{
		"id": o.id, "name": o.text("name"), "provisioning_status": o.status, "operating_status": o.operating,
	}
}
