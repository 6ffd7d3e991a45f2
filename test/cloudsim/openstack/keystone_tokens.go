package openstack

import "net/http"

// showToken responds with the token that X-Subject-Token names.
func showToken(k *call) (response, error) {
	t, err := k.subject()
	if err != nil {
		return response{}, err
	}
	result := response{status: http.StatusOK, header: http.Header{"X-Subject-Token": {t.id}}}
	if k.request.Method == http.MethodGet {
		result.body = object{"token": k.cloud.tokenDocument(t, !k.query.Has("nocatalog"))}
	}

	return result, nil
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

// subject returns the token that X-Subject-Token names, which may be that of the
// caller or, for an administrator, of any user (keystone: api/auth.py and
// policies/token.py; tried with Zed).
func (k *call) subject() (*token, error) {
	k.caller = k.cloud.keystone.caller(k.request.Header.Get("X-Auth-Token"), k.now())
	if k.caller == nil {
		return nil, refused()
	}
	id := k.request.Header.Get("X-Subject-Token")
	if id == "" {
		return nil, k.service.denied(k)
	}
	t := k.cloud.keystone.valid(id, k.now())
	if t == nil {
		return nil, k.noToken(id)
	}
	if t.userID != k.caller.userID && !k.caller.admin() {
		return nil, k.service.denied(k)
	}

	return t, nil
}
