package openstack

import (
	"encoding/json"
	"maps"
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
		// The database forgets the load balancer, and Neutron keeps the port that was
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

// lbGraph adds the parts of a new load balancer: first all pools, those of listeners
// included, then the listeners.
func (k *call) lbGraph(lb *lbObject, values object) error {
	listeners, err := k.lbGraphList(lbLoadBalancers.argument, lbListeners, values["listeners"])
	if err != nil {
		return err
	}
	pools, err := k.lbGraphList(lbLoadBalancers.argument, lbPools, values["pools"])
	if err != nil {
		return err
	}
	pools, err = k.lbCollectPools(listeners, pools)
	if err != nil {
		return err
	}
	if err := k.lbQuotaFor(lbPools, lb.projectID, len(pools)); err != nil {
		return err
	}
	ids := make(map[string]string)
	for _, values := range pools {
		p, err := k.lbGraphPool(lb, values)
		if err != nil {
			return err
		}
		ids[p.text("name")] = p.id
	}
	if err := k.lbQuotaFor(lbListeners, lb.projectID, len(listeners)); err != nil {
		return err
	}
	for _, values := range listeners {
		if err := k.lbGraphListener(lb, values, ids); err != nil {
			return err
		}
	}

	return nil
}

// lbGraphList checks a list of parts in a request, of the argument that it is in.
func (k *call) lbGraphList(within string, sort *lbSort, value any) ([]object, error) {
	raw, _ := value.(json.RawMessage)
	if raw == nil {
		return nil, nil
	}
	var rows []attributes
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, invalidField(sort.plural, pythonText(raw), "Wrong type. Expected a list")
	}
	out := make([]object, len(rows))
	for i, row := range rows {
		values, err := k.lbGraphOne(within+"."+sort.plural, sort, row)
		if err != nil {
			return nil, err
		}
		out[i] = values
	}

	return out, nil
}

// lbGraphOne checks a part in a request, with all that is in it.
func (k *call) lbGraphOne(argument string, sort *lbSort, row attributes) (object, error) {
	named := *sort
	named.argument = argument
	values, err := k.lbValues(&named, row, inGraph)
	if err != nil {
		return nil, err
	}
	for key, inner := range map[string]*lbSort{
		"default_pool": lbPools, "redirect_pool": lbPools, "healthmonitor": lbMonitors,
	} {
		raw, ok := values[key].(json.RawMessage)
		if !ok {
			continue
		}
		var below attributes
		if err := json.Unmarshal(raw, &below); err != nil {
			return nil, invalidField(key, pythonText(raw), "Wrong type")
		}
		if values[key], err = k.lbGraphOne(argument+"."+key, inner, below); err != nil {
			return nil, err
		}
	}
	for key, inner := range map[string]*lbSort{"members": lbMembers, "l7policies": lbPolicies} {
		if values[key], err = k.lbGraphList(argument, inner, values[key]); err != nil {
			return nil, err
		}
	}
	if sort == lbPools {
		values["session_persistence"], err = k.lbPersistenceOf(values)
	}

	return values, err
}

// lbCollectPools returns the pools that a request defines, wherever it does. A pool
// with a name alone is a reference to one of them.
func (k *call) lbCollectPools(listeners, pools []object) ([]object, error) {
	var required []string
	collect := func(parent object, key string) error {
		p, ok := parent[key].(object)
		if !ok {
			return nil
		}
		name, _ := p["name"].(string)
		if name == "" {
			return invalid("Pools must be named when creating a fully populated loadbalancer.")
		}
		parent[key] = name
		if isReference(p) {
			required = append(required, name)

			return nil
		}
		pools = append(pools, p)

		return nil
	}
	for _, l := range listeners {
		if err := collect(l, "default_pool"); err != nil {
			return nil, err
		}
		policies, _ := l["l7policies"].([]object)
		for _, policy := range policies {
			if err := collect(policy, "redirect_pool"); err != nil {
				return nil, err
			}
		}
	}
	names := make(map[string]bool)
	for _, p := range pools {
		name, _ := p["name"].(string)
		if names[name] {
			return nil, invalid("Pool names must be unique when creating a fully populated loadbalancer.")
		}
		names[name] = true
	}
	for _, name := range required {
		if !names[name] {
			return nil, invalid("Pool '%s' was referenced but no full definition was found.", name)
		}
	}

	return pools, nil
}

// isReference reports whether a pool in a request has hardly more than a name.
func isReference(p object) bool {
	p = maps.Clone(p)
	for _, key := range []string{"name", "admin_state_up", "tls_enabled"} {
		delete(p, key)
	}
	maps.DeleteFunc(p, func(_ string, value any) bool {
		list, isList := value.([]object)

		return value == nil || (isList && list == nil)
	})

	return len(p) == 0
}

// lbGraphPool adds a pool with its monitor and its members.
func (k *call) lbGraphPool(lb *lbObject, values object) (*lbObject, error) {
	for _, key := range []string{"protocol", "lb_algorithm"} {
		if values[key] == nil {
			return nil, invalid("Pool definition for '%s' missing required attribute: %s", values["name"], key)
		}
	}
	p, err := k.lbAddPool(lb, values)
	if err != nil {
		return nil, err
	}
	if monitor, ok := values["healthmonitor"].(object); ok {
		if err := k.lbQuotaFor(lbMonitors, lb.projectID, 1); err != nil {
			return nil, err
		}
		if _, err := k.lbAddMonitor(p, monitor); err != nil {
			return nil, err
		}
	}
	members, _ := values["members"].([]object)
	if err := k.lbQuotaFor(lbMembers, lb.projectID, len(members)); err != nil {
		return nil, err
	}
	for _, member := range members {
		if err := lbReserved(member); err != nil {
			return nil, err
		}
		if _, err := k.lbAddMember(p, member); err != nil {
			return nil, err
		}
	}

	return p, nil
}

// lbGraphListener adds a listener, with its policies. Pools are given by the IDs of
// their names.
func (k *call) lbGraphListener(lb *lbObject, values object, pools map[string]string) error {
	if name, ok := values["default_pool"].(string); ok {
		values["default_pool_id"] = pools[name]
	}
	if err := k.lbCheckPool(lb, values); err != nil {
		return err
	}
	l, err := k.lbAddListener(lb, values)
	if err != nil {
		return err
	}
	policies, _ := values["l7policies"].([]object)
	if len(policies) > 0 && l.text("protocol") == "PROMETHEUS" {
		return lbNoChildren()
	}
	for _, policy := range policies {
		if name, ok := policy["redirect_pool"].(string); ok {
			policy["redirect_pool_id"] = pools[name]
		}
		if _, err := k.lbAddPolicy(l, policy); err != nil {
			return err
		}
	}

	return nil
}
