package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
)

// createPool handles POST /lbaas/pools, for a load balancer or as the default pool of
// a listener. Members and a monitor are attributes of the request by its type, and the
// database fails on them (tried with Zed): only the creation of a whole load balancer
// takes them.
func createPool(k *call) (response, error) {
	_, values, err := k.lbRequest(lbPools, inPost)
	if err != nil {
		return response{}, err
	}
	lb, l, err := k.lbPoolParent(values)
	if err != nil {
		return response{}, err
	}
	if values["session_persistence"], err = k.lbPersistenceOf(values); err != nil {
		return response{}, err
	}
	if err := k.lbQuotaFor(lbPools, lb.projectID, 1); err != nil {
		return response{}, err
	}
	if values["members"] != nil || values["healthmonitor"] != nil {
		return response{}, lbInline()
	}
	if l != nil && l.text("default_pool_id") != "" {
		return response{}, fail(http.StatusConflict, "", "This listener already has a default pool")
	}
	if err := k.mutable(lb); err != nil {
		return response{}, err
	}
	if err := driverPool(lb, values, false); err != nil {
		return response{}, err
	}
	p, err := k.lbAddPool(lb, values)
	if err != nil {
		return response{}, err
	}
	touched := []*lbObject{}
	if l != nil {
		l.set(object{"default_pool_id": p.id})
		touched = append(touched, l)
	}
	k.lbChanged(lb, touched...)

	return reply(http.StatusCreated, object{"pool": k.lbDocument(p)})
}

// lbPoolParent returns the load balancer of a new pool, and the listener if the pool
// is for one.
func (k *call) lbPoolParent(values object) (lb, l *lbObject, err error) {
	id, _ := values["loadbalancer_id"].(string)
	listener, _ := values["listener_id"].(string)
	if id == "" && listener == "" {
		return nil, nil, invalid("Must provide at least one of: loadbalancer_id, listener_id")
	}
	if listener != "" {
		if l = k.region.octavia.listeners.get(listener); l == nil {
			return nil, nil, fail(http.StatusInternalServerError, "", "'NoneType' object has no attribute 'load_balancer_id'")
		}
		if id == "" {
			id = l.lb
		}
	}
	if _, lb, err = k.lbGetForWrite(lbLoadBalancers, id); err != nil {
		return nil, nil, err
	}
	if l == nil {
		return lb, nil, nil
	}
	if l.text("protocol") == "PROMETHEUS" {
		return nil, nil, lbNoChildren()
	}

	return lb, l, lbCheckPair(l.text("protocol"), values["protocol"].(string))
}

// lbAddPool checks and adds a pool.
func (k *call) lbAddPool(lb *lbObject, values object) (*lbObject, error) {
	for _, key := range []string{"tls_container_ref", "ca_tls_container_ref", "crl_container_ref"} {
		ref, _ := values[key].(string)
		if err := k.lbReadable(ref); err != nil {
			return nil, err
		}
	}
	if err := driverPool(lb, values, true); err != nil {
		return nil, err
	}
	p := k.lbNew(lbPools, lb.projectID, values)
	p.lb = lb.id
	lb.pools = append(slices.Clone(lb.pools), p.id)

	return p, nil
}

// updatePool handles PUT /lbaas/pools/{id}. It looks at the state of the load balancer
// alone: a pool in ERROR takes it, other than changes of its members (octavia:
// api/v2/controllers/pool.py, _test_lb_and_listener_statuses).
func updatePool(k *call) (response, error) {
	_, values, err := k.lbRequest(lbPools, inPut)
	if err != nil {
		return response{}, err
	}
	p, lb, err := k.lbGetForWrite(lbPools, k.path("id"))
	if err != nil {
		return response{}, err
	}
	if _, sent := values["session_persistence"]; sent {
		values["protocol"] = p.text("protocol")
		if values["session_persistence"], err = k.lbPersistenceOf(values); err != nil {
			return response{}, err
		}
		delete(values, "protocol")
	}
	for _, key := range []string{"tls_container_ref", "ca_tls_container_ref", "crl_container_ref"} {
		ref, _ := values[key].(string)
		if err := k.lbReadable(ref); err != nil {
			return response{}, err
		}
	}
	if err := k.mutable(lb); err != nil {
		return response{}, err
	}
	if err := driverPool(lb, values, false); err != nil {
		return response{}, err
	}
	p.apply(values)
	p.updated = k.now()
	p.status = lbPendingUpdate
	k.lbChanged(lb, append(k.region.octavia.listenersOf(p), p)...)

	return k.lbShown(p)
}

// deletePool handles DELETE /lbaas/pools/{id}, with its members and its monitor. A
// pool that an L7 policy leads to stays (octavia: common/exceptions.py,
// PoolInUseByL7Policy).
func deletePool(k *call) (response, error) {
	p, lb, err := k.lbGetForWrite(lbPools, k.path("id"))
	if err != nil {
		return response{}, err
	}
	used := k.region.octavia.policies.where(func(x *lbObject) bool { return x.text("redirect_pool_id") == p.id })
	if len(used) > 0 {
		return response{}, fail(http.StatusConflict, "", "Pool %s is in use by L7 policy %s", p.id, used[0].id)
	}
	if err := k.mutable(lb); err != nil {
		return response{}, err
	}
	k.lbChanged(lb, k.region.octavia.listenersOf(p)...)
	p.status = lbPendingDelete

	return reply(http.StatusNoContent, nil)
}

// lbPersistenceOf returns session_persistence as responses have it, nil when it is
// off (octavia: api/v2/controllers/pool.py, _validate_pool_request_for_udp_sctp;
// common/validate.py, check_session_persistence).
func (k *call) lbPersistenceOf(values object) (any, error) {
	raw, _ := values["session_persistence"].(json.RawMessage)
	if raw == nil {
		return nil, nil
	}
	var given attributes
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, invalidField("session_persistence", pythonText(raw), "Wrong type")
	}
	if len(given) == 0 {
		return nil, nil
	}
	persistence, err := k.lbValues(lbPersistence, given, inPost)
	if err != nil {
		return nil, err
	}
	kind, _ := persistence["type"].(string)
	cookie, _ := persistence["cookie_name"].(string)
	hasTimeout := persistence["persistence_timeout"] != nil || persistence["persistence_granularity"] != nil
	protocol, _ := values["protocol"].(string)
	packets := protocol == "UDP" || protocol == "SCTP"
	switch {
	case packets && kind == "SOURCE_IP" && cookie != "":
		return nil, invalid("session_persistence SOURCE_IP type for UDP and SCTP protocols only accepts: type, persistence_timeout, persistence_granularity.")
	case packets && cookie != "":
		return nil, invalid("Cookie names are not supported for UDP/SCTP pools.")
	case packets && kind != "SOURCE_IP":
		return nil, invalid("Session persistence of type %s is not supported for UDP/SCTP protocol pools.", kind)
	case !packets && hasTimeout:
		return nil, invalid("persistence_timeout and persistence_granularity is only for UDP and SCTP protocol pools.")
	case cookie != "" && kind != "APP_COOKIE":
		return nil, invalid(`Field "cookie_name" can only be specified with session persistence of type "APP_COOKIE".`)
	case cookie == "" && kind == "APP_COOKIE":
		return nil, invalid(`Field "cookie_name" must be specified when using the "APP_COOKIE" session persistence type.`)
	}

	return lbPersistence.complete(persistence), nil
}
