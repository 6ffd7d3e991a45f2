package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

const routerID = "22222222-2222-4333-8444-555555555555"

// collection is a list of Neutron that a test fills, and its requests.
type collection struct {
	key  string
	rows []map[string]any
	// maxLimit cuts the limit of requests, unless it is zero.
	maxLimit int
	// ignore has the service ignore all filters.
	ignore bool
	// noLinks leaves out links to next pages.
	noLinks bool

	mu      sync.Mutex
	queries []url.Values
	longest int
}

// serve responds as Neutron does: a page that has as many rows as its limit has a link to
// the next one, which is of another scheme.
func (c *collection) serve(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/"+c.key) {
		return false
	}
	query := r.URL.Query()
	c.mu.Lock()
	c.queries = append(c.queries, query)
	c.longest = max(c.longest, len(r.URL.String()))
	c.mu.Unlock()
	limit, _ := strconv.Atoi(query.Get("limit"))
	if c.maxLimit > 0 {
		limit = min(limit, c.maxLimit)
	}
	var page []map[string]any
	started := query.Get("marker") == ""
	for _, row := range c.rows {
		switch {
		case !started:
			started = row["id"] == query.Get("marker")
		case !c.ignore && !fits(row, query):
		case len(page) < limit:
			page = append(page, row)
		}
	}
	body := map[string]any{c.key: append([]map[string]any{}, page...)}
	if len(page) == limit && !c.noLinks {
		body[c.key+"_links"] = []any{map[string]any{"rel": "next", "href": "http://example.com/v2.0/" + c.key + "?marker=x"}}
	}
	reply(w, http.StatusOK, body)

	return true
}

// fits reports whether a row has one of the values of each filter.
func fits(row map[string]any, query url.Values) bool {
	for _, key := range []string{"project_id", "device_id", "network_id", "id"} {
		wanted := query[key]
		if len(wanted) > 0 && !strings.Contains(strings.Join(wanted, " "), fmt.Sprint(row[key])) {
			return false
		}
	}

	return true
}

// newPorts returns ports of a project, and as many of another one.
func newPorts(project string, n int) []map[string]any {
	var rows []map[string]any
	for i := range n {
		for _, owner := range []string{"other", project} {
			rows = append(rows, map[string]any{
				"id": fmt.Sprintf("%s-%03d", owner, i), "project_id": owner, "device_id": fmt.Sprintf("device-%d", i),
				"status": "ACTIVE", "network_id": "net", "fixed_ips": []any{map[string]any{"ip_address": fmt.Sprintf("10.0.0.%d", i)}},
			})
		}
	}

	return rows
}

// The ports of the project are listed in pages, whatever a service does with limits,
// filters and links.
func TestListPorts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*collection)
		calls  int
	}{
		"OnePage":       {"less than a page", func(*collection) {}, 1},
		"LimitIsCut":    {"a short page with a link goes on", func(c *collection) { c.maxLimit = 4 }, 3},
		"FullLastPage":  {"a full last page has a link, and an empty page ends it", func(c *collection) { c.maxLimit = 5 }, 3},
		"FilterIgnored": {"rows of other projects are left out", func(c *collection) { c.ignore = true }, 1},
		"Both":          {"the same in pages", func(c *collection) { c.ignore, c.maxLimit = true, 7 }, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			project := f.ProjectID(openstack.ProjectCCM)
			ports := &collection{key: "ports", rows: newPorts(project, 10)}
			tc.change(ports)
			f.serve("neutron", ports.serve)
			found, err := f.open(t, nil).Network().ListPorts(bounded(t))
			must(t, err)
			if len(found) != 10 {
				t.Errorf("%s: %d ports, want 10", tc.reason, len(found))
			}
			for _, p := range found {
				if p.ProjectID != project || p.Status != "ACTIVE" || len(p.FixedIPs) != 1 {
					t.Errorf("%s: port = %+v", tc.reason, p)
				}
			}
			if len(ports.queries) != tc.calls {
				t.Errorf("%s: %d calls, want %d", tc.reason, len(ports.queries), tc.calls)
			}
			for _, q := range ports.queries {
				if q.Get("project_id") != project || q.Get("limit") != "1000" || len(q["fields"]) == 0 {
					t.Errorf("%s: query = %v", tc.reason, q)
				}
			}
		})
	}
}

// Ports of many devices cost one call for each 50, whose URL proxies take.
func TestPortsByDevice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	project := f.ProjectID(openstack.ProjectCCM)
	ports := &collection{key: "ports", ignore: true}
	var ids []string
	for i := range 120 {
		ids = append(ids, fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
		ports.rows = append(ports.rows, map[string]any{"id": ids[i], "project_id": project, "device_id": ids[i], "security_groups": []string{"a"}, "revision_number": 3})
	}
	ports.rows = append(ports.rows, map[string]any{"id": "x", "project_id": project, "device_id": "another"})
	f.serve("neutron", ports.serve)
	c := f.open(t, nil)
	found, err := c.Network().PortsByDevice(bounded(t), ids)
	must(t, err)
	if len(found) != 120 || len(ports.queries) != 3 || ports.longest > 4000 {
		t.Errorf("%d ports in %d calls with URLs of up to %d bytes", len(found), len(ports.queries), ports.longest)
	}
	if p := found[0]; p.Revision == nil || *p.Revision != 3 || len(p.SecurityGroups) != 1 || !p.HasPortSecurity() {
		t.Errorf("port = %+v", p)
	}
	found, err = c.Network().PortsByDevice(bounded(t), nil)
	if err != nil || len(found) != 0 || len(ports.queries) != 3 {
		t.Errorf("no devices: %d ports, %v, %d calls", len(found), err, len(ports.queries))
	}
}

// Other lists: of a router, which may be that of another project, by address, and networks.
func TestOtherLists(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	project := f.ProjectID(openstack.ProjectCCM)
	ports := &collection{key: "ports", ignore: true, rows: []map[string]any{
		{"id": "a", "project_id": "other", "device_id": routerID},
		{"id": "b", "project_id": project, "device_id": "x", "network_id": "n1", "fixed_ips": []any{map[string]any{"ip_address": "fd00::1"}}},
		{"id": "c", "project_id": project, "device_id": "y", "network_id": "n1", "fixed_ips": []any{map[string]any{"ip_address": "fd00::11"}}},
		{"id": "d", "project_id": project, "device_id": "z", "network_id": "n2", "fixed_ips": []any{map[string]any{"ip_address": "fd00::1"}}},
	}}
	networks := &collection{key: "networks", ignore: true, rows: []map[string]any{
		{"id": "n1", "name": "one", "project_id": project},
		{"id": "n2", "name": "two", "project_id": "other", "router:external": true},
	}}
	f.serve("neutron", func(w http.ResponseWriter, r *http.Request) bool { return ports.serve(w, r) || networks.serve(w, r) })
	c := f.open(t, nil).Network()
	ctx := bounded(t)
	check := func(reason string, got []string, err error, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v: %s", reason, err, diff)
		}
	}
	found, err := c.RouterPorts(ctx, routerID)
	check("ports of the router", portIDs(found), err, "a")
	found, err = c.PortsByAddress(ctx, "fd00:0::1", []string{"n1", "n3"})
	check("ports by address, in another form", portIDs(found), err, "b")
	nets, err := c.NetworksByID(ctx, []string{"n2"})
	check("a network of another project by its ID", networkIDs(nets), err, "n2")
	nets, err = c.ExternalNetworks(ctx)
	check("external networks", networkIDs(nets), err, "n2")
}

// Routers of a subnet are found by their ports, whatever a service does with filters.
func TestRoutersOfSubnet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	const subnet = "33333333-2222-4333-8444-555555555555"
	in := []any{map[string]any{"subnet_id": subnet, "ip_address": "10.0.0.1"}}
	ports := &collection{key: "ports", ignore: true, rows: []map[string]any{
		{"id": "a", "project_id": "other", "device_id": "x", "device_owner": "network:router_interface", "fixed_ips": in},
		{"id": "b", "device_id": "y", "device_owner": "network:router_interface_distributed", "fixed_ips": in},
		{"id": "c", "device_id": "z", "device_owner": "network:dhcp", "fixed_ips": in},
		{"id": "d", "device_id": "z", "device_owner": "network:router_interface", "fixed_ips": []any{}},
	}}
	routers := &collection{key: "routers", ignore: true, rows: []map[string]any{
		{"id": "x", "project_id": "other", "external_gateway_info": map[string]any{"network_id": "n1"}}, {"id": "y", "external_gateway_info": nil}, {"id": "z"},
	}}
	f.serve("neutron", func(w http.ResponseWriter, r *http.Request) bool { return ports.serve(w, r) || routers.serve(w, r) })
	c := f.open(t, nil).Network()
	ctx := bounded(t)
	found, err := c.RouterPortsBySubnet(ctx, subnet)
	if diff := cmp.Diff([]string{"a", "b"}, portIDs(found)); diff != "" || err != nil {
		t.Errorf("ports: %v: %s", err, diff)
	}
	if query := ports.queries[0]; query.Get("fixed_ips") != "subnet_id="+subnet || len(query["device_owner"]) != 3 {
		t.Errorf("query %v", query)
	}
	if _, err := c.RouterPortsBySubnet(ctx, "no ID"); !errors.Is(err, apierr.ErrInvalid) {
		t.Errorf("no ID: %v", err)
	}
	got, err := c.RoutersByID(ctx, []string{"x", "y"})
	want := []*client.Router{{ID: "x", ProjectID: "other", Gateway: &client.RouterGateway{NetworkID: "n1"}}, {ID: "y"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("routers: %v: %s", err, diff)
	}
}

// Rows of other projects do not show that a network is external, which the service filters
// by. Without the filter they prove nothing.
func TestExternalNetworks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		rows   []map[string]any
		want   []string
	}{
		"Hidden":  {"the filter was in effect", []map[string]any{{"id": "a", "project_id": "other"}, {"id": "b", "project_id": "own", "router:external": true}}, []string{"a", "b"}},
		"Ignored": {"a row shows that it was not", []map[string]any{{"id": "a", "project_id": "other"}, {"id": "b", "project_id": "own", "router:external": false}, {"id": "c", "project_id": "other", "router:external": true}}, []string{"c"}},
		"Unknown": {"own rows show it unless the service does not know it", []map[string]any{{"id": "a", "project_id": "other"}, {"id": "b", "project_id": "own"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			for _, row := range tc.rows {
				if row["project_id"] == "own" {
					row["project_id"] = f.ProjectID(openstack.ProjectCCM)
				}
			}
			f.serve("neutron", (&collection{key: "networks", ignore: true, rows: tc.rows}).serve)
			got, err := f.open(t, nil).Network().ExternalNetworks(bounded(t))
			if diff := cmp.Diff(tc.want, networkIDs(got)); diff != "" || err != nil {
				t.Errorf("%s: %v: %s", tc.reason, err, diff)
			}
		})
	}
	f := newFixture(t, openstack.Options{})
	external := f.AddNetwork(openstack.NetworkSpec{Name: "public", External: true})
	f.AddNetwork(openstack.NetworkSpec{Name: "shared", Shared: true})
	f.AddNetwork(openstack.NetworkSpec{Name: "private"})
	got, err := f.open(t, nil).Network().ExternalNetworks(bounded(t))
	if diff := cmp.Diff([]string{external}, networkIDs(got)); diff != "" || err != nil {
		t.Errorf("of the administrator: %v: %s", err, diff)
	}
}

func portIDs(ports []*client.Port) []string {
	var ids []string
	for _, p := range ports {
		ids = append(ids, p.ID)
	}

	return ids
}

func networkIDs(networks []*client.NetworkInfo) []string {
	var ids []string
	for _, n := range networks {
		ids = append(ids, n.ID)
	}

	return ids
}

// What changes of routers and ports send.
func TestChanges(t *testing.T) {
	t.Parallel()
	routes := []client.Route{{Destination: "10.1.0.0/24", NextHop: "10.0.0.4"}}
	pairs := []client.AddressPair{{Address: "10.1.0.0/24"}, {Address: "10.2.0.0/24", MAC: "fa:16:3e:00:00:01"}}
	cases := map[string]struct {
		reason            string
		call              func(t *testing.T, c *client.NetworkService) error
		path, match, body string
	}{
		"Add": {"routes are added", func(t *testing.T, c *client.NetworkService) error {
			_, err := c.AddRoutes(bounded(t), routerID, routes...)

			return err
		}, "/routers/" + routerID + "/add_extraroutes", "", `{"router":{"routes":[{"destination":"10.1.0.0/24","nexthop":"10.0.0.4"}]}}`},
		"Remove": {"routes are removed", func(t *testing.T, c *client.NetworkService) error {
			_, err := c.RemoveRoutes(bounded(t), routerID, routes...)

			return err
		}, "/routers/" + routerID + "/remove_extraroutes", "", `{"router":{"routes":[{"destination":"10.1.0.0/24","nexthop":"10.0.0.4"}]}}`},
		"Update": {"all routes are replaced", func(t *testing.T, c *client.NetworkService) error {
			_, err := c.UpdateRoutes(bounded(t), routerID, routes, new(7))

			return err
		}, "/routers/" + routerID, "revision_number=7", `{"router":{"routes":[{"destination":"10.1.0.0/24","nexthop":"10.0.0.4"}]}}`},
		"UpdateNone": {"the last route is removed by an empty list, not null", func(t *testing.T, c *client.NetworkService) error {
			_, err := c.UpdateRoutes(bounded(t), routerID, nil, nil)

			return err
		}, "/routers/" + routerID, "", `{"router":{"routes":[]}}`},
		"Pairs": {"all pairs are replaced", func(t *testing.T, c *client.NetworkService) error {
			_, err := c.UpdateAddressPairs(bounded(t), objectID, pairs, new(9))

			return err
		}, "/ports/" + objectID, "revision_number=9", `{"port":{"allowed_address_pairs":[{"ip_address":"10.1.0.0/24"},{"ip_address":"10.2.0.0/24","mac_address":"fa:16:3e:00:00:01"}]}}`},
		"PairsNone": {"the last pair is removed by an empty list", func(t *testing.T, c *client.NetworkService) error {
			_, err := c.UpdateAddressPairs(bounded(t), objectID, nil, nil)

			return err
		}, "/ports/" + objectID, "", `{"port":{"allowed_address_pairs":[]}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			f.serve("neutron", func(w http.ResponseWriter, r *http.Request) bool {
				body, err := io.ReadAll(r.Body)
				got := []string{r.Method, r.URL.Path, r.Header.Get("If-Match"), string(body)}
				if diff := cmp.Diff([]string{http.MethodPut, "/v2.0" + tc.path, tc.match, tc.body}, got); diff != "" || err != nil {
					t.Errorf("%s: %v: %s", tc.reason, err, diff)
				}
				reply(w, http.StatusOK, map[string]any{"router": map[string]any{"id": routerID}, "port": map[string]any{"id": objectID}})

				return true
			})
			if err := tc.call(t, f.open(t, nil).Network()); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// A router is read with its routes and its revision; another one is no response.
func TestGetRouter(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	body := `{"router": {"id": "` + routerID + `", "name": "r", "revision_number": 4, "routes": [{"destination": "10.1.0.0/24", "nexthop": "10.0.0.4"}]}}`
	f.serve("neutron", func(w http.ResponseWriter, _ *http.Request) bool {
		reply(w, http.StatusOK, json.RawMessage(body))

		return true
	})
	c := f.open(t, nil).Network()
	ctx := bounded(t)
	got, err := c.GetRouter(ctx, routerID)
	must(t, err)
	want := &client.Router{ID: routerID, Name: "r", Revision: new(4), Routes: []client.Route{{Destination: "10.1.0.0/24", NextHop: "10.0.0.4"}}}
	openstacktest.Check(t, "it", want, got)
	for _, body = range []string{`{}`, `{"router": {"id": "` + objectID + `"}}`, `{"router": null}`, `[]`, `{"router`} {
		_, err = c.GetRouter(ctx, routerID)
		must(t, is(err, apierr.ErrUnavailable))
	}
}
