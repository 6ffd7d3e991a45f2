package client_test

import (
	"net/http"
	"strings"
	"testing"

	kmetrics "k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// The names of requests.
func TestOperationOf(t *testing.T) {
	t.Parallel()
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	for _, tc := range []struct {
		service      client.Service
		method, path string
		want         string
	}{
		{client.Identity, post, "v3/auth/tokens", "token_create"},
		{client.Identity, get, "v3/auth/tokens", "token_get"},
		{client.Identity, get, "v3/auth/catalog", "catalog_get"},
		{client.Identity, get, "", "version_list"},
		{client.Identity, get, "v3/", "version_list"},
		{client.Compute, get, "v2.1/", "version_list"},
		{client.Compute, get, "servers/detail", "server_list"},
		{client.Compute, get, "v2.1/servers/" + objectID, "server_get"},
		{client.Compute, get, "v2.1/" + strings.Repeat("a", 32) + "/servers/" + objectID, "server_get"},
		{client.Compute, get, "servers/" + objectID + "/os-instance-actions", "server_action_list"},
		{client.Compute, get, "flavors/1", "flavor_get"},
		{client.Network, get, "v2.0/ports", "port_list"},
		{client.Network, put, "v2.0/ports/" + objectID, "port_update"},
		{client.Network, del, "v2.0/ports/" + objectID + "/tags/x", "port_tag_delete"},
		{client.Network, get, "v2.0/routers/" + objectID, "router_get"},
		{client.Network, put, "v2.0/routers/" + objectID, "router_update"},
		{client.Network, put, "v2.0/routers/" + objectID + "/add_extraroutes", "router_update"},
		{client.Network, get, "v2.0/networks", "network_list"},
		{client.Network, get, "v2.0/extensions", "network_extension_list"},
		{client.Network, get, "v2.0/subnets/" + objectID, "subnet_get"},
		{client.Network, get, "v2.0/floatingips", "floating_ip_list"},
		{client.Network, del, "v2.0/floatingips/" + objectID, "floating_ip_delete"},
		{client.Network, post, "v2.0/security-groups", "security_group_create"},
		{client.Network, get, "v2.0/security-group-rules", "security_group_rule_list"},
		{client.LoadBalancer, get, "v2.0/lbaas/loadbalancers", "loadbalancer_list"},
		{client.LoadBalancer, get, "v2.0/lbaas/loadbalancers/" + objectID + "/status", "loadbalancer_status_get"},
		{client.LoadBalancer, post, "v2.0/lbaas/listeners", "loadbalancer_listener_create"},
		{client.LoadBalancer, del, "v2.0/lbaas/pools/" + objectID, "loadbalancer_pool_delete"},
		{client.LoadBalancer, get, "v2.0/lbaas/pools/" + objectID + "/members", "loadbalancer_member_list"},
		{client.LoadBalancer, put, "v2.0/lbaas/pools/" + objectID + "/members", "loadbalancer_members_update"},
		{client.LoadBalancer, del, "v2.0/lbaas/pools/" + objectID + "/members/" + objectID, "loadbalancer_member_delete"},
		{client.LoadBalancer, get, "v2.0/lbaas/healthmonitors/" + objectID, "loadbalancer_healthmonitor_get"},
		{client.KeyManager, get, "v1/secrets/" + objectID, "secret_get"},
		{client.Network, get, "v2.0/surprises/" + objectID, "other_get"},
	} {
		if got := client.OperationOf(tc.service, tc.method, tc.path); got != tc.want {
			t.Errorf("%s %s %s = %s, want %s", tc.service, tc.method, tc.path, got, tc.want)
		}
	}
}

// Each request is counted once, by the names of the upstream controller manager too. The
// deletion of what no longer exists is no error there.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	registry := kmetrics.NewKubeRegistry()
	counted := client.NewMetrics(metrics.NewSet(registry, clocktesting.NewFakeClock(f.clock.Now())).Recorder("openstack"))
	counted.Register(registry.MustRegister)
	c := f.open(t, nil, func(_ *client.Config, o *client.Options) { o.Metrics = counted })
	ctx := bounded(t)
	must(t, get(ctx, c))
	f.Interceptor().Inject("nova.ShowServer", simserver.Nth(1), openstack.Error(http.StatusInternalServerError, "", "x"))
	if get(ctx, c) == nil {
		t.Error("no error")
	}
	_, err := c.Compute().ListServers(ctx)
	must(t, err)
	f.serve("neutron", func(w http.ResponseWriter, _ *http.Request) bool {
		reply(w, http.StatusNotFound, map[string]any{"NeutronError": map[string]any{"type": "PortNotFound", "message": "x"}})

		return true
	})
	for _, method := range []string{http.MethodDelete, http.MethodGet} {
		if c.Do(ctx, client.Network, method, "v2.0/ports/"+objectID) == nil {
			t.Error("no error")
		}
	}
	counted.Reconcile(client.ReconcileEnsure)(nil)
	counted.Reconcile(client.ReconcileDelete)(err)
	for family, want := range map[string]map[string]float64{
		"openstack_api_requests_total":       {"token_create": 1, "version_list": 1, "server_get": 2, "server_list": 1, "port_delete": 1, "port_get": 1},
		"openstack_api_request_errors_total": {"server_get": 1, "port_get": 1},
		"cloudprovider_openstack_reconcile_total": {
			client.ReconcileEnsure: 1, client.ReconcileDelete: 1,
		},
		"multicloud_ccm_cloud_requests_total": {"token_create ok": 1, "version_list ok": 1, "server_get ok": 1, "server_get unavailable": 1, "server_list ok": 1, "port_delete not_found": 1, "port_get not_found": 1},
		"multicloud_ccm_logins_total":         {"": 1},
		"multicloud_ccm_sessions":             {"": 1},
		"multicloud_ccm_connected":            {"": 1},
	} {
		openstacktest.Check(t, family, want, values(t, registry, family))
	}
}

// values are those of a family of metrics, by operation.
func values(t *testing.T, registry kmetrics.KubeRegistry, family string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	must(t, err)
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != family {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, name := range []string{"request", "operation", "code"} {
				for _, l := range m.GetLabel() {
					if l.GetName() == name && (name != "code" || strings.Contains(family, "requests")) {
						labels = append(labels, l.GetValue())
					}
				}
			}
			got[strings.Join(labels, " ")] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}

	return got
}
