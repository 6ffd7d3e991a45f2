package openstack

import (
	"encoding/json"
	"net/http"
)

// scope is what a new token is for.
type scope struct {
	unscoped bool // explicitly
	project  *project
	domain   *domain
	trust    *trust
}

type scopeRequest struct {
	Project *struct {
		ID     string         `json:"id"`
		Name   string         `json:"name"`
		Domain *domainRequest `json:"domain"`
	} `json:"project"`
	Domain *domainRequest `json:"domain"`
	System map[string]any `json:"system"`
	Trust  *struct {
		ID string `json:"id"`
	} `json:"OS-TRUST:trust"`
}

// findScope looks up the scope that a login requests (keystone: auth/core.py,
// AuthInfo._validate_and_normalize_scope_data).
func (k *call) findScope(who *login) error {
	raw := who.request.Scope
	if who.request.Identity.ApplicationCredential != nil {
		if len(raw) > 0 {
			return &apiError{
				status: http.StatusUnauthorized,
				raw: []byte(`{"error":{"code":401,"identity":{},"message":"Error authenticating with application credential: ` +
					`Application credentials cannot request a scope.","title":"Unauthorized"}}`),
			}
		}

		return nil
	}
	if len(raw) == 0 {
		return nil
	}
	if raw[0] != '{' {
		who.scope.unscoped = true

		return nil
	}
	var request scopeRequest
	if err := json.Unmarshal(raw, &request); err != nil {
		return expected("valid JSON", "request body")
	}

	return k.resolveScope(&who.scope, &request)
}

func (k *call) resolveScope(s *scope, request *scopeRequest) error {
	state := k.cloud.keystone
	given := 0
	for _, present := range []bool{request.Project != nil, request.Domain != nil, request.Trust != nil, request.System != nil} {
		if present {
			given++
		}
	}
	switch {
	case given > 1:
		return expected("system, project, domain, OS-TRUST:trust or unscoped", "scope")
	case request.System != nil: // no user has a role in the system
		return refused()
	case request.Project != nil:
		return k.findProject(s, request)
	case request.Domain != nil:
		for _, d := range state.domains.all() {
			if k.inDomain(d.id, request.Domain) {
				s.domain = d
			}
		}
		if s.domain == nil {
			return refused()
		}
	case request.Trust != nil:
		s.trust = state.trusts.get(request.Trust.ID)
		if s.trust == nil {
			return refused()
		}
	default:
		s.unscoped = true
	}

	return nil
}

func (k *call) findProject(s *scope, request *scopeRequest) error {
	state := k.cloud.keystone
	if request.Project.ID == "" && request.Project.Domain == nil {
		return expected("domain", "project")
	}
	for _, p := range state.projects.all() {
		byName := request.Project.ID == "" && p.name == request.Project.Name && k.inDomain(p.domainID, request.Project.Domain)
		if byName || p.id == request.Project.ID {
			s.project = p
		}
	}
	if s.project == nil || s.project.disabled {
		return refused()
	}

	return nil
}

// newToken returns the token for what was proven and requested (keystone:
// models/token_model.py, TokenModel._validate_*).
func (k *call) newToken(who *login) (*token, error) {
	state := k.cloud.keystone
	t := &token{userID: who.user.id, methods: who.methods}
	if who.parent != nil {
		t.parentAudit = who.parent.auditID
	}
	switch s := &who.scope; {
	case who.credential != nil:
		t.credentialID, t.projectID = who.credential.id, who.credential.projectID
	case s.trust != nil:
		if s.trust.trusteeID != who.user.id {
			return nil, fail(http.StatusForbidden, "", "User is not a trustee.")
		}
		t.trustID, t.projectID = s.trust.id, s.trust.projectID
		if len(state.rolesOf(t)) == 0 {
			return nil, fail(http.StatusForbidden, "", "Trustee has no delegated roles.")
		}
	case s.project != nil:
		t.projectID = s.project.id
	case s.domain != nil:
		t.domainID = s.domain.id
	case !s.unscoped:
		k.defaultScope(t, who.user)
	}
	if t.scoped() && len(state.rolesOf(t)) == 0 {
		return nil, refused()
	}

	return t, nil
}

// defaultScope sets the scope to the default project of a user that has a role
// there (keystone: api/_shared/authentication.py, _check_and_set_default_scoping).
func (k *call) defaultScope(t *token, u *user) {
	p := k.cloud.keystone.projects.get(u.projectID)
	if p != nil && !p.disabled && len(k.cloud.keystone.grants[grantKey{u.id, p.id}]) > 0 {
		t.projectID = p.id
	}
}
