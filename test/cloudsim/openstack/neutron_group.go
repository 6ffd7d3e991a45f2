package openstack

import (
	"net/http"
	"slices"
)

// groups are the security groups of the API (neutron: extensions/securitygroup.py).
var groups = &resource{
	single: "security_group", plural: "security_groups", sort: "Security group",
	attributes: []attribute{
		nameAttribute,
		{name: "security_group_rules", list: true},
		{name: "stateful", post: true, put: true},
		readOnly("shared"),
	},
}

func (g *securityGroup) document(s *neutronState) object {
	rules := []object{}
	for _, r := range s.rulesOf(g.id) {
		doc := r.document() // in a group it has two attributes more
		doc["tags"], doc["standard_attr_id"] = []string{}, r.serial
		rules = append(rules, doc)
	}

	return g.standard.document().merge(object{"stateful": !g.stateless, "shared": false, "security_group_rules": rules})
}

// newGroup makes a security group with the rules that every one has at first: all
// traffic may leave (neutron: db/securitygroups_db.py, create_security_group).
func (c *Cloud) newGroup(r *region, projectID, name, description string) *securityGroup {
	g := &securityGroup{standard: c.newStandard("security group", name, projectID)}
	g.description = description
	r.neutron.groups.put(g.id, g)
	for _, ethertype := range []string{"IPv4", "IPv6"} {
		rule := c.newRule(g, "egress", ethertype)
		rule.noDescription, rule.service = true, true
		r.neutron.rules.put(rule.id, rule)
	}

	return g
}

// defaultGroup returns the group default of a project, which is made when something
// of the project needs it first. Its members may reach each other (neutron:
// db/securitygroups_db.py, _ensure_default_security_group).
func (c *Cloud) defaultGroup(r *region, projectID string) *securityGroup {
	state := r.neutron
	have := state.groups.where(func(g *securityGroup) bool { return g.projectID == projectID && g.name == "default" })
	if len(have) > 0 {
		return have[0]
	}
	g := c.newGroup(r, projectID, "default", "Default security group")
	g.service = true
	for _, ethertype := range []string{"IPv4", "IPv6"} {
		rule := c.newRule(g, "ingress", ethertype)
		rule.remoteGroup, rule.noDescription, rule.service = g.id, true, true
		state.rules.put(rule.id, rule)
	}

	return g
}

func (s *neutronState) removeGroup(id string) {
	for _, r := range s.rulesOf(id) {
		s.rules.remove(r.id)
	}
	s.groups.remove(id)
}

// group returns a security group that the caller may see. The first call for any
// makes the group default of the caller's project.
func (k *call) group(id string) (*securityGroup, error) {
	g := k.region.neutron.groups.get(id)
	if g == nil || !k.caller.canRead(g.projectID) {
		return nil, missing("Security group", id)
	}

	return g, nil
}

func listGroups(k *call) (response, error) {
	if k.caller.projectID != "" && k.region == k.cloud.region(k.target.region) {
		k.cloud.defaultGroup(k.region, k.caller.projectID)
	}
	rows := []object{}
	for _, g := range k.region.neutron.groups.all() {
		if k.caller.canRead(g.projectID) {
			rows = append(rows, g.document(k.region.neutron))
		}
	}

	return groups.list(k, rows)
}

func showGroup(k *call) (response, error) {
	g, err := k.group(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return groups.show(k, g.document(k.region.neutron))
}

// createGroup makes a group. Names need not be unique; only default is taken.
func createGroup(k *call) (response, error) {
	return groups.create(k, func(a attributes) (object, error) {
		project := k.owner(a)
		k.cloud.defaultGroup(k.region, project)
		if a.text("name") == "default" {
			return nil, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
		}
		state := k.region.neutron
		used := len(state.groups.where(func(g *securityGroup) bool { return g.projectID == project }))
		if exceeds(k.cloud.quotasOf(project).SecurityGroups, used, 1) {
			return nil, overQuota("security_group")
		}
		if err := k.cloud.ruleQuota(state, project, 2); err != nil {
			return nil, err
		}
		g := k.cloud.newGroup(k.region, project, a.text("name"), a.text("description"))
		g.stateless = !a.truth("stateful", true)

		return groups.visible(k, g.document(state)), nil
	})
}

func updateGroup(k *call) (response, error) {
	g, err := k.group(k.path("id"))
	if err != nil {
		return response{}, err
	}
	a, err := groups.change(k)
	if err != nil {
		return response{}, err
	}
	if err := k.revise(g.revision); err != nil {
		return response{}, err
	}
	if g.name == "default" && a.has("name") {
		return response{}, conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
	}
	if a.text("name") == "default" {
		return response{}, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	a.setText("name", &g.name)
	a.setText("description", &g.description)
	g.touch(k.now())

	return groups.show(k, g.document(k.region.neutron))
}

// deleteGroup deletes a group that no port has. Rules of other groups that name it
// go with it (neutron: db/models/securitygroup.py, ondelete of remote_group_id).
func deleteGroup(k *call) (response, error) {
	g, err := k.group(k.path("id"))
	if err != nil {
		return response{}, err
	}
	state := k.region.neutron
	if err := k.revise(g.revision); err != nil {
		return response{}, err
	}
	used := slices.ContainsFunc(state.ports.all(), func(p *port) bool { return slices.Contains(p.groups, g.id) })
	if used {
		return response{}, conflict("SecurityGroupInUse", "Security Group %s in use.", g.id)
	}
	if g.name == "default" && !k.caller.admin() {
		return response{}, conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	for _, r := range state.rules.where(func(r *securityRule) bool { return r.remoteGroup == g.id }) {
		state.rules.remove(r.id)
	}
	state.removeGroup(g.id)

	return response{status: http.StatusNoContent}, nil
}
