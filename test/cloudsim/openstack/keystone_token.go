package openstack

import (
	"slices"
	"time"
)

// valid returns the token with an ID, nil when it is not valid (keystone:
// token/provider.py, validate_token, and the checks of token models).
func (k *keystoneState) valid(id string, now time.Time) *token {
	t := k.tokens.get(id)
	if t == nil || t.revoked || !now.Before(t.expires) {
		return nil
	}
	u := k.users.get(t.userID)
	if u == nil || u.disabled {
		return nil
	}
	if t.projectID == "" && t.domainID == "" {
		return t
	}
	if p := k.projects.get(t.projectID); t.projectID != "" && (p == nil || p.disabled) {
		return nil
	}
	if len(k.rolesOf(t)) == 0 {
		return nil
	}

	return t
}

// rolesOf returns the roles that a token has now, none when what it rests on is
// gone: Fernet tokens have no roles in them.
func (k *keystoneState) rolesOf(t *token) []string {
	switch {
	case t.credentialID != "":
		credential := k.credentials.get(t.credentialID)
		if credential == nil {
			return nil
		}

		return k.credentialRoles(credential)
	case t.trustID != "":
		trust := k.trusts.get(t.trustID)
		if trust == nil {
			return nil
		}

		return k.granted(trust.trustorID, trust.projectID, trust.roles)
	case t.domainID != "":
		return k.grants[grantKey{t.userID, t.domainID}]
	}

	return k.grants[grantKey{t.userID, t.projectID}]
}

// granted returns the roles when the user has all of them in the project, and
// none otherwise.
func (k *keystoneState) granted(userID, projectID string, roles []string) []string {
	have := k.grants[grantKey{userID, projectID}]
	for _, role := range roles {
		if !slices.Contains(have, role) {
			return nil
		}
	}

	return roles
}

// credentialRoles returns the roles of an application credential, none when its
// user lost one of them (keystone: an application credential is deleted together
// with the role assignment it needs; api-ref, application credentials).
func (k *keystoneState) credentialRoles(credential *applicationCredential) []string {
	return k.granted(credential.userID, credential.projectID, credential.roles)
}

// issue makes a token. Its lifetime never exceeds that of the token, trust or
// credential it was made from.
func (c *Cloud) issue(t token, notAfter time.Time) *token {
	t.id = "gAAAAAB" + c.ids.Hex("token", 64) + c.ids.Hex("token tail", 48)
	t.auditID = c.ids.Hex("audit", 22)
	t.issued = c.now()
	t.expires = t.issued.Add(c.opts.TokenLifetime)
	if !notAfter.IsZero() && notAfter.Before(t.expires) {
		t.expires = notAfter
	}
	c.keystone.tokens.put(t.id, &t)

	return &t
}

// RevokeTokens revokes all tokens of the named users, of all users when there are
// none: the next call with one of them is 401.
func (c *Cloud) RevokeTokens(users ...string) {
	c.inspect(func() {
		k := c.keystone
		for _, t := range k.tokens.all() {
			if len(users) == 0 || slices.Contains(users, k.users.get(t.userID).name) {
				t.revoked = true
			}
		}
	})
}
