package openstack

import (
	"encoding/json"
	"maps"
)

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
	taken := k.lbPairs(p)
	for _, member := range members {
		if err := lbReserved(member); err != nil {
			return nil, err
		}
		if _, err := k.lbAddMember(p, member, taken); err != nil {
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
