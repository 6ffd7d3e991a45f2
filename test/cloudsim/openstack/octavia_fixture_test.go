package openstack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	testclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// lbCloud is a cloud with a network, whose clock a test steps.
type lbCloud struct {
	*openstack.Cloud

	t                             *testing.T
	clock                         *testclock.FakePassiveClock
	network, subnet, subnet6      string
	external, outside, otherLAN   string
	client, reader, other, admins *gophercloud.ServiceClient
}

// startLB runs a cloud with a network with IPv4 and IPv6, an external one and a
// router. No read is stale, so that each call shows what the rule under test does.
func startLB(t *testing.T, opts openstack.Options) *lbCloud {
	t.Helper()
	if opts.Clock == nil {
		opts.Clock = testclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	}
	opts.StaleReads = new(openstack.StaleReads) // each write is read back at once
	c := &lbCloud{Cloud: start(t, opts), t: t, clock: opts.Clock.(*testclock.FakePassiveClock)}
	c.network = c.AddNetwork(openstack.NetworkSpec{Name: "private"})
	c.subnet = c.AddSubnet(openstack.SubnetSpec{Network: c.network, CIDR: "10.0.0.0/24", Name: "v4"})
	c.subnet6 = c.AddSubnet(openstack.SubnetSpec{Network: c.network, CIDR: "fd00::/64", Name: "v6", SLAAC: true})
	c.external = c.AddNetwork(openstack.NetworkSpec{Name: "public", External: true})
	c.outside = c.AddSubnet(openstack.SubnetSpec{Network: c.external, CIDR: "192.0.2.0/24"})
	lan := c.AddNetwork(openstack.NetworkSpec{Name: "other", Project: openstack.ProjectOther})
	c.otherLAN = c.AddSubnet(openstack.SubnetSpec{Network: lan, CIDR: "10.1.0.0/24"})
	c.AddRouter(openstack.RouterSpec{Name: "router", External: c.external, Subnets: []string{c.subnet}})
	c.client = loadBalancer(t, connect(t, c.Cloud, openstack.UserCCM), "")
	c.reader = loadBalancer(t, connect(t, c.Cloud, openstack.UserReader), "")
	c.other = loadBalancer(t, connect(t, c.Cloud, openstack.UserOther), "")
	c.admins = loadBalancer(t, connect(t, c.Cloud, openstack.UserOperator), "")

	return c
}

// lbResponse is a response of Octavia: its status, its body, and the text of an error.
type lbResponse struct {
	status int
	body   map[string]any
	fault  string
}

// do sends a request with gophercloud and a body in JSON, in which $name is a value.
func (c *lbCloud) do(client *gophercloud.ServiceClient, method, path, body string) lbResponse {
	c.t.Helper()
	opts := &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200, 201, 202, 204}}
	if body != "" {
		opts.JSONBody = json.RawMessage(body)
	}
	response, err := client.Request(c.t.Context(), method, client.ServiceURL("lbaas")+path, opts)
	if failed, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		var fault struct{ Faultstring, Description string }
		if err := json.Unmarshal(failed.Body, &fault); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, path, err, failed.Body)
		}

		return lbResponse{status: failed.Actual, fault: fault.Faultstring + fault.Description}
	}
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	out := lbResponse{status: response.StatusCode}
	if err := json.NewDecoder(response.Body).Decode(&out.body); err != nil && !errors.Is(err, io.EOF) {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}

	return out
}

// post, put, del and get are requests of the user ccm.
func (c *lbCloud) post(path, body string) lbResponse {
	return c.do(c.client, http.MethodPost, path, body)
}

func (c *lbCloud) put(path, body string) lbResponse {
	return c.do(c.client, http.MethodPut, path, body)
}

func (c *lbCloud) del(path string) lbResponse { return c.do(c.client, http.MethodDelete, path, "") }
func (c *lbCloud) get(path string) lbResponse { return c.do(c.client, http.MethodGet, path, "") }

// settle steps the clock until everything has happened.
func (c *lbCloud) settle() {
	for range 3 {
		c.clock.SetTime(c.clock.Now().Add(5 * time.Minute))
		c.LoadBalancers()
	}
}

// made is the ID in a response to a creation, which must be 201; the change is over.
func (c *lbCloud) made(a lbResponse, key string) string {
	c.t.Helper()
	if a.status != http.StatusCreated {
		c.t.Fatalf("create %s: %d %s", key, a.status, a.fault)
	}
	c.settle()

	return a.body[key].(map[string]any)["id"].(string)
}

// lb adds a load balancer by the API, with parts in JSON: `"listeners":[…]`.
func (c *lbCloud) lb(parts string) string {
	c.t.Helper()
	if parts != "" {
		parts = "," + parts
	}

	return c.made(c.post("/loadbalancers", fmt.Sprintf(`{"loadbalancer":{"name":"lb","vip_subnet_id":%q%s}}`, c.subnet, parts)), "loadbalancer")
}

// status is the provisioning status of an object.
func (c *lbCloud) status(path string) string {
	c.t.Helper()
	a := c.get(path)
	for _, o := range a.body {
		return o.(map[string]any)["provisioning_status"].(string)
	}

	return fmt.Sprint(a.status)
}

// refusal is a request that is refused.
type refusal struct {
	reason, method, path, body string
	status                     int
	fault                      string // a part of the message
}

// state is the state of the cloud, without the ports of load balancers: those of
// refused ones stay.
func (c *lbCloud) state() string {
	return strings.Join(slices.DeleteFunc(strings.Split(c.Dump(), "\n"), func(line string) bool {
		return strings.Contains(line, "port octavia-lb-") || strings.Contains(line, "port ovn-lb-vip-")
	}), "\n")
}

// refuses sends each request, and checks its refusal and that nothing has changed.
func (c *lbCloud) refuses(replace *strings.Replacer, cases map[string]refusal) {
	c.t.Helper()
	for name, tc := range cases {
		before := c.state()
		got := c.do(c.client, tc.method, replace.Replace(tc.path), replace.Replace(tc.body))
		if fault := replace.Replace(tc.fault); got.status != tc.status || !strings.Contains(got.fault, fault) {
			c.t.Errorf("%s: %s: got %d %q, want %d %q", name, tc.reason, got.status, got.fault, tc.status, fault)
		}
		if after := c.state(); after != before {
			c.t.Errorf("%s: %s: state changed from\n%s\nto\n%s", name, tc.reason, before, after)
		}
	}
}

// refRequest is a request whose refusals are no errors.
func refRequest() *gophercloud.RequestOpts {
	return &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200, 403, 404}}
}
