package openstack_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestRowTimes: a list takes as long as its rows, whatever else there is, and a single object
// no time.
func TestRowTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud := start(t, openstack.Options{InMemory: true, PageSize: 3})
		var first string
		for range 4 {
			first = cloud.AddServer(openstack.ServerSpec{Name: "node", Networks: []openstack.ServerNetwork{{Name: "net", IPs: nil}}})
		}
		subnet := cloud.AddSubnet(openstack.SubnetSpec{Network: cloud.AddNetwork(openstack.NetworkSpec{Name: "vips"}), CIDR: "10.9.0.0/24"})
		client := connect(t, cloud, openstack.UserCCM)
		servers, ports, balancers := compute(t, client, ""), network(t, client, ""), loadBalancer(t, client, "")
		_, err := loadbalancers.Create(t.Context(), balancers, loadbalancers.CreateOpts{VipSubnetID: subnet}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		cloud.SetRowTimes(openstack.LargeCloudRowTimes())
		for path, tc := range map[string]struct {
			client *gophercloud.ServiceClient
			want   time.Duration
		}{
			"servers/detail":                     {servers, 3 * 5 * time.Millisecond},
			"servers/" + first:                   {servers, 0},
			"v2.0/ports":                         {ports, 3 * 40 * time.Millisecond},
			"v2.0/ports?device_id=" + first:      {ports, 40 * time.Millisecond},
			"v2.0/lbaas/loadbalancers":           {balancers, 20 * time.Millisecond},
			"v2.0/lbaas/loadbalancers?name=none": {balancers, 0},
		} {
			began := time.Now()
			if _, err := getJSON(t, tc.client, path); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != tc.want {
				t.Errorf("%s took %v, want %v", path, took, tc.want)
			}
		}
	})
}

// TestLargeProject: 5,000 servers, 20,000 ports and 10 Nodes among them can be added and listed.
func TestLargeProject(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	nodes := cloud.AddLargeProject("nodes", 10)
	client := connect(t, cloud, openstack.UserCCM)
	body, err := getJSON(t, network(t, client, ""), "v2.0/ports?fields=id")
	if rows, _ := body["ports"].([]any); err != nil || len(rows) != 20_000 {
		t.Errorf("%d ports, %v", len(rows), err)
	}
	body, err = getJSON(t, network(t, client, ""), "v2.0/ports?fields=id&device_id="+nodes[9])
	if rows, _ := body["ports"].([]any); err != nil || len(rows) != 1 {
		t.Errorf("%d ports of a Node, %v", len(rows), err)
	}
}

// TestGateways: what proxies and directories in front of services refuse.
func TestGateways(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		op, path string
		fault    simserver.Fault
		want     int
	}{
		"Nova's versions":     {"nova.ListVersions", "/compute/", openstack.Proxy(403, ""), 403},
		"Nova's version":      {"nova.ShowVersion", "/compute/v2.1", openstack.Proxy(404, ""), 404},
		"Neutron's versions":  {"neutron.ListVersions", "/network/", openstack.Proxy(403, ""), 403},
		"Octavia's versions":  {"octavia.ListVersions", "/load-balancer/", openstack.Proxy(404, ""), 404},
		"Keystone's versions": {"keystone.ListVersions", "/identity/", openstack.Proxy(403, ""), 403},
		"directory is away":   {"keystone.ShowToken", "/identity/v3/auth/tokens", openstack.DirectoryAway(), 401},
		"list of all":         {"octavia.ListLoadBalancers", "/load-balancer/v2/lbaas/loadbalancers", openstack.Without("name", openstack.Proxy(504, "")), 504},
		"list by name":        {"octavia.ListLoadBalancers", "/load-balancer/v2/lbaas/loadbalancers?name=x", openstack.Without("name", openstack.Proxy(504, "")), http.StatusUnauthorized},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, openstack.Options{})
			rule := cloud.Interceptor().Inject(tc.op, simserver.Always(), tc.fault)
			if got := send(t, cloud, "GET", tc.path, ""); got.Status != tc.want || rule.Hits() != 1 {
				t.Errorf("%d %s, want %d", got.Status, got.Body, tc.want)
			}
		})
	}
}
