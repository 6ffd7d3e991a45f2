package openstack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

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
			"only Nova has a version in its URL",
			openstack.Catalog{},
			"RegionOne",
			[]string{"/compute/v2.1/", "/network/", "/load-balancer/"},
		},
		"versioned": {
			"a version in each URL must not be doubled",
			openstack.Catalog{Style: openstack.CatalogVersioned},
			"",
			[]string{"/compute/v2.1/", "/network/v2.0/", "/load-balancer/v2.0/"},
		},
		"second region": {
			"each region has services of its own",
			openstack.Catalog{},
			"RegionTwo",
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

// TestUnversionedCatalog has an endpoint of Nova without a version, to which
// gophercloud adds none: the 404 is not about a server.
func TestUnversionedCatalog(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{Catalog: openstack.Catalog{Style: openstack.CatalogUnversioned}})
	cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	client := compute(t, connect(t, cloud, openstack.UserCCM), "")
	if _, err := servers.List(client, nil).AllPages(t.Context()); err == nil || cloud.Interceptor().Count("nova.ListVersionChoices") != 1 {
		t.Errorf("list without a version: %v, want the versions, 300", err)
	}
	client.ResourceBase = client.Endpoint + "v2.1/"
	pages, err := servers.List(client, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list, err := servers.ExtractServers(pages); err != nil || len(list) != 1 {
		t.Errorf("%d servers at %s, %v; want 1", len(list), client.Endpoint, err)
	}
	if cloud.Interceptor().Count("nova.ListVersions")+cloud.Interceptor().Count("nova.ShowVersion") == 0 {
		t.Error("no version document was read")
	}
}

// TestCatalogsThatLackSomething leaves services, regions and interfaces out.
func TestCatalogsThatLackSomething(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		catalog openstack.Catalog
		opts    gophercloud.EndpointOpts
		want    string // of the endpoint of Octavia; empty for an error
	}{
		"all there":         {"", openstack.Catalog{}, gophercloud.EndpointOpts{Region: "RegionOne"}, "/load-balancer/"},
		"no load balancing": {"clouds without Octavia", openstack.Catalog{Without: []string{"load-balancer"}}, gophercloud.EndpointOpts{}, ""},
		"no regions":        {"a region can then not be chosen", openstack.Catalog{NoRegion: true}, gophercloud.EndpointOpts{Region: "RegionOne"}, ""},
		"public alone":      {"", openstack.Catalog{Interfaces: []string{"public"}}, gophercloud.EndpointOpts{Availability: gophercloud.AvailabilityInternal}, ""},
		"internal":          {"", openstack.Catalog{}, gophercloud.EndpointOpts{Availability: gophercloud.AvailabilityInternal}, "/internal/load-balancer/"},
		"no region wanted":  {"the first one of the catalog", openstack.Catalog{}, gophercloud.EndpointOpts{}, "/load-balancer/"},
		"another order":     {"of another Keystone node", openstack.Catalog{Reverse: true}, gophercloud.EndpointOpts{}, "/RegionTwo/load-balancer/"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}, Catalog: tc.catalog})
			client, err := gopheropenstack.NewLoadBalancerV2(connect(t, cloud, openstack.UserCCM), tc.opts)
			if tc.want == "" {
				if err == nil {
					t.Errorf("%s: endpoint %s, want an error", tc.reason, client.Endpoint)
				}

				return
			}
			if err != nil || client.Endpoint != cloud.URL()+tc.want {
				t.Errorf("%s: endpoint %s, %v; want %s", tc.reason, client.Endpoint, err, tc.want)
			}
		})
	}
}

// TestRegionsAreApart has a server in each of two regions.
func TestRegionsAreApart(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1", Region: "RegionTwo"})
	client := connect(t, cloud, openstack.UserCCM)
	if _, err := servers.Get(t.Context(), compute(t, client, "RegionOne"), id).Extract(); status(err) != 404 {
		t.Errorf("server in the other region: %v, want 404", err)
	}
	if _, err := servers.Get(t.Context(), compute(t, client, "RegionTwo"), id).Extract(); err != nil {
		t.Error(err)
	}
	if got := cloud.Requests("nova.ShowServer"); len(got) != 2 || got[0].Region != "RegionOne" || got[1].Region != "RegionTwo" || got[1].Interface != "public" {
		t.Errorf("requests = %+v", got)
	}
}
