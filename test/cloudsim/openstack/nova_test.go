package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/instanceactions"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

const absent = "5783eb65-9208-4511-96f6-000000000000"

// nova returns a client of Nova as a user, in a microversion unless that is empty.
func nova(t *testing.T, cloud *openstack.Cloud, user, version string) *gophercloud.ServiceClient {
	t.Helper()
	client := compute(t, connect(t, cloud, user), "")
	client.Microversion = version

	return client
}

// names returns the names of the servers of a list, in its order; those without a
// name are their status.
func names(t *testing.T, client *gophercloud.ServiceClient, query string) []string {
	t.Helper()
	body, _ := getJSON(t, client, "servers/detail"+query)
	rows, _ := body["servers"].([]any)
	found := []string{}
	for _, row := range rows {
		server, _ := row.(map[string]any)
		name, ok := server["name"].(string)
		if !ok {
			name, _ = server["status"].(string)
		}
		found = append(found, name)
	}

	return found
}

// getJSON reads a path below the endpoint.
func getJSON(t *testing.T, client *gophercloud.ServiceClient, path string) (map[string]any, error) {
	t.Helper()
	var body map[string]any
	response, err := client.Get(t.Context(), client.Endpoint+path, &body, nil)
	if err == nil {
		_ = response.Body.Close()
	}

	return body, err
}

func sortedFields(o any) []string {
	fields := []string{}
	m, _ := o.(map[string]any)
	for key := range m {
		fields = append(fields, key)
	}
	slices.Sort(fields)

	return fields
}

func TestNovaVersions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		opts    openstack.Options
		header  []string
		status  int
		version string // in the response
		message string
	}{
		"default":     {"without a header it is the lowest one", openstack.Options{}, nil, 200, "2.1", ""},
		"wanted":      {"", openstack.Options{}, []string{"X-OpenStack-Nova-API-Version", "2.69"}, 200, "2.69", ""},
		"by service":  {"", openstack.Options{}, []string{"OpenStack-API-Version", "compute 2.69"}, 200, "2.69", ""},
		"of another":  {"the header is for another service", openstack.Options{}, []string{"OpenStack-API-Version", "volume 3.1"}, 200, "2.1", ""},
		"latest":      {"", openstack.Options{}, []string{"OpenStack-API-Version", "compute latest"}, 200, "2.93", ""},
		"above":       {"406 with what was wanted", openstack.Options{}, []string{"OpenStack-API-Version", "compute 2.94"}, 406, "2.94", "Version 2.94 is not supported by the API. Minimum is 2.1 and maximum is 2.93."},
		"old cloud":   {"profile bare has no microversions", openstack.Options{Profile: openstack.Bare}, []string{"OpenStack-API-Version", "compute 2.47"}, 406, "2.47", "Version 2.47 is not supported by the API. Minimum is 2.1 and maximum is 2.1."},
		"below":       {"", openstack.Options{}, []string{"OpenStack-API-Version", "compute 2.0"}, 406, "2.0", "Version 2.0 is not supported by the API. Minimum is 2.1 and maximum is 2.93."},
		"other major": {"", openstack.Options{}, []string{"OpenStack-API-Version", "compute 3.1"}, 406, "3.1", "Version 3.1 is not supported by the API. Minimum is 2.1 and maximum is 2.93."},
		"no version":  {"", openstack.Options{}, []string{"X-OpenStack-Nova-API-Version", "abc"}, 400, "", "API Version String abc is of invalid format. Must be of format MajorNum.MinorNum."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, tc.opts)
			token := connect(t, cloud, openstack.UserCCM).Token()
			got := send(t, cloud, "GET", "/compute/v2.1/servers", "", append(tc.header, "X-Auth-Token", token)...)
			if got.Status != tc.status || (tc.message != "" && got.message() != tc.message) {
				t.Errorf("%s: %d %s", tc.reason, got.Status, got.Body)
			}
			if tc.version != "" && (got.Header.Get("X-OpenStack-Nova-API-Version") != tc.version || got.Header.Get("OpenStack-API-Version") != "compute "+tc.version) {
				t.Errorf("%s: the response is in version %q and %q, want %s", tc.reason,
					got.Header.Get("X-OpenStack-Nova-API-Version"), got.Header.Get("OpenStack-API-Version"), tc.version)
			}
		})
	}
	cloud := start(t, openstack.Options{})
	for _, path := range []string{"/compute", "/compute/v2.1/"} {
		got := send(t, cloud, "GET", path, "")
		if got.Status != 200 || !strings.Contains(got.Body, `"version":"2.93"`) {
			t.Errorf("GET %s without a token = %d %s", path, got.Status, got.Body)
		}
	}
}

// serverFields are those of a server in responses of Zed.
var serverFields = []string{
	"OS-DCF:diskConfig", "OS-EXT-AZ:availability_zone", "OS-EXT-STS:power_state", "OS-EXT-STS:task_state",
	"OS-EXT-STS:vm_state", "OS-SRV-USG:launched_at", "OS-SRV-USG:terminated_at", "accessIPv4", "accessIPv6",
	"addresses", "config_drive", "created", "flavor", "hostId", "id", "image", "key_name", "links", "metadata", "name",
	"os-extended-volumes:volumes_attached", "progress", "security_groups", "status", "tenant_id", "updated", "user_id",
}

func TestServerDocument(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id := cloud.AddServer(openstack.ServerSpec{
		Name: "node-1", Zone: "az-1", Metadata: map[string]string{"hostname": "n1"}, AccessIPv4: "203.0.113.1",
		Networks: []openstack.ServerNetwork{{Name: "private", IPs: []string{"10.0.0.4", "fd00::4"}, FloatingIP: "172.24.0.9"}},
	})
	cases := map[string]struct {
		more   []string // fields besides those of 2.1
		flavor []string
	}{
		"2.1":  {nil, []string{"id", "links"}},
		"2.9":  {[]string{"locked"}, []string{"id", "links"}},
		"2.26": {[]string{"locked", "description", "tags"}, []string{"id", "links"}},
		"2.47": {[]string{"locked", "description", "tags"}, []string{"disk", "ephemeral", "extra_specs", "original_name", "ram", "swap", "vcpus"}},
		"2.69": {[]string{"locked", "description", "tags", "trusted_image_certificates"}, []string{"disk", "ephemeral", "extra_specs", "original_name", "ram", "swap", "vcpus"}},
		"2.93": {
			[]string{"locked", "description", "tags", "trusted_image_certificates", "server_groups", "locked_reason", "OS-EXT-SRV-ATTR:hostname"},
			[]string{"disk", "ephemeral", "extra_specs", "original_name", "ram", "swap", "vcpus"},
		},
	}
	for version, tc := range cases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			body, err := getJSON(t, nova(t, cloud, openstack.UserCCM, version), "servers/"+id)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Sorted(slices.Values(slices.Concat(serverFields, tc.more)))
			if diff := cmp.Diff(want, sortedFields(body["server"])); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			server, _ := body["server"].(map[string]any)
			if diff := cmp.Diff(tc.flavor, sortedFields(server["flavor"])); diff != "" {
				t.Errorf("fields of the flavor (-want +got):\n%s", diff)
			}
		})
	}
	server, err := servers.Get(t.Context(), nova(t, cloud, openstack.UserCCM, ""), id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if server.Status != "ACTIVE" || server.AvailabilityZone != "az-1" || server.AccessIPv4 != "203.0.113.1" || server.Metadata["hostname"] != "n1" {
		t.Errorf("server = %+v", server)
	}
	kinds := map[string]string{}
	list, _ := server.Addresses["private"].([]any)
	for _, a := range list {
		address, _ := a.(map[string]any)
		kinds[fmt.Sprint(address["addr"])] = fmt.Sprint(address["OS-EXT-IPS:type"], " ", address["version"])
	}
	if diff := cmp.Diff(map[string]string{"10.0.0.4": "fixed 4", "fd00::4": "fixed 6", "172.24.0.9": "floating 4"}, kinds); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// TestEveryStatus shows each status of Nova as it is.
func TestEveryStatus(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	client := nova(t, cloud, openstack.UserCCM, "2.69")
	for _, want := range openstack.Statuses() {
		if want == "DELETED" {
			continue // is 404 alone, see TestDeletedServers
		}
		id := cloud.AddServer(openstack.ServerSpec{Name: want, Status: want})
		server, err := servers.Get(t.Context(), client, id).Extract()
		if err != nil || server.Status != want {
			t.Errorf("server with status %s = %+v, %v", want, server, err)
		}
	}
	listed := names(t, client, "")
	if slices.Contains(listed, "SOFT_DELETED") || len(listed) != len(openstack.Statuses())-2 {
		t.Errorf("the list has %v, want all but the soft deleted one", listed)
	}
}

func TestServersBeforeTheyAreOnAHost(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	client := nova(t, cloud, openstack.UserCCM, "")
	network := []openstack.ServerNetwork{{Name: "private", IPs: []string{"10.0.0.4"}}}
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1", Status: "BUILD", Zone: "az-1", Networks: network})
	cloud.AddServer(openstack.ServerSpec{Name: "node-2"})
	check := func(status, zone string, addresses int) {
		t.Helper()
		server, err := servers.Get(t.Context(), client, id).Extract()
		if err != nil || server.Status != status || server.AvailabilityZone != zone || len(server.Addresses) != addresses {
			t.Errorf("server = %+v, %v; want %s in zone %q with %d networks", server, err, status, zone, addresses)
		}
	}
	check("BUILD", "", 0)
	if got := names(t, client, ""); got[0] != "node-1" {
		t.Errorf("list = %v, want those in BUILD first", got)
	}
	cloud.SetServerStatus(id, "ERROR")
	check("ERROR", "", 0)
	cloud.SetServerStatus(id, "BUILD")
	cloud.SetServerStatus(id, "ACTIVE")
	check("ACTIVE", "az-1", 1)
}

func TestProjectsOfServers(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	own := cloud.AddServer(openstack.ServerSpec{Name: "own"})
	foreign := cloud.AddServer(openstack.ServerSpec{Name: "foreign", Project: openstack.ProjectOther})
	cases := map[string]struct {
		reason      string
		user, query string
		names       []string // nil when the list is refused
		foreign     int      // status of the other project's server
	}{
		"member":               {"another project's server is not there", openstack.UserCCM, "", []string{"own"}, 404},
		"reader":               {"", openstack.UserReader, "", []string{"own"}, 404},
		"operator":             {"lists are of the project even for an administrator", openstack.UserOperator, "", []string{"own"}, 200},
		"operator, everything": {"", openstack.UserOperator, "?all_tenants=1", []string{"foreign", "own"}, 200},
		"member, everything":   {"policy", openstack.UserCCM, "?all_tenants=1", nil, 404},
		"tenant without all":   {"tenant_id alone is ignored", openstack.UserOperator, "?tenant_id=" + cloud.ProjectID("other"), []string{"own"}, 200},
		"one tenant of all":    {"", openstack.UserOperator, "?all_tenants=1&tenant_id=" + cloud.ProjectID("other"), []string{"foreign"}, 200},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := nova(t, cloud, tc.user, "")
			body, err := getJSON(t, client, "servers/detail"+tc.query)
			if tc.names == nil {
				if status(err) != http.StatusForbidden {
					t.Errorf("%s: %v, %v; want 403", tc.reason, body, err)
				}
			} else if diff := cmp.Diff(tc.names, names(t, client, tc.query)); diff != "" {
				t.Errorf("%s: list (-want +got):\n%s", tc.reason, diff)
			}
			_, err = servers.Get(t.Context(), client, foreign).Extract()
			if got := status(err); got != tc.foreign && (got != 0 || tc.foreign != 200) {
				t.Errorf("%s: the other project's server: %v, want %d", tc.reason, err, tc.foreign)
			}
			if _, err := servers.Get(t.Context(), client, own).Extract(); err != nil {
				t.Errorf("%s: own server: %v", tc.reason, err)
			}
		})
	}
	client := nova(t, cloud, openstack.UserCCM, "")
	for _, id := range []string{absent, "abc"} {
		got := send(t, cloud, "GET", "/compute/v2.1/servers/"+id, "", "X-Auth-Token", client.Token())
		want := `{"itemNotFound":{"code":404,"message":"Instance ` + id + ` could not be found."}}` + "\n"
		if got.Status != 404 || got.Body != want {
			t.Errorf("GET %s = %d %s", id, got.Status, got.Body)
		}
	}
	if got := send(t, cloud, "GET", "/compute/v2.1/nothing", "", "X-Auth-Token", client.Token()); got.Status != 404 || strings.Contains(got.Body, "itemNotFound") {
		t.Errorf("an unknown path = %d %s, want a 404 that is not about a server", got.Status, got.Body)
	}
}

func TestWritesOfAReader(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	reader, other := nova(t, cloud, openstack.UserReader, ""), nova(t, cloud, openstack.UserOther, "")
	if err := servers.Delete(t.Context(), reader, id).ExtractErr(); status(err) != http.StatusForbidden {
		t.Errorf("delete by a reader: %v, want 403", err)
	}
	if err := servers.Delete(t.Context(), other, id).ExtractErr(); status(err) != http.StatusNotFound {
		t.Errorf("delete by another project: %v, want 404", err)
	}
	if diff := cmp.Diff(map[string]int{"nova.DeleteServer": 2}, cloud.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	cloud.SetDenied("nova.Show*")
	if _, err := servers.Get(t.Context(), reader, id).Extract(); status(err) != http.StatusForbidden {
		t.Errorf("a denied call: %v, want 403", err)
	}
}

func TestPagesOfServers(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{PageSize: 3})
	ids := map[string]string{}
	for i := range 6 {
		name := fmt.Sprintf("node-%d", i)
		ids[name] = cloud.AddServer(openstack.ServerSpec{Name: name, Project: map[bool]string{true: "other"}[i == 5]})
	}
	deleted := cloud.AddServer(openstack.ServerSpec{Name: "node-9"})
	cloud.DeleteServer(deleted)
	client := nova(t, cloud, openstack.UserCCM, "")
	cases := map[string]struct {
		reason, query string
		want          []string
		next          string // the query of the next link
		status        int
	}{
		"first":              {"newest first", "", []string{"node-4", "node-3", "node-2"}, "marker=" + ids["node-2"], 200},
		"second":             {"not full: no link", "?marker=" + ids["node-2"], []string{"node-1", "node-0"}, "", 200},
		"limit above":        {"is lowered without a word", "?limit=100", []string{"node-4", "node-3", "node-2"}, "limit=100&marker=" + ids["node-2"], 200},
		"full last page":     {"has a link, too", "?limit=2&marker=" + ids["node-2"], []string{"node-1", "node-0"}, "limit=2&marker=" + ids["node-0"], 200},
		"behind the end":     {"", "?marker=" + ids["node-0"], []string{}, "", 200},
		"no limit":           {"nothing", "?limit=0", []string{}, "", 200},
		"filters stay":       {"in the link", "?limit=1&name=node", []string{"node-4"}, "limit=1&name=node&marker=" + ids["node-4"], 200},
		"deleted marker":     {"there is a record of it", "?marker=" + deleted, []string{"node-4", "node-3", "node-2"}, "marker=" + ids["node-2"], 200},
		"marker of another":  {"there is a record of it", "?marker=" + ids["node-5"], []string{"node-4", "node-3", "node-2"}, "marker=" + ids["node-2"], 200},
		"unknown marker":     {"", "?marker=" + absent, nil, "", 400},
		"bad limit":          {"", "?limit=-1", nil, "", 400},
		"sorted":             {"", "?sort_key=display_name&sort_dir=asc", []string{"node-0", "node-1", "node-2"}, "sort_dir=asc&sort_key=display_name&marker=" + ids["node-2"], 200},
		"sorted by nonsense": {"", "?sort_key=foo", nil, "", 400},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := getJSON(t, client, "servers/detail"+tc.query)
			if tc.status != 200 {
				if status(err) != tc.status {
					t.Errorf("%s: %v, want %d", tc.reason, err, tc.status)
				}

				return
			}
			if diff := cmp.Diff(tc.want, names(t, client, tc.query)); diff != "" {
				t.Errorf("%s: list (-want +got):\n%s", tc.reason, diff)
			}
			next := ""
			if links, _ := body["servers_links"].([]any); len(links) > 0 {
				first, _ := links[0].(map[string]any)
				_, next, _ = strings.Cut(fmt.Sprint(first["href"]), "/servers/detail?")
			}
			if next != tc.next {
				t.Errorf("%s: next = %q, want %q", tc.reason, next, tc.next)
			}
		})
	}
}

func TestFiltersOfServers(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	cloud.AddServer(openstack.ServerSpec{Name: "node-1", Tags: []string{"a", "b"}, Networks: []openstack.ServerNetwork{{Name: "n", IPs: []string{"10.0.0.4"}}}})
	cloud.AddServer(openstack.ServerSpec{Name: "Node-10", Status: "SHUTOFF", Tags: []string{"a"}})
	cloud.AddServer(openstack.ServerSpec{Name: "web", Flavor: "m1.large"})
	all := []string{"web", "Node-10", "node-1"}
	cases := map[string]struct {
		reason, version, query string
		want                   []string
		status                 int
	}{
		"part of a name":     {"a regular expression that is found anywhere", "", "?name=ode-1", []string{"Node-10", "node-1"}, 200},
		"case":               {"MySQL does not tell cases apart", "", "?name=^NODE-1$", []string{"node-1"}, 200},
		"dot":                {"any character", "", "?name=^node.1$", []string{"node-1"}, 200},
		"two names":          {"the last one", "", "?name=node&name=web", []string{"web"}, 200},
		"no expression":      {"", "", "?name=(", nil, 400},
		"status":             {"in any case", "", "?status=shutoff", []string{"Node-10"}, 200},
		"two statuses":       {"either", "", "?status=SHUTOFF&status=ACTIVE", all, 200},
		"unknown status":     {"nothing below 2.38", "", "?status=foo", []string{}, 200},
		"unknown status now": {"refused from 2.38", "2.38", "?status=foo", nil, 400},
		"deleted":            {"for administrators", "", "?status=deleted", nil, 403},
		"unknown key":        {"ignored below 2.75", "2.74", "?foo=bar", all, 200},
		"unknown key now":    {"refused from 2.75", "2.75", "?foo=bar", nil, 400},
		"deleted=true":       {"ignored for users", "", "?deleted=true", all, 200},
		"address":            {"", "", "?ip=10.0.0", []string{"node-1"}, 200},
		"flavor":             {"", "", "?flavor=" + flavorID(t, cloud, "m1.large"), []string{"web"}, 200},
		"tags":               {"all of them", "2.26", "?tags=a,b", []string{"node-1"}, 200},
		"any tag":            {"", "2.26", "?tags-any=b,c", []string{"node-1"}, 200},
		"not all tags":       {"", "2.26", "?not-tags=a,b", []string{"web", "Node-10"}, 200},
		"no tag":             {"", "2.26", "?not-tags-any=a,b", []string{"web"}, 200},
		"tags below 2.26":    {"ignored", "2.25", "?tags=b", all, 200},
		"bad time":           {"", "", "?changes-since=x", nil, 400},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := nova(t, cloud, openstack.UserCCM, tc.version)
			if tc.status != 200 {
				if body, err := getJSON(t, client, "servers/detail"+tc.query); status(err) != tc.status {
					t.Errorf("%s: %v, %v; want %d", tc.reason, body, err, tc.status)
				}

				return
			}
			if diff := cmp.Diff(tc.want, names(t, client, tc.query)); diff != "" {
				t.Errorf("%s: list (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func flavorID(t *testing.T, cloud *openstack.Cloud, name string) string {
	t.Helper()

	return cloud.AddFlavor(openstack.FlavorSpec{Name: name})
}

// TestCellThatIsDown compares the responses about a server of a cell that does not
// respond, with which no list proves anything.
func TestCellThatIsDown(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	here := cloud.AddServer(openstack.ServerSpec{Name: "here"})
	there := cloud.AddServer(openstack.ServerSpec{Name: "there", Cell: "cell2"})
	zoned := cloud.AddServer(openstack.ServerSpec{Name: "zoned", Cell: "cell2", Zone: "az-2"})
	cloud.AddServer(openstack.ServerSpec{Name: "foreign", Cell: "cell2", Project: openstack.ProjectOther})
	cloud.SetCell("", "cell2", openstack.CellDown)
	old, modern := nova(t, cloud, openstack.UserCCM, "2.68"), nova(t, cloud, openstack.UserCCM, "2.69")
	lists := map[string]struct {
		client *gophercloud.ServiceClient
		query  string
		want   []string
	}{
		"below 2.69":      {old, "", []string{"here"}},
		"bare":            {modern, "", []string{"UNKNOWN", "UNKNOWN", "here"}},
		"with a limit":    {modern, "?limit=10", []string{"here"}},
		"with an order":   {modern, "?sort_key=uuid", []string{"here"}},
		"with a filter":   {modern, "?name=e", []string{"here"}},
		"with a marker":   {modern, "?marker=" + here, []string{}},
		"an ignored key":  {modern, "?foo=bar", []string{"UNKNOWN", "UNKNOWN", "here"}},
		"by last changes": {modern, "?changes-since=2020-01-01T00:00:00Z", []string{"here"}},
	}
	for name, tc := range lists {
		if diff := cmp.Diff(tc.want, names(t, tc.client, tc.query)); diff != "" {
			t.Errorf("list %s (-want +got):\n%s", name, diff)
		}
	}
	for _, client := range []*gophercloud.ServiceClient{old, modern} {
		if _, err := getJSON(t, client, "servers?marker="+there); status(err) != 500 {
			t.Errorf("marker in the cell: %v, want 500", err)
		}
		if _, err := getJSON(t, client, "servers/"+there+"/os-instance-actions"); status(err) != 500 {
			t.Errorf("actions of a server in the cell: %v, want 500", err)
		}
	}
	if _, err := servers.Get(t.Context(), old, there).Extract(); status(err) != 500 {
		t.Errorf("server below 2.69: %v, want 500", err)
	}
	body, err := getJSON(t, modern, "servers/"+there)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"OS-EXT-AZ:availability_zone", "OS-EXT-STS:power_state", "created", "flavor", "id", "image", "links", "status", "tenant_id", "user_id",
	}
	if diff := cmp.Diff(want, sortedFields(body["server"])); diff != "" {
		t.Errorf("fields of the server (-want +got):\n%s", diff)
	}
	for id, zone := range map[string]string{there: "UNKNOWN", zoned: "az-2"} {
		server, err := servers.Get(t.Context(), modern, id).Extract()
		if err != nil || server.Status != "UNKNOWN" || server.AvailabilityZone != zone || len(server.Addresses) > 0 {
			t.Errorf("server = %+v, %v; want UNKNOWN in zone %s", server, err, zone)
		}
	}
	row, _ := getJSON(t, modern, "servers")
	list, _ := row["servers"].([]any)
	if diff := cmp.Diff([]string{"id", "links", "status"}, sortedFields(list[0])); diff != "" {
		t.Errorf("fields in the list without details (-want +got):\n%s", diff)
	}
	cloud.SetCell("", "cell2", openstack.CellUp)
	if diff := cmp.Diff([]string{"zoned", "there", "here"}, names(t, modern, "")); diff != "" {
		t.Errorf("list when the cell is back (-want +got):\n%s", diff)
	}
}

// TestFullPageHidesUnknownServers shows that the first page has no room for servers
// of a cell that is down when it is full.
func TestFullPageHidesUnknownServers(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{PageSize: 2})
	for _, name := range []string{"a", "b", "c"} {
		cloud.AddServer(openstack.ServerSpec{Name: name, Cell: "cell-" + name})
	}
	client := nova(t, cloud, openstack.UserCCM, "2.69")
	cloud.SetCell("", "cell-a", openstack.CellDown)
	if diff := cmp.Diff([]string{"c", "b"}, names(t, client, "")); diff != "" {
		t.Errorf("full page (-want +got):\n%s", diff)
	}
	cloud.SetCell("", "cell-b", openstack.CellDown)
	if diff := cmp.Diff([]string{"UNKNOWN", "c"}, names(t, client, "")); diff != "" {
		t.Errorf("page with room for one (-want +got):\n%s", diff)
	}
}

// TestIncompleteMapping shows living servers that are 404.
func TestIncompleteMapping(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	lost := cloud.AddServer(openstack.ServerSpec{Name: "lost"})
	hidden := cloud.AddServer(openstack.ServerSpec{Name: "hidden", Cell: "cell2"})
	cloud.SetServerMapped(lost, false)
	cloud.SetCell("", "cell2", openstack.CellUnknown)
	client := nova(t, cloud, openstack.UserCCM, "2.69")
	for _, id := range []string{lost, hidden} {
		if _, err := servers.Get(t.Context(), client, id).Extract(); status(err) != 404 {
			t.Errorf("server: %v, want 404", err)
		}
		if _, err := instanceactions.List(client, id, nil).AllPages(t.Context()); status(err) != 404 {
			t.Errorf("actions: %v, want 404", err)
		}
	}
	if diff := cmp.Diff([]string{"lost"}, names(t, client, "")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	cloud.SetServerMapped(lost, true)
	if _, err := servers.Get(t.Context(), client, lost).Extract(); err != nil {
		t.Error(err)
	}
}

// TestDeletedServers covers what remains of a server, until it is archived.
func TestDeletedServers(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(begin)
	cloud := start(t, openstack.Options{Clock: clock})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	client := nova(t, cloud, openstack.UserCCM, "")
	modern := nova(t, cloud, openstack.UserCCM, "2.58")
	clock.SetTime(begin.Add(time.Minute))
	if err := servers.Delete(t.Context(), client, id).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	server, err := servers.Get(t.Context(), client, id).Extract()
	if err != nil || server.TaskState != "deleting" || server.Status != "ACTIVE" {
		t.Errorf("server while it is deleted = %+v, %v", server, err)
	}
	clock.SetTime(begin.Add(2 * time.Minute))
	if _, err := servers.Get(t.Context(), client, id).Extract(); status(err) != 404 {
		t.Errorf("deleted server: %v, want 404", err)
	}
	if got := names(t, client, ""); len(got) > 0 {
		t.Errorf("list = %v", got)
	}
	pages, err := servers.List(client, servers.ListOpts{ChangesSince: begin.Add(90 * time.Second).Format(time.RFC3339)}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list, err := servers.ExtractServers(pages); err != nil || len(list) != 1 || list[0].Status != "DELETED" {
		t.Errorf("list by changes-since = %+v, %v; want one DELETED", list, err)
	}
	if got := names(t, client, "?changes-since=2026-03-01T12:03:00Z"); len(got) > 0 {
		t.Errorf("list by a later changes-since = %v", got)
	}
	if _, err := instanceactions.List(client, id, nil).AllPages(t.Context()); status(err) != 404 {
		t.Errorf("actions of a deleted server below 2.21: %v, want 404", err)
	}
	if got := actions(t, modern, id); !slices.Equal(got, []string{"delete", "create"}) {
		t.Errorf("actions of a deleted server = %v, want delete, create", got)
	}
	if _, err := getJSON(t, nova(t, cloud, openstack.UserOther, "2.58"), "servers/"+id+"/os-instance-actions"); status(err) != 404 {
		t.Errorf("actions for another project: %v, want 404", err)
	}
	cloud.SetDenied("nova.ListServerActions")
	if _, err := getJSON(t, modern, "servers/"+id+"/os-instance-actions"); status(err) != 403 {
		t.Errorf("denied actions: %v, want 403", err)
	}
	cloud.SetDenied()
	cloud.ArchiveServers()
	if _, err := getJSON(t, modern, "servers/"+id+"/os-instance-actions"); status(err) != 404 {
		t.Errorf("archived actions: %v, want 404", err)
	}
	if diff := cmp.Diff([]string{}, names(t, client, "?changes-since=2020-01-01T00:00:00Z")); diff != "" {
		t.Errorf("archived server in a list:\n%s", diff)
	}
}

func actions(t *testing.T, client *gophercloud.ServiceClient, id string) []string {
	t.Helper()
	pages, err := instanceactions.List(client, id, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := instanceactions.ExtractInstanceActions(pages)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, a := range list {
		found = append(found, a.Action)
	}

	return found
}

// TestActionsOfServers stops, starts and renames a server by the API.
func TestActionsOfServers(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	client := nova(t, cloud, openstack.UserCCM, "")
	if err := servers.Stop(t.Context(), client, id).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := servers.Stop(t.Context(), client, id).ExtractErr(); status(err) != http.StatusConflict {
		t.Errorf("stop of a stopped server: %v, want 409", err)
	}
	server, err := servers.Update(t.Context(), client, id, servers.UpdateOpts{Name: "node-2"}).Extract()
	if err != nil || server.Name != "node-2" || server.Status != "SHUTOFF" {
		t.Errorf("renamed server = %+v, %v", server, err)
	}
	if diff := cmp.Diff([]string{"stop", "create"}, actions(t, client, id)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"lost server name node-1", "lost server node-1: stop"}, cloud.Leaks()); diff != "" {
		t.Errorf("leaks (-want +got):\n%s", diff)
	}
	if got := send(t, cloud, "POST", "/compute/v2.1/servers/"+id+"/action", `{"foo":null}`, "X-Auth-Token", client.Token()); got.Status != 400 || got.message() != "There is no such action: foo" {
		t.Errorf("unknown action = %d %s", got.Status, got.Body)
	}
}

// TestFlavors covers flavors that a node's label could come from.
func TestFlavors(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	secret := cloud.AddFlavor(openstack.FlavorSpec{Name: "secret", Private: true})
	shared := cloud.AddFlavor(openstack.FlavorSpec{Name: "SCS-2V:8:20", Private: true, Projects: []string{openstack.ProjectCCM}})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1", Flavor: "SCS-2V:8:20"})
	client, admin := nova(t, cloud, openstack.UserCCM, ""), nova(t, cloud, openstack.UserAdmin, "")
	if f, err := flavors.Get(t.Context(), client, shared).Extract(); err != nil || f.Name != "SCS-2V:8:20" {
		t.Errorf("flavor of the project = %+v, %v", f, err)
	}
	if _, err := flavors.Get(t.Context(), client, secret).Extract(); status(err) != 404 {
		t.Errorf("private flavor: %v, want 404", err)
	}
	if _, err := flavors.Get(t.Context(), admin, secret).Extract(); err != nil {
		t.Errorf("private flavor for an administrator: %v", err)
	}
	cloud.DeleteFlavor("SCS-2V:8:20")
	if _, err := flavors.Get(t.Context(), client, shared).Extract(); status(err) != 404 {
		t.Errorf("deleted flavor: %v, want 404", err)
	}
	old, err := servers.Get(t.Context(), client, id).Extract()
	if err != nil || old.Flavor["id"] != shared {
		t.Errorf("flavor below 2.47 = %v, %v; want its ID", old.Flavor, err)
	}
	server, err := servers.Get(t.Context(), nova(t, cloud, openstack.UserCCM, "2.47"), id).Extract()
	if err != nil || server.Flavor["original_name"] != "SCS-2V:8:20" || server.Flavor["id"] != nil {
		t.Errorf("flavor in 2.47 = %v, %v; want its name alone", server.Flavor, err)
	}
	pages, err := flavors.ListDetail(client, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list, err := flavors.ExtractFlavors(pages); err != nil || len(list) != 4 {
		t.Errorf("%d flavors, %v; want the public ones", len(list), err)
	}
}

// TestProjectInThePath uses endpoints with the ID of the project.
func TestProjectInThePath(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{Catalog: openstack.Catalog{Style: openstack.CatalogProject}, PageSize: 1})
	cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	cloud.AddServer(openstack.ServerSpec{Name: "node-2"})
	client := nova(t, cloud, openstack.UserCCM, "")
	if !strings.HasSuffix(client.Endpoint, cloud.ProjectID("ccm")+"/") {
		t.Fatalf("endpoint = %s", client.Endpoint)
	}
	pages, err := servers.List(client, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list, err := servers.ExtractServers(pages); err != nil || len(list) != 2 {
		t.Errorf("%d servers, %v; want 2", len(list), err)
	}
	got := send(t, cloud, "GET", "/compute/v2.1/"+cloud.ProjectID("other")+"/servers", "", "X-Auth-Token", client.Token())
	if got.Status != 400 || !strings.HasPrefix(got.message(), "Malformed request URL") {
		t.Errorf("another project in the path = %d %s", got.Status, got.Body)
	}
}

func TestTokenWithoutProject(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	body := `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"ccm","domain":{"id":"default"},"password":"` +
		openstack.Password("ccm") + `"}}},"scope":"unscoped"}}`
	made := send(t, cloud, "POST", "/identity/v3/auth/tokens", body)
	if strings.Contains(made.Body, "catalog") {
		t.Errorf("an unscoped token has a catalog: %s", made.Body)
	}
	got := send(t, cloud, "GET", "/compute/v2.1/servers", "", "X-Auth-Token", made.Header.Get("X-Subject-Token"))
	if got.Status != 403 || got.message() != "Policy doesn't allow os_compute_api:servers:index to be performed." {
		t.Errorf("list = %d %s", got.Status, got.Body)
	}
	var decoded map[string]any
	if err := json.Unmarshal([]byte(got.Body), &decoded); err != nil || decoded["forbidden"] == nil {
		t.Errorf("the error has another shape than Nova's: %s", got.Body)
	}
}

// TestStandardPageOfServers has one server more than a page of Nova.
func TestStandardPageOfServers(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	for range 1001 {
		cloud.AddServer(openstack.ServerSpec{Name: "node"}) // names need not be unique
	}
	client := nova(t, cloud, openstack.UserCCM, "")
	if got := len(names(t, client, "?limit=5000")); got != 1000 {
		t.Errorf("a page has %d servers, want 1000", got)
	}
	pages, err := servers.List(client, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list, err := servers.ExtractServers(pages); err != nil || len(list) != 1001 {
		t.Errorf("%d servers on all pages, %v; want 1001", len(list), err)
	}
	if got := cloud.Interceptor().Count("nova.ListServersDetail"); got != 3 {
		t.Errorf("%d calls, want 3", got)
	}
}
