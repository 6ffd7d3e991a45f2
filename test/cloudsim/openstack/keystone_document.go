package openstack

import "time"

// keystoneTime is the form of times in tokens.
const keystoneTime = "2006-01-02T15:04:05.000000Z"

// tokenDocument returns a token as responses have it.
func (c *Cloud) tokenDocument(t *token, catalog bool) object {
	state := c.keystone
	u := state.users.get(t.userID)
	doc := object{
		"methods":    t.methods,
		"user":       c.userDocument(u),
		"audit_ids":  []string{t.auditID},
		"expires_at": t.expires.UTC().Truncate(time.Second).Format(keystoneTime),
		"issued_at":  t.issued.UTC().Truncate(time.Second).Format(keystoneTime),
	}
	if t.parentAudit != "" {
		doc["audit_ids"] = []string{t.auditID, t.parentAudit}
	}
	switch {
	case t.trustID != "":
		c.describeTrust(doc, state.trusts.get(t.trustID))
	case t.projectID != "":
		p := state.projects.get(t.projectID)
		doc["project"] = object{"id": p.id, "name": p.name, "domain": c.domainDocument(p.domainID)}
		doc["is_domain"] = false
	case t.domainID != "":
		doc["domain"] = c.domainDocument(t.domainID)
	default:
		return doc
	}
	roles := []object{}
	for _, name := range state.rolesOf(t) {
		roles = append(roles, object{"id": stableID("role " + name), "name": name})
	}
	doc["roles"] = roles
	if t.credentialID != "" {
		doc["application_credential"] = object{
			"id": t.credentialID, "name": state.credentials.get(t.credentialID).name, "restricted": true,
		}
	}
	if catalog {
		doc["catalog"] = c.entries(t.projectID)
	}

	return doc
}

// describeTrust adds a trust to a token: its user is the trustor, as with
// impersonation (keystone: common/render_token.py).
func (c *Cloud) describeTrust(doc object, t *trust) {
	p := c.keystone.projects.get(t.projectID)
	doc["OS-TRUST:trust"] = object{
		"id": t.id, "impersonation": true,
		"trustor_user": object{"id": t.trustorID}, "trustee_user": object{"id": t.trusteeID},
	}
	doc["user"] = c.userDocument(c.keystone.users.get(t.trustorID))
	doc["project"] = object{"id": p.id, "name": p.name, "domain": c.domainDocument(p.domainID)}
}

func (c *Cloud) userDocument(u *user) object {
	return object{"id": u.id, "name": u.name, "domain": c.domainDocument(u.domainID), "password_expires_at": nil}
}

func (c *Cloud) domainDocument(id string) object {
	return object{"id": id, "name": c.keystone.domains.get(id).name}
}
