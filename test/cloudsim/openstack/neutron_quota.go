package openstack

import (
	"maps"
	"net/http"
)

// quotaRow is a quota of Neutron with how much of it a project uses.
type quotaRow struct {
	name        string
	limit, used int
}

func (k *call) quotaRows(project string) []quotaRow {
	s, q := k.region.neutron, k.cloud.quotasOf(project)

	return []quotaRow{
		{"network", q.Networks, count(&s.networks, func(n *network) bool { return n.projectID == project })},
		{"subnet", q.Subnets, count(&s.subnets, func(n *subnet) bool { return n.projectID == project })},
		{"subnetpool", -1, 0},
		{"port", q.Ports, count(&s.ports, func(p *port) bool { return p.projectID == project })},
		{"router", q.Routers, count(&s.routers, func(t *router) bool { return t.projectID == project })},
		{"floatingip", q.FloatingIPs, count(&s.floatingIPs, func(f *floatingIP) bool { return f.projectID == project })},
		{"rbac_policy", 10, 0},
		{"security_group", q.SecurityGroups, count(&s.groups, func(g *securityGroup) bool { return g.projectID == project })},
		{"security_group_rule", q.SecurityGroupRules, count(&s.rules, func(r *securityRule) bool { return r.projectID == project })},
		{"trunk", -1, count(&s.trunks, func(t *trunk) bool { return t.projectID == project })},
	}
}

func count[T any](rows *table[T], match func(*T) bool) int { return len(rows.where(match)) }

// quotaProject returns the project that the path names: users see their own.
func (k *call) quotaProject() (string, error) {
	project := k.path("project")
	if !k.caller.canRead(project) {
		return "", notAllowed("get_quota")
	}

	return project, nil
}

func showQuotas(k *call) (response, error) {
	project, err := k.quotaProject()
	if err != nil {
		return response{}, err
	}
	doc := object{}
	for _, row := range k.quotaRows(project) {
		doc[row.name] = row.limit
	}

	return found("quota", doc)
}

// updateQuotas serves PUT, for administrators.
func updateQuotas(k *call) (response, error) {
	if !k.caller.admin() {
		return response{}, notAllowed("update_quota")
	}
	a, err := k.object("quota")
	if err != nil {
		return response{}, err
	}
	project := k.path("project")
	q := k.cloud.quotasOf(project)
	for name, into := range map[string]*int{
		"network": &q.Networks, "subnet": &q.Subnets, "port": &q.Ports, "router": &q.Routers, "floatingip": &q.FloatingIPs,
		"security_group": &q.SecurityGroups, "security_group_rule": &q.SecurityGroupRules,
	} {
		if err := a.read(name, into); err != nil {
			return response{}, fail(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: quota limit is not valid.")
		}
	}
	k.cloud.keystone.quotas = maps.Clone(k.cloud.keystone.quotas)
	k.cloud.keystone.quotas[project] = q

	return showQuotas(k)
}
