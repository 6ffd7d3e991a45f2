package openstack_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

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
	_, body := send(t, client, "GET", "servers/detail"+query, "")
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

func sortedFields(o any) []string {
	fields := []string{}
	m, _ := o.(map[string]any)
	for key := range m {
		fields = append(fields, key)
	}
	slices.Sort(fields)

	return fields
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
		for _, path := range []string{"servers?marker=" + there, "servers/" + there + "/os-instance-actions"} {
			if got, _ := send(t, client, "GET", path, ""); got != 500 {
				t.Errorf("%s: %d, want 500", path, got)
			}
		}
	}
	if _, err := servers.Get(t.Context(), old, there).Extract(); status(err) != 500 {
		t.Errorf("server below 2.69: %v, want 500", err)
	}
	_, body := send(t, modern, "GET", "servers/"+there, "")
	want := []string{
		"OS-EXT-AZ:availability_zone", "OS-EXT-STS:power_state", "created", "flavor", "id", "image", "links", "status", "tenant_id", "user_id",
	}
	check(t, "fields of the server", want, sortedFields(body["server"]))
	for id, zone := range map[string]string{there: "UNKNOWN", zoned: "az-2"} {
		server, err := servers.Get(t.Context(), modern, id).Extract()
		if err != nil || server.Status != "UNKNOWN" || server.AvailabilityZone != zone || len(server.Addresses) > 0 {
			t.Errorf("server = %+v, %v; want UNKNOWN in zone %s", server, err, zone)
		}
	}
	_, row := send(t, modern, "GET", "servers", "")
	list, _ := row["servers"].([]any)
	check(t, "fields in the list without details", []string{"id", "links", "status"}, sortedFields(list[0]))
	cloud.SetCell("", "cell2", openstack.CellUp)
	check(t, "list when the cell is back", []string{"zoned", "there", "here"}, names(t, modern, ""))
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
	check(t, "full page", []string{"c", "b"}, names(t, client, ""))
	cloud.SetCell("", "cell-b", openstack.CellDown)
	check(t, "page with room for one", []string{"UNKNOWN", "c"}, names(t, client, ""))
}
