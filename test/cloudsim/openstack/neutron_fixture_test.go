package openstack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// nowhere is the ID of nothing.
const nowhere = "11111111-1111-4111-8111-111111111111"

// site is a cloud with an external network, a private network with IPv4 and
// stateless IPv6 behind a router, and a shared network.
type site struct {
	cloud *openstack.Cloud
	vars  map[string]string // IDs by name: private, private4, private6, router, public, public4, shared, shared4
	users map[string]*gophercloud.ServiceClient
}

// newSite makes a site. Stale reads are off, as its tests compare each response with
// what was written right before.
func newSite(t *testing.T, opts openstack.Options) *site {
	t.Helper()
	opts.StaleReads = new(openstack.StaleReads{})
	cloud := start(t, opts)
	s := &site{cloud: cloud, vars: map[string]string{"nowhere": nowhere}, users: make(map[string]*gophercloud.ServiceClient)}
	s.vars["public"] = cloud.AddNetwork(openstack.NetworkSpec{Name: "public", External: true, Default: true})
	s.vars["public4"] = cloud.AddSubnet(openstack.SubnetSpec{
		Network: s.vars["public"], CIDR: "198.51.100.0/24", Pools: []string{"198.51.100.10-198.51.100.20"},
	})
	s.vars["private"] = cloud.AddNetwork(openstack.NetworkSpec{Name: "private"})
	s.vars["private4"] = cloud.AddSubnet(openstack.SubnetSpec{Network: s.vars["private"], CIDR: "10.0.0.0/24", Name: "private-v4"})
	s.vars["private6"] = cloud.AddSubnet(openstack.SubnetSpec{Network: s.vars["private"], CIDR: "fd00:1::/64", SLAAC: true})
	s.vars["shared"] = cloud.AddNetwork(openstack.NetworkSpec{Name: "shared", Shared: true})
	s.vars["shared4"] = cloud.AddSubnet(openstack.SubnetSpec{Network: s.vars["shared"], CIDR: "10.90.0.0/24"})
	s.vars["router"] = cloud.AddRouter(openstack.RouterSpec{
		Name: "router", External: s.vars["public"], Subnets: []string{s.vars["private4"], s.vars["private6"]},
	})
	s.vars["ccm"] = cloud.ProjectID(openstack.ProjectCCM)
	s.vars["admin"] = cloud.ProjectID(openstack.ProjectAdmin)

	return s
}

// as returns the client of a user.
func (s *site) as(t *testing.T, user string) *gophercloud.ServiceClient {
	t.Helper()
	if s.users[user] == nil {
		s.users[user] = network(t, connect(t, s.cloud, user), "")
	}

	return s.users[user]
}

// ccm returns the client of the user ccm.
func (s *site) ccm(t *testing.T) *gophercloud.ServiceClient {
	t.Helper()

	return s.as(t, openstack.UserCCM)
}

// fill replaces $name by the value of a variable.
func (s *site) fill(text string) string {
	for name, value := range s.vars {
		text = strings.ReplaceAll(text, "$"+name+"$", value)
	}

	return text
}

// neutronResponse is a response of Neutron.
type neutronResponse struct {
	status        int
	kind, message string // of an error
	body          map[string]any
}

// id returns the ID of the object in the response.
func (r neutronResponse) id() string {
	for _, value := range r.body {
		if o, ok := value.(map[string]any); ok {
			if id, ok := o["id"].(string); ok {
				return id
			}
		}
	}

	return ""
}

// object returns the object in the response.
func (r neutronResponse) object() map[string]any {
	for _, value := range r.body {
		if o, ok := value.(map[string]any); ok {
			return o
		}
	}

	return nil
}

// call sends a request as a user, in which $name$ stands for a variable.
func (s *site) call(t *testing.T, user, method, path, body string, header ...string) neutronResponse {
	t.Helper()
	client := s.as(t, user)
	opts := &gophercloud.RequestOpts{KeepResponseBody: true, MoreHeaders: map[string]string{}, OkCodes: everyCode}
	if body != "" {
		opts.RawBody = strings.NewReader(s.fill(body))
		opts.MoreHeaders["Content-Type"] = "application/json"
	}
	for i := 0; i < len(header); i += 2 {
		opts.MoreHeaders[header[i]] = s.fill(header[i+1])
	}
	response, err := client.Request(t.Context(), method, client.ServiceURL(s.fill(path)), opts)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := neutronResponse{status: response.StatusCode}
	_ = json.NewDecoder(bytes.NewReader(raw)).Decode(&out.body)
	if problem, ok := out.body["NeutronError"].(map[string]any); ok {
		out.kind, _ = problem["type"].(string)
		out.message, _ = problem["message"].(string)
	}

	return out
}

// everyCode are the statuses that [site.call] does not turn into an error.
var everyCode = []int{
	http.StatusOK, http.StatusCreated, http.StatusNoContent, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound,
	http.StatusMethodNotAllowed, http.StatusConflict, http.StatusPreconditionFailed, http.StatusInternalServerError,
}

// step is a request and what the response must be, as a Neutron of Zed gave it.
type step struct {
	user, method, path, body string // no user is ccm
	status                   int
	kind, message            string // of an error; an empty message is any
	save                     string // the variable for the ID of what was made
}

// run runs steps one after the other.
func (s *site) run(t *testing.T, steps ...step) {
	t.Helper()
	for _, step := range steps {
		user := step.user
		if user == "" {
			user = openstack.UserCCM
		}
		got := s.call(t, user, step.method, step.path, step.body)
		if got.status != step.status || got.kind != step.kind || (step.message != "" && got.message != s.fill(step.message)) {
			t.Errorf("%s %s %s %s:\n got %d %s: %s\nwant %d %s: %s", user, step.method, step.path, step.body,
				got.status, got.kind, got.message, step.status, step.kind, s.fill(step.message))
		}
		if step.save != "" {
			s.vars[step.save] = got.id()
		}
	}
}

// port adds a port of the project ccm and returns its ID.
func (s *site) port(t *testing.T, name string, ips ...string) string {
	t.Helper()
	s.vars[name] = s.cloud.AddPort(openstack.PortSpec{Network: s.vars["private"], Name: name, IPs: ips})

	return s.vars[name]
}

// wantNeutronError checks the status and the type of an error of gophercloud.
func wantNeutronError(t *testing.T, err error, status int, kind string) {
	t.Helper()
	var unexpected gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &unexpected) {
		t.Fatalf("error is %v, want status %d", err, status)
	}
	var body struct{ NeutronError struct{ Type string } }
	if err := json.Unmarshal(unexpected.Body, &body); err != nil {
		t.Fatalf("body %s: %v", unexpected.Body, err)
	}
	if unexpected.Actual != status || body.NeutronError.Type != kind {
		t.Errorf("%d %s, want %d %s", unexpected.Actual, unexpected.Body, status, kind)
	}
}
