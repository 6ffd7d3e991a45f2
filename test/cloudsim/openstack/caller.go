package openstack

import (
	"net/http"
	"path"
	"slices"
)

// The roles of Keystone's bootstrap, and those of Octavia (octavia:
// policies/base.py), of which the last two reach all projects.
const (
	RoleAdmin           = "admin"
	RoleMember          = "member"
	RoleReader          = "reader"
	RoleOctaviaMember   = "load-balancer_member"
	RoleOctaviaObserver = "load-balancer_observer"
	RoleGlobalObserver  = "load-balancer_global_observer"
	RoleOctaviaAdmin    = "load-balancer_admin"
)

// caller is who makes a call, as its token has it.
type caller struct {
	token       string
	userID      string
	userName    string
	projectID   string // empty without a project scope
	projectName string
	domainID    string // of the domain scope, empty without
	roles       []string
}

// has reports whether the caller has one of the roles.
func (c *caller) has(roles ...string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(c.roles, role) })
}

// admin reports whether the caller is an administrator, in whatever project.
func (c *caller) admin() bool { return c.has(RoleAdmin) }

// mayWrite reports whether the caller may change what its project owns (secure
// defaults of all services: role:member or role:admin, not role:reader).
func (c *caller) mayWrite() bool { return c.has(RoleMember, RoleAdmin) }

// canRead reports whether the caller may look at what a project owns: its own one, or
// any for an administrator. Services with further roles have rules of their own.
func (c *caller) canRead(project string) bool { return c.projectID == project || c.admin() }

// authorize checks the token and the role of a call. The caller holds mu.
func (c *Cloud) authorize(k *call) error {
	if k.route.open {
		return nil
	}
	k.caller = c.keystone.caller(k.request.Header.Get("X-Auth-Token"), c.now())
	if k.caller == nil {
		return unauthorized(c.keystoneURL(k.host))
	}
	if k.service.prepare != nil {
		if err := k.service.prepare(k); err != nil {
			return err
		}
	}
	if c.isDenied(k.op()) || (k.route.writes() && !k.route.reader && !k.caller.mayWrite()) {
		return k.service.denied(k)
	}

	return nil
}

// requireWriter returns the error for a caller that may not write, for routes that
// look for their object first (see [route].reader).
func (k *call) requireWriter() error {
	if !k.caller.mayWrite() {
		return k.service.denied(k)
	}

	return nil
}

// SetDenied sets the operations that the policy of no caller allows, by their name
// in the interceptor's log and with wildcards: "nova.ListServerActions",
// "neutron.*". Those of an earlier call are allowed again.
func (c *Cloud) SetDenied(operations ...string) {
	c.inspect(func() { c.denied = slices.Clone(operations) })
}

func (c *Cloud) isDenied(op string) bool {
	return slices.ContainsFunc(c.denied, func(pattern string) bool {
		match, _ := path.Match(pattern, op)

		return match
	})
}

// disallowed is what services respond to a role that does not suffice.
func disallowed(message string) *apiError {
	return &apiError{status: http.StatusForbidden, kind: "PolicyNotAuthorized", message: message}
}
