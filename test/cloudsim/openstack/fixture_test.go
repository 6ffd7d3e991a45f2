package openstack_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// start runs a cloud until the end of the test.
func start(t *testing.T, opts openstack.Options) *openstack.Cloud {
	t.Helper()
	cloud, err := openstack.Start(opts)
	must(t, err)
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return cloud
}

// connect logs in as a user with its password.
func connect(t *testing.T, cloud *openstack.Cloud, user string) *gophercloud.ProviderClient {
	t.Helper()

	return login(t, cloud, cloud.AuthOptions(user))
}

// login logs in.
func login(t *testing.T, cloud *openstack.Cloud, options gophercloud.AuthOptions) *gophercloud.ProviderClient {
	t.Helper()
	client, err := cloud.Connect(t.Context(), options)
	if err != nil {
		t.Fatalf("log in: %v", err)
	}
	client.HTTPClient.Timeout = 30 * time.Second
	t.Cleanup(client.HTTPClient.CloseIdleConnections)

	return client
}

// compute returns a client of Nova.
func compute(t *testing.T, client *gophercloud.ProviderClient, region string) *gophercloud.ServiceClient {
	t.Helper()
	c, err := gopheropenstack.NewComputeV2(client, gophercloud.EndpointOpts{Region: region})
	must(t, err)

	return c
}

// network returns a client of Neutron.
func network(t *testing.T, client *gophercloud.ProviderClient, region string) *gophercloud.ServiceClient {
	t.Helper()
	c, err := gopheropenstack.NewNetworkV2(client, gophercloud.EndpointOpts{Region: region})
	must(t, err)

	return c
}

// loadBalancer returns a client of Octavia.
func loadBalancer(t *testing.T, client *gophercloud.ProviderClient, region string) *gophercloud.ServiceClient {
	t.Helper()
	c, err := gopheropenstack.NewLoadBalancerV2(client, gophercloud.EndpointOpts{Region: region})
	must(t, err)

	return c
}

// send sends a request and returns the status and the body of the response. The body is nil
// unless it is an object.
func send(t *testing.T, client *gophercloud.ServiceClient, method, path, body string) (status int, out map[string]any) {
	t.Helper()
	opts := &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200, 201, 202, 204}}
	if body != "" {
		opts.JSONBody = json.RawMessage(body)
	}
	response, err := client.Request(t.Context(), method, client.ServiceURL(path), opts)
	if failed, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		_ = json.Unmarshal(failed.Body, &out) // some are no objects

		return failed.Actual, out
	}
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	_ = json.NewDecoder(response.Body).Decode(&out) // some are empty

	return response.StatusCode, out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
