package openstack

import (
	"slices"
	"time"
)

// ProjectID returns the ID of the project with a name. It panics when there is
// none.
func (c *Cloud) ProjectID(name string) string {
	var id string
	c.inspect(func() { id = c.keystone.project(name).id })

	return id
}

// UserID returns the ID of the user with a name. It panics when there is none.
func (c *Cloud) UserID(name string) string {
	var id string
	c.inspect(func() { id = c.keystone.user(name).id })

	return id
}

// AddProject adds a project to the domain Default and returns its ID, which is the
// same in every run.
func (c *Cloud) AddProject(name string) string {
	var id string
	c.inspect(func() { id = c.keystone.addProject(name).id })

	return id
}

// AddUser adds a user to the domain Default, with [Password] and roles in a
// project, and returns its ID, which is the same in every run.
func (c *Cloud) AddUser(name, project string, roles ...string) string {
	var id string
	c.inspect(func() {
		u := c.keystone.addUser(name, c.keystone.project(project).id)
		c.keystone.grants[grantKey{u.id, u.projectID}] = slices.Clone(roles)
		id = u.id
	})

	return id
}

// SetRoles replaces the roles of a user in a project; without roles there are
// none. When one of them is gone, so are all application credentials of the user
// for the project (keystone: application_credential/core.py,
// _delete_app_creds_on_assignment_removal).
func (c *Cloud) SetRoles(user, project string, roles ...string) {
	c.inspect(func() {
		k := c.keystone
		key := grantKey{k.user(user).id, k.project(project).id}
		lost := slices.ContainsFunc(k.grants[key], func(role string) bool { return !slices.Contains(roles, role) })
		k.grants[key] = slices.Clone(roles)
		for _, credential := range k.credentials.all() {
			if lost && credential.userID == key.user && credential.projectID == key.scope {
				k.credentials.remove(credential.id)
			}
		}
	})
}

// SetPassword changes the password of a user, which ends its tokens (keystone:
// identity/core.py, update_user).
func (c *Cloud) SetPassword(user, password string) {
	c.inspect(func() {
		u := c.keystone.user(user)
		u.password = password
		c.keystone.revoke(func(t *token) bool { return t.userID == u.id })
	})
}

// SetProjectEnabled enables or disables a project. Tokens for a disabled one are
// not valid.
func (c *Cloud) SetProjectEnabled(project string, enabled bool) {
	c.inspect(func() { c.keystone.project(project).disabled = !enabled })
}

// RequireMFA sets that a user needs a second factor beside the password: a login
// without it is 401 with a receipt (keystone: api-ref v3, multi-factor
// authentication). Application credentials need none.
func (c *Cloud) RequireMFA(user string) {
	c.inspect(func() { c.keystone.user(user).mfa = true })
}

// Locked reports whether the account of a user is locked now.
func (c *Cloud) Locked(user string) bool {
	var locked bool
	c.inspect(func() { locked = c.keystone.locked(c.keystone.user(user), c.now()) })

	return locked
}

// ApplicationCredentialSpec is an application credential to add. Only User is
// needed.
type ApplicationCredentialSpec struct {
	// User is the name of the user it stands for.
	User string
	// Project is the name of its project; default that of the user.
	Project string
	// Name is unique for a user; default ccm.
	Name string
	// Roles are some of the roles of the user; default all of them.
	Roles []string
	// Lifetime is how long it is valid; default forever.
	Lifetime time.Duration
}

// AddApplicationCredential adds an application credential and returns its ID and
// its secret.
func (c *Cloud) AddApplicationCredential(spec ApplicationCredentialSpec) (id, secret string) {
	c.inspect(func() {
		k := c.keystone
		u := k.user(spec.User)
		credential := &applicationCredential{
			id: c.newHexID("application credential"), name: spec.Name, secret: c.ids.Hex("secret", 64),
			userID: u.id, projectID: u.projectID, roles: slices.Clone(spec.Roles),
		}
		if spec.Name == "" {
			credential.name = "ccm"
		}
		if spec.Project != "" {
			credential.projectID = k.project(spec.Project).id
		}
		if spec.Roles == nil {
			credential.roles = slices.Clone(k.grants[grantKey{u.id, credential.projectID}])
		}
		if spec.Lifetime > 0 {
			credential.expires = c.now().Add(spec.Lifetime)
		}
		k.credentials.put(credential.id, credential)
		id, secret = credential.id, credential.secret
	})

	return id, secret
}

// AddTrust has a user delegate roles in a project to another one and returns the
// trust's ID. With a token of the trust the trustee acts as the trustor.
func (c *Cloud) AddTrust(trustor, trustee, project string, roles ...string) string {
	var id string
	c.inspect(func() {
		k := c.keystone
		made := &trust{
			id: c.newHexID("trust"), trustorID: k.user(trustor).id, trusteeID: k.user(trustee).id,
			projectID: k.project(project).id, roles: slices.Clone(roles),
		}
		k.trusts.put(made.id, made)
		id = made.id
	})

	return id
}

// RevokeTokens revokes all tokens of the named users, of all users when there are
// none: the next call with one of them is 401.
func (c *Cloud) RevokeTokens(users ...string) {
	c.inspect(func() {
		k := c.keystone
		k.revoke(func(t *token) bool {
			return len(users) == 0 || slices.Contains(users, k.users.get(t.userID).name)
		})
	})
}

// SetDefaultProject sets the project of a user's logins without a scope; with an empty
// one they are unscoped.
func (c *Cloud) SetDefaultProject(user, project string) {
	c.inspect(func() {
		u := c.keystone.user(user)
		u.projectID = ""
		if project != "" {
			u.projectID = c.keystone.project(project).id
		}
	})
}
