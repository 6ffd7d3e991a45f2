package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
)

// createLoadBalancer handles POST /lbaas/loadbalancers, with all parts of the load
// balancer in it or without. It is one transaction: whatever is refused, nothing is
// there afterwards, but for the port (octavia: api/v2/controllers/load_balancer.py, post
// and _graph_create).
func createLoadBalancer(k *call) (response, error) {
	_, values, err := k.lbRequest(lbLoadBalancers, inPost)
	if err != nil {
		return response{}, err
	}
	project := lbProject(values, k.caller.projectID)
	if !k.lbWrites(project) {
		return response{}, lbForbidden()
	}
	vip, err := k.lbVIP(values)
	if err != nil {
		return response{}, err
	}
	provider, err := k.lbProvider(values)
	if err != nil {
		return response{}, err
	}
	if err := k.lbQuotaFor(lbLoadBalancers, project, 1); err != nil {
		return response{}, err
	}
	values["provider"] = provider
	if err := lbTagTwice("", nil, values); err != nil {
		return response{}, err
	}
	lb := k.lbNew(lbLoadBalancers, project, values)
	lb.lb = lb.id
	if err := k.lbCheckZone(lb); err != nil {
		return response{}, err
	}
	if err := k.lbTakeVIP(lb, vip); err != nil {
		return response{}, err
	}
	if err := k.lbGraph(lb, values); err != nil {
		// The database drops the load balancer, and Neutron keeps the port that was
		// made for it: each refusal of a part costs an address (compared with Zed).
		k.region.octavia.remove(lb)

		return response{}, err
	}
	delay := k.cloud.delays.LoadBalancerCreate
	if provider == providerOVN { // flows, and no virtual machine that boots
		delay = k.cloud.delays.LoadBalancerUpdate
	}
	if rules := &k.region.octavia.rules; rules.failing > 0 {
		rules.failing--
		lb.fails = 1
	}
	k.cloud.lbSchedule(k.region, lb, delay)

	return reply(http.StatusCreated, object{"loadbalancer": k.lbFull(lb)})
}

// lbProject is the project of a new load balancer.
func lbProject(values object, own string) string {
	for _, key := range []string{"project_id", "tenant_id"} {
		if project, ok := values[key].(string); ok && project != "" {
			return project
		}
	}

	return own
}

// lbNew adds an object that is being created.
func (k *call) lbNew(sort *lbSort, project string, values object) *lbObject {
	o := &lbObject{
		sort: sort, id: k.cloud.newID(sort.name), projectID: project, status: lbPendingCreate, operating: "OFFLINE",
		created: k.now(), settings: sort.complete(values),
	}
	if list, ok := o.settings["tags"].([]string); ok {
		o.settings["tags"] = unique(list)
	}
	k.region.octavia.table(sort).put(o.id, o)

	return o
}

// unique returns a list without repetitions.
func unique(list []string) []string {
	out := []string{}
	seen := make(map[string]bool, len(list))
	for _, text := range list {
		if !seen[text] {
			out = append(out, text)
		}
		seen[text] = true
	}

	return out
}

// lbUndo removes what a refused creation has made.
func (k *call) lbUndo(lb *lbObject) {
	if lb.ownPort {
		k.cloud.releaseVIP(k.region, lb.text("vip_port_id"))
	}
	k.region.octavia.remove(lb)
}

// updateLoadBalancer handles PUT /lbaas/loadbalancers/{id}. Whatever is changed, and
// be it nothing, goes through the driver and makes the load balancer PENDING_UPDATE.
func updateLoadBalancer(k *call) (response, error) {
	_, values, err := k.lbRequest(lbLoadBalancers, inPut)
	if err != nil {
		return response{}, err
	}
	lb, _, err := k.lbGetForWrite(lbLoadBalancers, k.path("id"))
	if err != nil {
		return response{}, err
	}
	if values["vip_qos_policy_id"] != nil {
		return response{}, invalid("VIP QoS policy is not allowed in this deployment.")
	}
	if err := lbMutableItself(lb, lbActive); err != nil {
		return response{}, err
	}
	if err := lbTagTwice(lb.id, lb.texts("tags"), values); err != nil {
		return response{}, err
	}
	lb.apply(values)
	k.lbChanged(lb)

	return k.lbShown(lb)
}

// lbTagTwice is the response to a tag that is twice in a request, unless the object
// has it already: the database refuses the second row (tried with Zed).
func lbTagTwice(id string, old []string, values object) error {
	tags, _ := values["tags"].([]string)
	seen := make(map[string]bool)
	for _, tag := range tags {
		if seen[tag] && !slices.Contains(old, tag) {
			return fail(http.StatusInternalServerError, "", `(pymysql.err.IntegrityError) (1062, "Duplicate entry '%s-%s' for key 'PRIMARY'")`, id, tag)
		}
		seen[tag] = true
	}

	return nil
}

// apply changes settings by a request.
func (o *lbObject) apply(values object) {
	changes := o.sort.changes(values)
	if tags, ok := changes["tags"].([]string); ok {
		changes["tags"] = unique(tags)
	}
	o.set(changes)
}

// lbMutableItself returns the error for a change of a load balancer that has none of
// the states (octavia: common/exceptions.py, LBPendingStateError).
func lbMutableItself(lb *lbObject, states ...string) error {
	if slices.Contains(states, lb.status) {
		return nil
	}

	return fail(http.StatusConflict, "", "Invalid state %s of loadbalancer resource %s", lb.status, lb.id)
}

// deleteLoadBalancer handles DELETE /lbaas/loadbalancers/{id}, which an ACTIVE or a
// broken one takes (octavia: common/constants.py, DELETABLE_STATUSES).
func deleteLoadBalancer(k *call) (response, error) {
	lb, _, err := k.lbGetForWrite(lbLoadBalancers, k.path("id"))
	if err != nil {
		return response{}, err
	}
	cascade, _ := truth(json.RawMessage(`"` + k.query.Get("cascade") + `"`))
	if len(lb.listeners)+len(lb.pools) > 0 && cascade != true {
		return response{}, invalid("Cannot delete Load Balancer %s - it has children", lb.id)
	}
	if err := lbMutableItself(lb, lbActive, lbError); err != nil {
		return response{}, err
	}
	lb.status = lbPendingDelete
	k.cloud.lbSchedule(k.region, lb, k.cloud.delays.LoadBalancerDelete)

	return reply(http.StatusNoContent, nil)
}

// failoverLoadBalancer handles PUT /lbaas/loadbalancers/{id}/failover, for
// administrators.
func failoverLoadBalancer(k *call) (response, error) {
	lb := k.region.octavia.loadBalancers.get(k.path("id"))
	if lb == nil || lb.status == lbDeleted {
		return response{}, lbNotFound(lbLoadBalancers, k.path("id"))
	}
	if !k.lbAdmin() {
		return response{}, lbForbidden()
	}
	if lb.text("provider") == providerOVN {
		return response{}, driverLacks(lb, "a requested action", "This provider does not support loadbalancer failover.")
	}
	if err := lbMutableItself(lb, lbActive, lbError); err != nil {
		return response{}, err
	}
	lb.status = lbPendingUpdate
	k.cloud.lbSchedule(k.region, lb, k.cloud.delays.LoadBalancerCreate)

	return reply(http.StatusAccepted, nil)
}

// showLoadBalancerStatus handles GET /lbaas/loadbalancers/{id}/status.
func showLoadBalancerStatus(k *call) (response, error) {
	lb, err := k.lbGet(lbLoadBalancers, k.path("id"))
	if err != nil {
		return response{}, err
	}

	return reply(http.StatusOK, k.lbStatusTree(lb))
}

// showStatistics handles GET …/stats of load balancers and listeners.
func showStatistics(sort *lbSort) handler {
	return func(k *call) (response, error) {
		if _, err := k.lbGet(sort, k.path("id")); err != nil {
			return response{}, err
		}

		return reply(http.StatusOK, object{"stats": object{
			"active_connections": 0, "bytes_in": 0, "bytes_out": 0, "request_errors": 0, "total_connections": 0,
		}})
	}
}
