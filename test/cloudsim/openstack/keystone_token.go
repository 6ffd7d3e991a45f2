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
	if !t.scoped() {
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

// scoped reports whether a token is for a project or a domain.
func (t *token) scoped() bool { return t.projectID != "" || t.domainID != "" }

// rolesOf returns the roles that a token has now: Fernet tokens have none in them
// (keystone: models/token_model.py, TokenModel.roles).
func (k *keystoneState) rolesOf(t *token) []string {
	switch {
	case t.credentialID != "":
		credential := k.credentials.get(t.credentialID)
		if credential == nil {
			return nil
		}

		return slices.DeleteFunc(slices.Clone(credential.roles), func(role string) bool {
			return !slices.Contains(k.grants[grantKey{t.userID, t.projectID}], role)
		})
	case t.trustID != "":
		return k.delegated(k.trusts.get(t.trustID))
	case t.domainID != "":
		return k.grants[grantKey{t.userID, t.domainID}]
	}

	return k.grants[grantKey{t.userID, t.projectID}]
}

// delegated returns the roles of a trust, none when the trustor lost one of them.
func (k *keystoneState) delegated(t *trust) []string {
	if t == nil || k.users.get(t.trustorID).disabled {
		return nil
	}
	have := k.grants[grantKey{t.trustorID, t.projectID}]
	for _, role := range t.roles {
		if !slices.Contains(have, role) {
			return nil
		}
	}

	return t.roles
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

// revoke revokes tokens.
func (k *keystoneState) revoke(which func(*token) bool) {
	for _, t := range k.tokens.where(which) {
		t.revoked = true
	}
}

// locked reports whether the account of a user is locked (keystone:
// identity/backends/sql.py, _is_account_locked). A lock that has ended drops the
// failures.
func (k *keystoneState) locked(u *user, now time.Time) bool {
	if k.lockAttempts <= 0 || u.failures < k.lockAttempts {
		return false
	}
	if now.Before(u.failedAt.Add(k.lockDuration)) {
		return true
	}
	u.failures = 0

	return false
}
