package openstack

import (
	"encoding/json"
	"net/http"
)

// scope sets what a new token is for.
func (k *call) scope(t *token, who *login, raw json.RawMessage) error {
	if who.credential != nil {
		return nil
	}
	state := k.cloud.keystone
	var request scopeRequest
	explicit := len(raw) > 0 && raw[0] == '{'
	if explicit {
		if err := json.Unmarshal(raw, &request); err != nil {
			return k.malformed(err)
		}
	}
	switch {
	case request.Project != nil:
		p := k.findProject(&request)
		if p == nil || p.disabled {
			return refused()
		}
		t.projectID = p.id
	case request.Domain != nil:
		for _, d := range state.domains.all() {
			if k.inDomain(d.id, request.Domain) {
				t.domainID = d.id
			}
		}
		if t.domainID == "" {
			return refused()
		}
	case !explicit && len(raw) == 0 && who.token == nil:
		if p := state.projects.get(who.user.projectID); p != nil && !p.disabled && len(state.grants[grantKey{t.userID, p.id}]) > 0 {
			t.projectID = p.id // the default project of the user
		}

		return nil
	default:
		return nil
	}
	if len(state.rolesOf(t)) == 0 {
		return refused()
	}

	return nil
}

func (k *call) findProject(request *scopeRequest) *project {
	state := k.cloud.keystone
	if request.Project.ID != "" {
		return state.projects.get(request.Project.ID)
	}
	for _, p := range state.projects.all() {
		if p.name == request.Project.Name && k.inDomain(p.domainID, request.Project.Domain) {
			return p
		}
	}

	return nil
}

// showToken responds with the token that X-Subject-Token names.
func showToken(k *call) (response, error) {
	t, err := k.subject()
	if err != nil {
		return response{}, err
	}
	answer := response{status: http.StatusOK, header: http.Header{"X-Subject-Token": {t.id}}}
	if k.request.Method == http.MethodGet {
		answer.body = object{"token": k.cloud.tokenDocument(t, !k.query.Has("nocatalog"))}
	}

	return answer, nil
}

// revokeToken ends the token that X-Subject-Token names.
func revokeToken(k *call) (response, error) {
	t, err := k.subject()
	if err != nil {
		return response{}, err
	}
	t.revoked = true

	return response{status: http.StatusNoContent}, nil
}

// subject returns the token that X-Subject-Token names, for a caller whose own
// token is valid.
func (k *call) subject() (*token, error) {
	k.caller = k.cloud.keystone.caller(k.request.Header.Get("X-Auth-Token"), k.now())
	if k.caller == nil {
		return nil, refused()
	}
	id := k.request.Header.Get("X-Subject-Token")
	t := k.cloud.keystone.valid(id, k.now())
	if t == nil {
		return nil, fail(http.StatusNotFound, "", "Could not find token: %s.", id)
	}
	if t.userID != k.caller.userID && !k.caller.admin() {
		return nil, k.service.denied(k)
	}

	return t, nil
}
