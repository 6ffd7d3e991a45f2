package openstack

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// paged is a page of a list: the IDs and the links without the URL.
type paged struct {
	IDs, Links []string
	Status     int
	Message    string
}

// newPaged calls a function that cuts lists with a query.
func newPaged(t *testing.T, size int, collection, query string, cut func(*call, []object) ([]object, []link, error)) paged {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	k := &call{
		cloud: &Cloud{opts: Options{PageSize: size}}, query: values, host: "cloud", target: target{rest: collection},
		request: httptest.NewRequest(http.MethodGet, collection+"?"+query, nil),
	}
	rows := []object{}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		rows = append(rows, object{"id": id})
	}
	got, links, err := cut(k, rows)
	if err != nil {
		problem := asAPIError(err)

		return paged{Status: problem.status, Message: problem.message}
	}
	out := paged{Status: 200}
	for _, row := range got {
		out.IDs = append(out.IDs, row["id"].(string))
	}
	for _, l := range links {
		out.Links = append(out.Links, l.Rel+" "+strings.TrimPrefix(l.Href, "http://cloud"+collection))
	}

	return out
}

// TestPagesOfNeutron has the responses that a Neutron of Zed gave for five ports.
func TestPagesOfNeutron(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		size   int
		query  string
		want   paged
	}{
		"no limit":      {"and no links", 0, "", paged{IDs: []string{"a", "b", "c", "d", "e"}, Status: 200}},
		"limit":         {"the first page has a previous one", 0, "limit=2", paged{[]string{"a", "b"}, []string{"next ?limit=2&marker=b", "previous ?limit=2&marker=a&page_reverse=True"}, 200, ""}},
		"exact":         {"a full page has a next one", 0, "limit=5", paged{[]string{"a", "b", "c", "d", "e"}, []string{"next ?limit=5&marker=e", "previous ?limit=5&marker=a&page_reverse=True"}, 200, ""}},
		"above":         {"", 0, "limit=6", paged{[]string{"a", "b", "c", "d", "e"}, []string{"previous ?limit=6&marker=a&page_reverse=True"}, 200, ""}},
		"last":          {"", 0, "limit=2&marker=d", paged{[]string{"e"}, []string{"previous ?limit=2&marker=e&page_reverse=True"}, 200, ""}},
		"behind":        {"", 0, "limit=2&marker=e", paged{nil, []string{"previous ?limit=2&page_reverse=True"}, 200, ""}},
		"reverse":       {"", 0, "limit=2&page_reverse=True", paged{[]string{"d", "e"}, []string{"next ?limit=2&marker=e", "previous ?limit=2&marker=d&page_reverse=True"}, 200, ""}},
		"reverse start": {"", 0, "limit=2&page_reverse=true&marker=b", paged{[]string{"a"}, []string{"next ?limit=2&marker=a"}, 200, ""}},
		"before start":  {"", 0, "limit=2&page_reverse=True&marker=a", paged{nil, []string{"next ?limit=2"}, 200, ""}},
		"marker alone":  {"is ignored", 0, "marker=c", paged{IDs: []string{"a", "b", "c", "d", "e"}, Status: 200}},
		"bound":         {"of the service", 2, "limit=9", paged{[]string{"a", "b"}, []string{"next ?limit=9&marker=b", "previous ?limit=9&marker=a&page_reverse=True"}, 200, ""}},
		"unknown":       {"as any port", 0, "limit=1&marker=z", paged{Status: 404, Message: "Port z could not be found."}},
		"bad limit":     {"", 0, "limit=-1", paged{Status: 400, Message: "Bad limit request: Limit must be an integer 0 or greater and not '-1'."}},
		"filters stay":  {"in their order", 0, "name=x&limit=1&device=y", paged{[]string{"a"}, []string{"next ?name=x&limit=1&device=y&marker=a", "previous ?name=x&limit=1&device=y&marker=a&page_reverse=True"}, 200, ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, newPaged(t, tc.size, "/v2.0/ports", tc.query, (*call).neutronPage)); diff != "" {
				t.Errorf("%s: page (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPagesOfOctavia has the responses that an Octavia of Zed gave for load balancers.
func TestPagesOfOctavia(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		size   int
		query  string
		want   paged
	}{
		"no limit":     {"", 0, "", paged{IDs: []string{"a", "b", "c", "d", "e"}, Status: 200}},
		"limit":        {"", 0, "limit=2", paged{[]string{"a", "b"}, []string{"next ?limit=2&marker=b"}, 200, ""}},
		"exact":        {"a full page has a next one", 0, "limit=5", paged{[]string{"a", "b", "c", "d", "e"}, []string{"next ?limit=5&marker=e"}, 200, ""}},
		"middle":       {"", 0, "limit=1&marker=a", paged{[]string{"b"}, []string{"previous ?limit=1&marker=b&page_reverse=True", "next ?limit=1&marker=b"}, 200, ""}},
		"rest":         {"with the limit of the service", 0, "marker=c", paged{[]string{"d", "e"}, []string{"previous ?limit=1000&marker=d&page_reverse=True"}, 200, ""}},
		"reverse":      {"from the start", 0, "limit=1&marker=e&page_reverse=True", paged{[]string{"a"}, []string{"previous ?limit=1&marker=a&page_reverse=True", "next ?limit=1&marker=a"}, 200, ""}},
		"filters":      {"are not in the links", 0, "limit=1&project_id=x&fields=id&sort=name", paged{[]string{"a"}, []string{"next ?limit=1&sort=name&marker=a"}, 200, ""}},
		"bound":        {"of the service", 2, "limit=9", paged{[]string{"a", "b"}, []string{"next ?limit=2&marker=b"}, 200, ""}},
		"unlimited":    {"the link cannot be made", 0, "limit=0", paged{Status: 500, Message: "'>=' not supported between instances of 'int' and 'NoneType'"}},
		"bad limit":    {"", 0, "limit=a", paged{Status: 400, Message: "Supplied pagination limit 'a' is not valid."}},
		"unknown":      {"", 0, "marker=z", paged{Status: 400, Message: "Supplied pagination marker 'z' is not valid."}},
		"behind":       {"", 0, "limit=1&marker=e", paged{Status: 200}},
		"infinite too": {"", 0, "limit=infinite", paged{Status: 500, Message: "'>=' not supported between instances of 'int' and 'NoneType'"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, newPaged(t, tc.size, "/v2.0/lbaas/loadbalancers", tc.query, (*call).octaviaPage)); diff != "" {
				t.Errorf("%s: page (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
