package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
)

// showCatalog responds with the catalog of the caller's token, which must have a
// scope (keystone: api/auth.py, AuthCatalog).
func showCatalog(k *call) (response, error) {
	if k.caller.projectID == "" && k.caller.domainID == "" {
		return response{}, disallowed("You are not authorized to perform the requested action: Invalid token: no scope.")
	}

	return reply(http.StatusOK, object{"catalog": k.cloud.entries(k.caller.projectID), "links": object{"self": k.url()}})
}

// listOwnProjects responds with the projects that the caller has a role in.
func listOwnProjects(k *call) (response, error) {
	rows := []object{}
	for _, p := range k.cloud.keystone.projects.all() {
		if !p.disabled && len(k.cloud.keystone.grants[grantKey{k.caller.userID, p.id}]) > 0 {
			rows = append(rows, k.projectDocument(p))
		}
	}

	return reply(http.StatusOK, object{"projects": rows, "links": k.keystoneLinks()})
}

// showProject responds with a project: that of the caller's token, and any one for an
// administrator (keystone: policies/project.py, get_project).
func showProject(k *call) (response, error) {
	p := k.cloud.keystone.projects.get(k.path("id"))
	switch {
	case !k.caller.admin() && k.caller.projectID != k.path("id"):
		return response{}, k.service.denied(k)
	case p == nil:
		return response{}, fail(http.StatusNotFound, "", "Could not find project: %s.", k.path("id"))
	}

	return reply(http.StatusOK, object{"project": k.projectDocument(p)})
}

func (k *call) projectDocument(p *project) object {
	return object{
		"id": p.id, "name": p.name, "domain_id": p.domainID, "parent_id": p.domainID, "description": "", "enabled": !p.disabled,
		"is_domain": false, "options": object{}, "tags": []string{}, "links": object{"self": k.base() + "/v3/projects/" + p.id},
	}
}

// listUsers responds with all users, for administrators.
func listUsers(k *call) (response, error) {
	if !k.caller.admin() {
		return response{}, k.service.denied(k)
	}
	rows := []object{}
	for _, u := range k.cloud.keystone.users.all() {
		if !k.query.Has("name") || u.name == k.query.Get("name") {
			rows = append(rows, object{
				"id": u.id, "name": u.name, "domain_id": u.domainID, "enabled": !u.disabled, "options": object{},
				"password_expires_at": nil, "links": object{"self": k.base() + "/v3/users/" + u.id},
			})
		}
	}

	return reply(http.StatusOK, object{"users": rows, "links": k.keystoneLinks()})
}

// createApplicationCredential adds an application credential of the caller for the
// project of its token. A token of another application credential does not suffice
// (keystone: api/users.py, UserAppCredListCreateResource).
func createApplicationCredential(k *call) (response, error) {
	state := k.cloud.keystone
	if k.path("id") != k.caller.userID || k.caller.projectID == "" {
		return response{}, k.service.denied(k)
	}
	if state.tokens.get(k.caller.token).credentialID != "" {
		return response{}, disallowed("You are not authorized to perform the requested action: Using method " +
			"'application_credential' is not allowed for managing additional application credentials..")
	}
	var body struct {
		Credential struct {
			Name  string                  `json:"name"`
			Roles []struct{ Name string } `json:"roles"`
		} `json:"application_credential"`
	}
	if err := json.Unmarshal(k.body, &body); err != nil || body.Credential.Name == "" {
		return response{}, expected("name", "application_credential")
	}
	made := &applicationCredential{
		id: k.cloud.newHexID("application credential"), name: body.Credential.Name, secret: k.cloud.ids.Hex("secret", 64),
		userID: k.caller.userID, projectID: k.caller.projectID, roles: slices.Clone(k.caller.roles),
	}
	if body.Credential.Roles != nil {
		made.roles = nil
	}
	for _, role := range body.Credential.Roles {
		if !k.caller.has(role.Name) {
			return response{}, fail(http.StatusNotFound, "", "Could not find role: %s.", role.Name)
		}
		made.roles = append(made.roles, role.Name)
	}
	if len(state.credentials.where(func(c *applicationCredential) bool { return c.userID == made.userID && c.name == made.name })) > 0 {
		return response{}, fail(http.StatusConflict, "", "Conflict occurred attempting to store application_credential - Duplicate entry.")
	}
	state.credentials.put(made.id, made)
	doc := k.credentialDocument(made)
	doc["secret"] = made.secret

	return reply(http.StatusCreated, object{"application_credential": doc})
}

// listApplicationCredentials responds with the application credentials of a user:
// the caller, or any one for an administrator.
func listApplicationCredentials(k *call) (response, error) {
	userID := k.path("id")
	if userID != k.caller.userID && !k.caller.admin() {
		return response{}, k.service.denied(k)
	}
	rows := []object{}
	for _, credential := range k.cloud.keystone.credentials.all() {
		if credential.userID == userID && (!k.query.Has("name") || credential.name == k.query.Get("name")) {
			rows = append(rows, k.credentialDocument(credential))
		}
	}

	return reply(http.StatusOK, object{"application_credentials": rows, "links": k.keystoneLinks()})
}

// credentialDocument is an application credential without its secret. Its own link
// lacks the user, as with Zed.
func (k *call) credentialDocument(credential *applicationCredential) object {
	roles := []object{}
	for _, name := range slices.Sorted(slices.Values(credential.roles)) {
		options := object{}
		if slices.Contains([]string{RoleAdmin, RoleMember, RoleReader}, name) { // those of keystone-manage bootstrap
			options["immutable"] = true
		}
		roles = append(roles, object{
			"id": stableID("role " + name), "name": name, "description": nil, "domain_id": nil, "options": options,
		})
	}
	doc := object{
		"id": credential.id, "name": credential.name, "description": nil, "expires_at": nil, "project_id": credential.projectID,
		"roles": roles, "system": nil, "unrestricted": nil, "user_id": credential.userID,
		"links": object{"self": k.base() + "/v3/application_credentials/" + credential.id},
	}
	if !credential.expires.IsZero() {
		doc["expires_at"] = credential.expires.UTC().Format(keystoneTime)
	}

	return doc
}

// keystoneLinks are the links of a list, which has one page.
func (k *call) keystoneLinks() object {
	self := k.url()
	if k.request.URL.RawQuery != "" {
		self += "?" + k.request.URL.RawQuery
	}

	return object{"self": self, "next": nil, "previous": nil}
}
