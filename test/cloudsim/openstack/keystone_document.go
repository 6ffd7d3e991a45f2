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
		"user":       object{"id": u.id, "name": u.name, "domain": c.domainDocument(u.domainID), "password_expires_at": nil},
		"audit_ids":  []string{t.auditID},
		"expires_at": t.expires.UTC().Truncate(time.Second).Format(keystoneTime),
		"issued_at":  t.issued.UTC().Truncate(time.Second).Format(keystoneTime),
	}
	switch {
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
	if catalog {
		doc["catalog"] = c.entries(t.projectID)
	}

	return doc
}

func (c *Cloud) domainDocument(id string) object {
	return object{"id": id, "name": c.keystone.domains.get(id).name}
}
