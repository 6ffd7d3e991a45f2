package openstack

import "net/http"

// createPolicy handles POST /lbaas/l7policies. The rules of policies are missing: a
// policy is there to hold a pool.
func createPolicy(k *call) (response, error) {
	_, values, err := k.lbRequest(lbPolicies, inPost)
	if err != nil {
		return response{}, err
	}
	l, lb, err := k.lbGetForWrite(lbListeners, values["listener_id"].(string))
	if err != nil {
		return response{}, err
	}
	if err := k.lbQuotaFor(lbPolicies, lb.projectID, 1); err != nil {
		return response{}, err
	}
	if err := k.mutable(lb); err != nil {
		return response{}, err
	}
	policy, err := k.lbAddPolicy(l, values)
	if err != nil {
		return response{}, err
	}
	k.lbChanged(lb, l)

	return reply(http.StatusCreated, object{"l7policy": k.lbDocument(policy)})
}

// lbAddPolicy checks and adds a policy (octavia: common/validate.py,
// sanitize_l7policy_api_args; amphora driver: HTTP and TERMINATED_HTTPS alone).
func (k *call) lbAddPolicy(l *lbObject, values object) (*lbObject, error) {
	if l.text("protocol") == "PROMETHEUS" {
		return nil, lbNoChildren()
	}
	lb := k.region.octavia.loadBalancers.get(l.lb)
	if err := k.lbCheckPolicy(l, values); err != nil {
		return nil, err
	}
	if protocol := l.text("protocol"); lb.text("provider") == providerOVN || (protocol != "HTTP" && protocol != "TERMINATED_HTTPS") {
		return nil, driverLacks(lb, "a requested option", protocol+" protocol listeners do not support L7 policies")
	}
	policy := k.lbNew(lbPolicies, l.projectID, values)
	policy.lb, policy.listener, policy.settings["listener_id"] = l.lb, l.id, l.id
	position := len(k.region.octavia.policiesOf(l))
	policy.settings["position"] = min(policy.number("position"), position)

	return policy, nil
}

// lbCheckPolicy checks what a policy does.
func (k *call) lbCheckPolicy(l *lbObject, values object) error {
	needs := map[any]string{"REDIRECT_TO_POOL": "redirect_pool_id", "REDIRECT_TO_URL": "redirect_url", "REDIRECT_PREFIX": "redirect_prefix"}
	if key := needs[values["action"]]; key != "" && values[key] == nil {
		return fail(http.StatusBadRequest, "", "Invalid L7 Policy arguments: %s must not be None", key)
	}
	if values["redirect_http_code"] == nil && (values["redirect_url"] != nil || values["redirect_prefix"] != nil) {
		values["redirect_http_code"] = http.StatusFound
	}
	id, _ := values["redirect_pool_id"].(string)
	if id == "" {
		return nil
	}
	p := k.region.octavia.pools.get(id)
	if p == nil || p.lb != l.lb {
		return lbNotFound(lbPools, id)
	}

	return lbCheckPair(l.text("protocol"), p.text("protocol"))
}
