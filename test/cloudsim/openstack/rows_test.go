package openstack_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
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
		must(t, err)
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
