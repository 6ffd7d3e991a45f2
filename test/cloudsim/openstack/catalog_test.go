package openstack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestCatalogLeadsToEveryService(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		catalog openstack.Catalog
		region  string
		want    []string // endpoints of compute, network, load-balancer, below the URL
	}{
		"typical": {
			"only Nova has a version in its URL", openstack.Catalog{}, "RegionOne",
			[]string{"/compute/v2.1/", "/network/", "/load-balancer/"},
		},
		"versioned": {
			"a version in each URL must not be doubled", openstack.Catalog{Style: openstack.CatalogVersioned}, "",
			[]string{"/compute/v2.1/", "/network/v2.0/", "/load-balancer/v2.0/"},
		},
		"second region": {
			"each region has services of its own", openstack.Catalog{}, "RegionTwo",
			[]string{"/RegionTwo/compute/v2.1/", "/RegionTwo/network/", "/RegionTwo/load-balancer/"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}, Catalog: tc.catalog})
			client := connect(t, cloud, openstack.UserCCM)
			got := []string{
				compute(t, client, tc.region).Endpoint, network(t, client, tc.region).Endpoint,
				loadBalancer(t, client, tc.region).Endpoint,
			}
			for i := range got {
				got[i] = got[i][len(cloud.URL()):]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: endpoints (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
