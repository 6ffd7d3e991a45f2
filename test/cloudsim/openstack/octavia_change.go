package openstack

import (
	"net/http"
	"slices"
	"time"
)

// lbImmutable is the response to a change of something that is being changed
// (octavia: common/exceptions.py, ImmutableObject).
func lbImmutable(o *lbObject) *apiError {
	return fail(http.StatusConflict, "", "%s %s is immutable and cannot be updated.", o.sort.name, o.id)
}

// mutable returns the error for a change of a part of a load balancer that is not
// ACTIVE (octavia: common/constants.py, MUTABLE_STATUSES; db/repositories.py,
// test_and_set_lb_and_listeners_prov_status).
func (k *call) mutable(lb *lbObject) error {
	if lb.status != lbActive {
		return lbImmutable(lb)
	}

	return nil
}

// poolMutable is the same for what belongs to a pool. A pool that is not ACTIVE, be
// it in ERROR, refuses it although its load balancer is ACTIVE (octavia:
// api/v2/controllers/member.py and health_monitor.py,
// _test_lb_and_listener_and_pool_statuses).
func (k *call) poolMutable(p *lbObject) error {
	if p.status != lbActive {
		return lbImmutable(p)
	}

	return k.mutable(k.region.octavia.loadBalancers.get(p.lb))
}

// lbChanged makes a load balancer PENDING_UPDATE, and with it what the change is
// about, until the change has its effect.
func (k *call) lbChanged(lb *lbObject, touched ...*lbObject) {
	lb.status, lb.changedBy = lbPendingUpdate, k.op()
	for _, o := range touched {
		o.stuck = false
		if o.status != lbPendingCreate && o.status != lbPendingDelete {
			o.status = lbPendingUpdate
		}
	}
	k.cloud.lbSchedule(k.region, lb, k.cloud.delays.LoadBalancerUpdate)
}

// lbSchedule ends the change of a load balancer after a delay. A cloud of the profile
// Bare makes one change after another.
func (c *Cloud) lbSchedule(r *region, lb *lbObject, delay time.Duration) {
	due := c.now().Add(delay)
	if c.opts.Profile == Bare {
		if r.octavia.busyUntil.After(c.now()) {
			due = r.octavia.busyUntil.Add(delay)
		}
		r.octavia.busyUntil = due
	}
	lb.change++
	id, name, change := lb.id, r.name, lb.change
	c.after(due.Sub(c.now()), func(c *Cloud) {
		r := c.region(name)
		lb := r.octavia.loadBalancers.get(id)
		if lb == nil || lb.change != change {
			return
		}
		lb.due = true
		c.lbFinish(r, lb)
	})
}

// lbFinish ends the change of a load balancer that has reached its end, unless it is
// held.
func (c *Cloud) lbFinish(r *region, lb *lbObject) {
	if !lb.due || lb.held || r.octavia.rules.held {
		return
	}
	lb.due = false
	failed := lb.fails > 0
	if failed {
		lb.fails--
	}
	switch lb.status {
	case lbPendingCreate:
		c.lbCreated(r, lb, failed)
	case lbPendingUpdate:
		c.lbUpdated(r, lb, failed)
	case lbPendingDelete:
		if failed {
			lb.status = lbError

			break
		}
		c.lbRemove(r, lb)

		return
	}
	lb.updated = c.now()
	if !failed {
		lb.serving, c.ended = r.octavia.lbServe(lb), lb.changedBy
	}
	c.lbGroup(r, lb)
}

// lbCreated ends a creation. The parts of the load balancer are ACTIVE a moment after
// it, or never: a change of the members of a pool is 409 until then. The worker of
// Octavia 11.0.0 drops them (octavia: controller/worker/v2/controller_worker.py,
// run_flow, without a job board; seen with Zed), see [Cloud.SetStuckParts].
func (c *Cloud) lbCreated(r *region, lb *lbObject, failed bool) {
	lb.status = lbActive
	if failed {
		lb.status = lbError
	}
	parts := r.octavia.parts(lb)[1:]
	if failed || (c.delays.LoadBalancerSettle <= 0 && !r.octavia.rules.stuck) {
		for _, o := range parts {
			o.status = lb.status
		}

		return
	}
	if r.octavia.rules.stuck {
		for _, o := range parts {
			o.stuck = true
		}

		return
	}
	name := r.name
	c.after(c.delays.LoadBalancerSettle, func(c *Cloud) {
		for _, o := range parts {
			if now := c.region(name).octavia.table(o.sort).get(o.id); now != nil && now.status == lbPendingCreate {
				now.status = lbActive
			}
		}
	})
}

// lbUpdated ends a change. When it fails, what it was about is in ERROR, and the load
// balancer is ACTIVE unless the change was about it alone (octavia:
// controller/worker/v2/tasks/lifecycle_tasks.py, the revert of
// MemberToErrorOnRevertTask and others).
func (c *Cloud) lbUpdated(r *region, lb *lbObject, failed bool) {
	about := 0
	for _, o := range r.octavia.parts(lb)[1:] {
		switch {
		case o.status == lbPendingDelete && !failed:
			r.octavia.remove(o)

			continue
		case o.stuck, o.status != lbPendingCreate && o.status != lbPendingUpdate && o.status != lbPendingDelete:
			continue
		}
		about++
		if o.status == lbPendingCreate && (o.sort == lbMonitors || o.sort == lbPolicies) {
			o.operating = "ONLINE" // compared with Zed
		}
		o.status = lbActive
		if failed || o.broken {
			o.status = lbError
		}
		o.updated = c.now()
	}
	lb.status = lbActive
	if failed && about == 0 {
		lb.status = lbError
	}
}

// lbRemove removes a load balancer with its parts, its port and its security group.
func (c *Cloud) lbRemove(r *region, lb *lbObject) {
	c.removeVIPGroup(r, lb.id)
	if lb.ownPort {
		c.releaseVIP(r, lb.text("vip_port_id"))
	}
	if r.octavia.rules.keepDeleted {
		for _, o := range r.octavia.parts(lb)[1:] {
			r.octavia.table(o.sort).remove(o.id)
		}
		lb.listeners, lb.pools, lb.status, lb.updated = nil, nil, lbDeleted, c.now()

		return
	}
	r.octavia.remove(lb)
}

// lbGroup sets the rules of the security group of a load balancer of virtual machines
// (octavia: network/drivers/neutron/allowed_address_pairs.py,
// _update_security_group_rules). A port that a user has deleted is not missed.
func (c *Cloud) lbGroup(r *region, lb *lbObject) {
	p := r.neutron.ports.get(lb.text("vip_port_id"))
	if p == nil || lb.text("provider") == providerOVN || (len(lb.listeners) == 0 && lb.ownPort) || len(lb.texts("vip_sg_ids")) > 0 {
		return
	}
	var rules []vipRule
	for _, id := range lb.listeners {
		l := r.octavia.listeners.get(id)
		if !l.flag("admin_state_up") {
			continue
		}
		rule := vipRule{protocol: layer4(l.text("protocol")), port: l.number("protocol_port")}
		for _, rule.cidr = range l.texts("allowed_cidrs") {
			rules = append(rules, rule)
		}
		if rule.cidr == "" {
			rules = append(rules, rule)
		}
	}
	if g := c.vipGroup(r, lb.id); g == nil || !slices.Equal(rulesIn(r, g), rules) {
		c.ensureVIPGroup(r, p, lb.id, rules)
	}
}

// rulesIn returns the rules that Octavia made in a group, in the order of their
// creation.
func rulesIn(r *region, g *securityGroup) []vipRule {
	var rules []vipRule
	for _, rule := range r.neutron.rules.where(func(x *securityRule) bool { return x.groupID == g.id && x.direction == "ingress" }) {
		found := vipRule{protocol: rule.protocol, cidr: rule.remotePrefix}
		if rule.portMin != nil {
			found.port = *rule.portMin
		}
		rules = append(rules, found)
	}

	return rules
}

// layer4 is the protocol that packets of a listener have (octavia:
// common/constants.py, L4_PROTOCOL_MAP).
func layer4(protocol string) string {
	switch protocol {
	case "UDP":
		return "udp"
	case "SCTP":
		return "sctp"
	}

	return "tcp"
}
