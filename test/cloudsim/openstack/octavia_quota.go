package openstack

import (
	"maps"
	"net/http"
)

// eachOctavia runs f with the state of Octavia in each region.
func (c *Cloud) eachOctavia(f func(*octaviaState)) {
	c.inspect(func() {
		for _, r := range c.regions {
			f(r.octavia)
		}
	})
}

// octaviaBegin counts a creation that is under way, from its arrival on, and returns
// what ends it.
func (c *Cloud) octaviaBegin(k *call) func() {
	if k.route.method != http.MethodPost {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	who := c.keystone.caller(k.request.Header.Get("X-Auth-Token"), c.now())
	if who == nil {
		return func() {}
	}
	key := replicaKey{k.target.region, who.projectID}
	if c.creating == nil {
		c.creating = make(map[replicaKey]int)
	}
	c.creating[key]++

	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.creating[key]--
	}
}

// lbQuota is what an operator has set of the quotas of a project, by the key of the
// API.
type lbQuota map[string]int

// lbQuotaFor takes some of a project's quota. The response to too much is 403, as it
// is to what a policy does not allow; in Neutron it is 409 (octavia:
// common/exceptions.py, QuotaException, ProjectBusyException). While a project has no
// record of its quotas yet, parallel creations add it both, which the database ends as
// a deadlock; the last one succeeds. Later ones wait for each other (octavia:
// db/repositories.py, check_quota_met; MariaDB: InnoDB gap locks).
func (k *call) lbQuotaFor(sort *lbSort, project string, count int) error {
	state := k.region.octavia
	others := k.cloud.creating[replicaKey{k.target.region, k.caller.projectID}] > 1
	if others && !state.recorded[project] {
		return fail(http.StatusServiceUnavailable, "", "Project busy.  Unable to lock the project.  Please try again.")
	}
	state.recorded[project] = true
	most := k.cloud.lbQuotasOf(state, project)[sort.single]
	if most < 0 || count == 0 {
		return nil
	}
	used := len(state.table(sort).where(func(o *lbObject) bool { return o.projectID == project && o.status != lbDeleted }))
	if exceeds(most, used, count) {
		return fail(http.StatusForbidden, "", "Quota has been met for resources: %s", sort.name)
	}

	return nil
}

// lbQuotasOf returns the bounds of a project by the key of the API.
func (c *Cloud) lbQuotasOf(s *octaviaState, project string) lbQuota {
	q := c.quotasOf(project)
	quotas := lbQuota{
		"loadbalancer": q.LoadBalancers, "listener": q.Listeners, "pool": q.Pools, "member": q.Members,
		"healthmonitor": q.HealthMonitors, "l7policy": -1, "l7rule": -1,
	}
	maps.Copy(quotas, s.quotas[project])

	return quotas
}

// document has two keys in an old spelling alone (octavia: api/v2/types/quotas.py,
// QuotaBase; compared with Zed).
func (q lbQuota) document() object {
	doc := object{}
	for key, value := range q {
		if alias, ok := map[string]string{"loadbalancer": "load_balancer", "healthmonitor": "health_monitor"}[key]; ok {
			key = alias
		}
		doc[key] = value
	}

	return object{"quota": doc}
}

// showLBQuota handles GET /lbaas/quotas/{project}.
func showLBQuota(k *call) (response, error) {
	if !k.lbReads(k.path("project")) {
		return response{}, lbForbidden()
	}

	return reply(http.StatusOK, k.cloud.lbQuotasOf(k.region.octavia, k.path("project")).document())
}

// updateLBQuota handles PUT /lbaas/quotas/{project}, for administrators.
func updateLBQuota(k *call) (response, error) {
	var body struct {
		Quota map[string]*int `json:"quota"`
	}
	if err := k.decode(&body); err != nil {
		return response{}, fail(http.StatusBadRequest, "", "Request is not in valid JSON format")
	}
	if !k.lbAdmin() {
		return response{}, lbForbidden()
	}
	project, state := k.path("project"), k.region.octavia
	known := k.cloud.lbQuotasOf(state, project)
	quotas := maps.Clone(state.quotas[project])
	if quotas == nil {
		quotas = lbQuota{}
	}
	for key, value := range body.Quota {
		if alias, ok := map[string]string{"load_balancer": "loadbalancer", "health_monitor": "healthmonitor"}[key]; ok {
			key = alias
		}
		if _, ok := known[key]; !ok {
			return response{}, unknownFields("quotas.quota", []string{key})
		}
		delete(quotas, key)
		if value != nil {
			quotas[key] = *value
		}
	}
	state.quotas[project] = quotas

	return reply(http.StatusAccepted, k.cloud.lbQuotasOf(state, project).document())
}
