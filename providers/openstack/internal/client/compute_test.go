package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const opServers = "nova.ListServersDetail"

// addServers adds servers and returns their names, sorted.
func (f *fixture) addServers(n int) []string {
	var names []string
	for i := range n {
		name := fmt.Sprintf("node-%03d", i)
		f.AddServer(openstack.ServerSpec{Name: name})
		names = append(names, name)
	}

	return names
}

func serverNames(rows []*client.Server) []string {
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	slices.Sort(names)

	return names
}

// All servers of the project are listed, in pages that the service makes. The first request
// is bare; only a full page has a next one.
func TestListServers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason             string
		servers, page      int
		calls              int
		withLinkAfterwards bool
	}{
		"None":     {"no server", 0, 3, 1, false},
		"One":      {"less than a page", 2, 3, 1, false},
		"FullPage": {"a full page has a link, and the next page is empty", 3, 3, 2, false},
		"Pages":    {"several pages", 10, 3, 4, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{PageSize: tc.page})
			want := f.addServers(tc.servers)
			f.AddServer(openstack.ServerSpec{Name: "foreign", Project: openstack.ProjectOther})
			rows, err := f.open(t, nil).Compute().ListServers(bounded(t))
			must(t, err)
			if diff := cmp.Diff(want, serverNames(rows)); diff != "" {
				t.Errorf("%s: servers: %s", tc.reason, diff)
			}
			f.count(t, opServers, tc.calls)
			for i, r := range f.Requests(opServers) {
				if i == 0 && len(r.Query) > 0 {
					t.Errorf("%s: the first request has %v", tc.reason, r.Query)
				}
				if i > 0 && (len(r.Query) != 1 || r.Query["marker"] == nil) {
					t.Errorf("%s: a further request has %v, want a marker alone", tc.reason, r.Query)
				}
			}
		})
	}
}

// Lists that cannot be completed are errors, with what came before.
func TestIncompleteList(t *testing.T) {
	t.Parallel()
	row := func(id string) map[string]any {
		return map[string]any{"id": id, "name": id, "status": "ACTIVE", "tenant_id": ""}
	}
	next := []any{map[string]any{"rel": "next", "href": "http://example.com/steal"}}
	cases := map[string]struct {
		reason string
		pages  []map[string]any // the last one is repeated
		rows   int
		calls  int
	}{
		"Loop":      {"a service that ignores the marker", []map[string]any{{"servers": []any{row("a")}, "servers_links": next}}, 2, 2},
		"Missing":   {"a response without the list", []map[string]any{{"other": []any{}}}, 0, 1},
		"Null":      {"null is no list", []map[string]any{{"servers": nil}}, 0, 1},
		"Text":      {"a text is no list", []map[string]any{{"servers": "x"}}, 0, 1},
		"SecondBad": {"the second page has none", []map[string]any{{"servers": []any{row("a")}, "servers_links": next}, {}}, 1, 2},
		"NoMarker": {
			"only servers of cells that are down", []map[string]any{{
				"servers": []any{map[string]any{"id": "a", "status": "UNKNOWN"}}, "servers_links": next,
			}}, 1, 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			project := f.ProjectID(openstack.ProjectCCM)
			seen := 0
			f.serve(opServers, func(w http.ResponseWriter, _ *http.Request) bool {
				body := tc.pages[min(seen, len(tc.pages)-1)]
				seen++
				if rows, ok := body["servers"].([]any); ok {
					for _, r := range rows {
						r.(map[string]any)["tenant_id"] = project //nolint:forcetypeassert // made above
					}
				}
				reply(w, http.StatusOK, body)

				return true
			})
			rows, err := f.open(t, nil).Compute().ListServers(bounded(t))
			must(t, is(err, apierr.ErrUnavailable))
			if len(rows) != tc.rows {
				t.Errorf("%s: %d rows with the error, want %d", tc.reason, len(rows), tc.rows)
			}
			f.count(t, opServers, tc.calls)
		})
	}
}

// The next page begins after the last server whose cell responds: a marker in a cell that
// is down is an error. Servers of such a cell are in the list, others of another project
// and deleted ones are not.
func TestServersOfCellThatIsDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	project := f.ProjectID(openstack.ProjectCCM)
	row := func(id, status, owner string) map[string]any {
		return map[string]any{"id": id, "name": id, "status": status, "tenant_id": owner}
	}
	f.serve(opServers, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Query().Get("marker") {
		case "":
			reply(w, http.StatusOK, map[string]any{
				"servers":       []any{row("a", "ACTIVE", project), row("x", "UNKNOWN", project), row("y", "UNKNOWN", "")},
				"servers_links": []any{map[string]any{"rel": "next"}},
			})
		case "a":
			reply(w, http.StatusOK, map[string]any{"servers": []any{
				row("b", "SHUTOFF", project), row("c", "ACTIVE", "other"), row("d", "DELETED", project),
			}})
		default:
			reply(w, http.StatusInternalServerError, map[string]any{"computeFault": map[string]any{"code": 500, "message": "x"}})
		}

		return true
	})
	rows, err := f.open(t, nil).Compute().ListServers(bounded(t))
	must(t, err)
	openstacktest.Check(t, "it", []string{"a", "b", "x", "y"}, serverNames(rows))
}

// A page that is lost, or cut off in the middle, is an error of the whole list.
func TestLostPage(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fixture) {
		f.addServers(5)
		f.Interceptor().Inject(opServers, simserver.Always(), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "500")
			_, _ = w.Write([]byte(`{"servers": [{"id": "a", "name": "n`))
			panic(http.ErrAbortHandler)
		})
		_, err := f.open(t, nil, realTime).Compute().ListServers(t.Context())
		must(t, is(err, apierr.ErrUnavailable))
	})
}

// A response that is too large is an error, not the part that was read.
func TestResponseIsTooLarge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.addServers(5)
	c := f.open(t, nil, func(_ *client.Config, o *client.Options) { o.MaxBody = 3000 })
	_, err := c.Compute().ListServers(bounded(t))
	must(t, is(err, apierr.ErrUnavailable))
	if !strings.Contains(err.Error(), "3000 bytes") {
		t.Errorf("%v does not name the limit", err)
	}
}

// A name is compared exactly, and where nothing fits, without regard to case.
func TestServersByName(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		servers []string
		name    string
		want    []string
	}{
		"Exact":    {"one server", []string{"node-1", "node-10", "my-node-1"}, "node-1", []string{"node-1"}},
		"Dots":     {"a dot is a dot", []string{"node.a", "nodexa"}, "node.a", []string{"node.a"}},
		"Two":      {"two servers with one name", []string{"node-1", "node-1"}, "node-1", []string{"node-1", "node-1"}},
		"None":     {"no server is no error here", []string{"node-2"}, "node-1", nil},
		"Brackets": {"a name with characters of expressions", []string{"a(b)[c]*+?", "abc"}, "a(b)[c]*+?", []string{"a(b)[c]*+?"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			for _, server := range tc.servers {
				f.AddServer(openstack.ServerSpec{Name: server})
			}
			rows, err := f.open(t, nil).Compute().ServersByName(bounded(t), tc.name)
			must(t, err)
			openstacktest.Check(t, tc.reason, tc.want, serverNames(rows))
		})
	}
}

// A database may compare names without regard to case.
func TestServersByNameOfCaseInsensitiveDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	project := f.ProjectID(openstack.ProjectCCM)
	var found []string
	f.serve(opServers, func(w http.ResponseWriter, _ *http.Request) bool {
		var rows []any
		for _, name := range found {
			rows = append(rows, map[string]any{"id": name, "name": name, "status": "ACTIVE", "tenant_id": project})
		}
		reply(w, http.StatusOK, map[string]any{"servers": rows})

		return true
	})
	c := f.open(t, nil)
	for _, tc := range []struct {
		reason      string
		found, want []string
	}{
		{"the exact one of two", []string{"Node-1", "node-1"}, []string{"node-1"}},
		{"one that differs in case", []string{"Node-1"}, []string{"Node-1"}},
		{"two that differ in case are ambiguous", []string{"NODE-1", "Node-1"}, []string{"NODE-1", "Node-1"}},
		{"a service that ignores the filter", []string{"node-1", "node-2"}, []string{"node-1"}},
	} {
		found = tc.found
		rows, err := c.Compute().ServersByName(bounded(t), "node-1")
		must(t, err)
		openstacktest.Check(t, tc.reason, tc.want, serverNames(rows))
	}
}

// What a single server can be.
func TestGetServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	foreign := f.AddServer(openstack.ServerSpec{Name: "foreign", Project: openstack.ProjectOther})
	c, operator := f.open(t, nil), f.open(t, newSource(f.Credentials(openstack.UserOperator)))
	ctx := bounded(t)
	server, err := c.Compute().GetServer(ctx, serverID)
	must(t, err)
	if server.ID != serverID || server.Name != "node-1" || server.Status != "ACTIVE" || server.Flavor.OriginalName == "" {
		t.Errorf("server = %+v", server)
	}
	_, err = c.Compute().GetServer(ctx, objectID)
	must(t, is(err, apierr.ErrNotFound))
	_, err = c.Compute().GetServer(ctx, foreign)
	must(t, is(err, apierr.ErrNotFound)) // as Nova responds: the project makes it an error
	_, err = operator.Compute().GetServer(ctx, foreign)
	must(t, is(err, client.ErrOtherProject))
	before := f.Interceptor().Total()
	for _, id := range []string{"", "node-1", "../flavors", serverID + "/", "00000000"} {
		_, err = c.Compute().GetServer(ctx, id)
		must(t, is(err, apierr.ErrInvalid))
		_, err = c.Compute().ServerActions(ctx, id)
		must(t, is(err, apierr.ErrInvalid))
	}
	if after := f.Interceptor().Total(); after != before {
		t.Errorf("%d calls for what is no ID", after-before)
	}
}

// The flavor of a server has an ID without a microversion only, and a name with one.
func TestFlavors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	c := f.open(t, nil)
	ctx := bounded(t)
	id, err := c.Compute().ServerFlavorID(ctx, serverID)
	must(t, err)
	flavor, err := c.Compute().GetFlavor(ctx, id)
	must(t, err)
	if flavor.ID != id || flavor.Name != "m1.small" {
		t.Errorf("flavor = %+v", flavor)
	}
	_, err = c.Compute().GetFlavor(ctx, "no such flavor")
	must(t, is(err, apierr.ErrNotFound))
}

// The actions of a server are there after its deletion.
func TestServerActions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	c := f.open(t, nil)
	ctx := bounded(t)
	f.DeleteServer(serverID)
	actions, err := c.Compute().ServerActions(ctx, serverID)
	must(t, err)
	if !slices.ContainsFunc(actions, func(a client.Action) bool { return a.Action == client.ActionDelete }) {
		t.Errorf("actions = %+v, want one that deletes", actions)
	}
	_, err = c.Compute().ServerActions(ctx, objectID)
	must(t, is(err, apierr.ErrNotFound))
}

// The microversion in use is 2.69, or the highest of the service if that is lower. One that
// is no longer known is chosen again.
func TestMicroversion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, highest string
		style           openstack.CatalogStyle
		want            features.Version
	}{
		"New":         {"a new service", "2.93", openstack.CatalogTypical, features.Version{Major: 2, Minor: 69}},
		"Old":         {"an older one", "2.53", openstack.CatalogTypical, features.Version{Major: 2, Minor: 53}},
		"Oldest":      {"without microversions", "2.1", openstack.CatalogTypical, features.Version{Major: 2, Minor: 1}},
		"Unversioned": {"a URL without a version", "2.93", openstack.CatalogUnversioned, features.Version{Major: 2, Minor: 69}},
		"Project":     {"a URL with the project", "2.93", openstack.CatalogProject, features.Version{Major: 2, Minor: 69}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{Microversion: tc.highest, Catalog: openstack.Catalog{Style: tc.style}})
			f.serveServer()
			c := f.open(t, nil)
			ctx := bounded(t)
			got, err := c.Compute().Microversion(ctx)
			if err != nil || got != tc.want {
				t.Errorf("%s: Microversion() = %v, %v, want %v", tc.reason, got, err, tc.want)
			}
			must(t, get(ctx, c))
			must(t, get(ctx, c))
			if n := f.Interceptor().Count("nova.ShowVersion") + f.Interceptor().Count("nova.ListVersions"); n != 1 {
				t.Errorf("%s: %d version documents, want 1", tc.reason, n)
			}
		})
	}
}

// An unknown microversion, and a version document that fails, are read again.
func TestVersionsAreReadAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	f.serveServer()
	c := f.open(t, nil)
	ctx := bounded(t)
	f.Interceptor().Inject("nova.ShowVersion", simserver.Nth(1), openstack.Error(http.StatusInternalServerError, "", "x"))
	must(t, is(get(ctx, c), apierr.ErrUnavailable))
	must(t, get(ctx, c))
	f.Interceptor().Inject("nova.ShowServer", simserver.Nth(1), openstack.Error(http.StatusNotAcceptable, "", "Version 2.69 is not supported by the API."))
	must(t, is(get(ctx, c), apierr.ErrInvalid))
	must(t, get(ctx, c))
	f.count(t, "nova.ShowVersion", 3)
}

// TestHiddenVersions (OS-NODE-14): a version document that a proxy or a policy hides leaves the API usable without a
// microversion. It is read again after a while.
func TestHiddenVersions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  simserver.Fault
		style  openstack.CatalogStyle
	}{
		"Proxy404":    {"only the paths of the API are forwarded", openstack.Proxy(http.StatusNotFound, ""), openstack.CatalogTypical},
		"Forbidden":   {"a policy denies it", openstack.Denied(), openstack.CatalogTypical},
		"Unversioned": {"a URL without a version gets 2.1", openstack.Proxy(http.StatusNotFound, ""), openstack.CatalogUnversioned},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{Catalog: openstack.Catalog{Style: tc.style}})
			f.serveServer()
			id := f.AddServer(openstack.ServerSpec{Name: "node-2"})
			documents := func() int {
				return f.Interceptor().Count("nova.ShowVersion") + f.Interceptor().Count("nova.ListVersions")
			}
			for _, op := range []string{"nova.ShowVersion", "nova.ListVersions"} {
				f.Interceptor().Inject(op, simserver.Nth(1), tc.fault)
			}
			c := f.open(t, nil)
			ctx := bounded(t)
			must(t, get(ctx, c))
			f.DeleteServer(id)
			actions, err := c.Compute().ServerActions(ctx, id)
			must(t, err)
			if len(actions) == 0 || actions[0].Action != client.ActionDelete {
				t.Errorf("%s: actions of a deleted server: %v", tc.reason, actions)
			}
			if v, err := c.Compute().Microversion(ctx); err != nil || v != (features.Version{}) || documents() != 1 {
				t.Errorf("%s: microversion %v, %v after %d documents", tc.reason, v, err, documents())
			}
			f.clock.Step(10 * time.Minute)
			if v, err := c.Compute().Microversion(ctx); err != nil || v != (features.Version{Major: 2, Minor: 69}) || documents() != 2 {
				t.Errorf("%s: microversion %v, %v after %d documents, the document is there again", tc.reason, v, err, documents())
			}
		})
	}
}

// TestHiddenVersionsWithoutActions (OS-NODE-14): an old Nova whose version document is hidden has
// no actions of deleted servers.
func TestHiddenVersionsWithoutActions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{Microversion: "2.20"})
	f.serveServer()
	f.Interceptor().Inject("nova.ShowVersion", simserver.Always(), openstack.Denied())
	c := f.open(t, nil)
	_, err := c.Compute().ServerActions(bounded(t), serverID)
	must(t, is(err, client.ErrNoActions))
	must(t, get(bounded(t), c))
	f.count(t, "nova.ShowVersion", 1)
}

// TestVersionsFailed (OS-NODE-14): what is no refusal of the version document is an error.
func TestVersionsFailed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  simserver.Fault
		want   error
	}{
		"Unauthorized": {"the token is the reason", openstack.Unauthorized(), apierr.ErrDenied},
		"Throttled":    {"it comes later", openstack.Throttled(""), apierr.ErrThrottled},
		"Down":         {"the service is down", openstack.Proxy(http.StatusServiceUnavailable, ""), apierr.ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			f.serveServer()
			f.Interceptor().Inject("nova.ShowVersion", simserver.Always(), tc.fault)
			c := f.open(t, nil, realTime, func(_ *client.Config, o *client.Options) { o.RetryTime = time.Nanosecond })
			if err := is(get(bounded(t), c), tc.want); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			f.count(t, "nova.ShowServer", 0)
		})
	}
}
