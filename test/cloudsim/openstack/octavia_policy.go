package openstack

import "net/http"

// lbForbidden is the response to a call that no role of the caller allows.
func lbForbidden() *apiError {
	return fail(http.StatusForbidden, "", "Policy does not allow this request to be performed.")
}

// lbNotFound is the response about an object that does not exist.
func lbNotFound(sort *lbSort, id string) *apiError {
	return fail(http.StatusNotFound, "", "%s %s not found.", sort.name, id)
}

// lbGlobal reports whether the caller may read all projects (octavia: policies/base.py,
// load-balancer:read-global; etc/policy/keystone_default_roles-policy.yaml).
func (k *call) lbGlobal() bool {
	return k.lbAdmin() || k.caller.has(RoleGlobalObserver)
}

func (k *call) lbAdmin() bool { return k.caller.admin() || k.caller.has(RoleOctaviaAdmin) }

// lbReads reports whether the caller may read what a project has: with any role in
// it.
func (k *call) lbReads(project string) bool {
	if k.lbGlobal() {
		return true
	}

	return k.caller.projectID == project && project != "" // no role counts in a token without a scope
}

// lbWrites reports whether the caller may change what a project has.
func (k *call) lbWrites(project string) bool {
	if k.lbAdmin() {
		return true
	}
	if k.caller.projectID != project {
		return false
	}

	return k.caller.has(RoleOctaviaMember) || k.caller.mayWrite()
}

// lbGet returns an object that the caller may read. One of another project is 403,
// other than in Nova and Neutron; 404 is for what does not exist (octavia:
// api/v2/controllers/base.py, _get_db_obj and _auth_validate_action).
func (k *call) lbGet(sort *lbSort, id string) (*lbObject, error) {
	o := k.region.octavia.table(sort).get(id)
	if o == nil {
		return nil, lbNotFound(sort, id)
	}
	if !k.lbReads(o.projectID) {
		return nil, lbForbidden()
	}

	return o, nil
}

// lbGetForWrite returns an object that the caller may change, and its load balancer.
func (k *call) lbGetForWrite(sort *lbSort, id string) (o, lb *lbObject, err error) {
	o = k.region.octavia.table(sort).get(id)
	if o == nil || o.status == lbDeleted {
		return nil, nil, lbNotFound(sort, id)
	}
	if !k.lbWrites(o.projectID) {
		return nil, nil, lbForbidden()
	}

	return o, k.region.octavia.loadBalancers.get(o.lb), nil
}
