package nsxt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

func TestPages(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{PageSize: 3, BareLists: []string{"tier-1s"}}, func(c *client) {
		for i := range 8 {
			c.put(fmt.Sprintf("%s/r%d", routes, i), route("10.244.1.0/24"))
		}
		seconds(2)
		all := func(path string, between func()) (found []string) {
			page := c.get(path)
			check(c.t, "number of rows", any(float64(8)), page.body["result_count"])
			for {
				found = append(found, ids(page)...)
				cursor, ok := page.body["cursor"].(string)
				if !ok {
					return found
				}
				between()
				page = c.get(path + "&cursor=" + cursor)
				check(c.t, "number of rows", nil, page.body["result_count"])
			}
		}
		nothing := func() {}
		sorted := []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"}
		check(c.t, "sorted", sorted, all(routes+"?sort_by=id", nothing))
		descending := all(routes+"?sort_by=id&sort_ascending=false", nothing)
		slices.Reverse(descending)
		check(c.t, "descending", sorted, descending)
		check(c.t, "search", sorted, all("/search/query?query=resource_type:StaticRoutes&sort_by=id", nothing))
		if unsorted := all(routes+"?page_size=5", nothing); len(slices.Compact(slices.Sorted(slices.Values(unsorted)))) == 8 {
			c.t.Errorf("pages without sort_by lose no row: %v", unsorted)
		}
		deleted := false
		check(c.t, "deleted meanwhile", sorted, all(routes+"?sort_by=id", func() {
			if !deleted {
				deleted = true
				c.want(200, 0, "DELETE", routes+"/r2", nil)
			}
		}))
		check(c.t, "no number of rows", nil, c.get("/infra/tier-1s").body["result_count"])
		c.want(400, 255, "GET", routes+"?page_size=1001", nil)
		c.want(400, 255, "GET", routes+"?cursor=x", nil)
		c.cloud.RefusePages(100, 503)
		c.want(503, 60576, "GET", routes, nil)
		c.get(routes + "?page_size=100")
		c.cloud.RefusePages(100, 400)
		c.want(400, 255, "GET", routes, nil)
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		tagged := func(tags ...string) nsxt.Object {
			var all []nsxt.Object
			for _, tag := range tags {
				scope, value, _ := strings.Cut(tag, "=")
				all = append(all, nsxt.Object{"scope": scope, "tag": value})
			}

			return with(route("10.244.1.0/24"), "tags", append(all, nsxt.Object{"tag": "no scope"}, nsxt.Object{"scope": "no tag"}))
		}
		c.put(routes+"/a", tagged("k8s.io/cluster=One", "k8s.io/node=n1"))
		c.put(routes+"/b", tagged("k8s.io/cluster=two", "k8s.io/node=one"))
		c.put(routes+"/c", tagged("k8s.io/cluster=one-b"))
		check(c.t, "not yet", []string{}, c.search("resource_type:StaticRoutes"))
		seconds(1)
		for query, want := range map[string][]string{
			`resource_type:StaticRoutes`:                                        {"a", "b", "c"},
			`tags.scope:k8s.io\/cluster AND tags.tag:two`:                       {"b"},
			`tags.scope:k8s.io\/cluster AND tags.tag:one`:                       {"a", "b", "c"}, // also across tags, and parts
			`tags.tag:"one\-b"`:                                                 {"c"},
			`tags.tag:tw*`:                                                      {"b"},
			`(id:a OR id:b) AND NOT tags.tag:n1`:                                {"b"},
			`marked_for_delete:false AND parent_path:"/infra/tier-1s/t1"`:       {"a", "b", "c"},
			`network:10.244.1.0\/24 AND next_hops.ip_address:10.0.0.1 AND id:a`: {"a"},
			`tags.tag:nothing OR tags.unknown:x`:                                {},
		} {
			check(c.t, query, want, c.search(query))
		}
		for _, query := range []string{"", "one", "id:", "id:a id:b", "(id:a", "id:a)", `tags.scope:k8s.io/cluster`, "id:a:b", `id:"a`, "id:a AND"} {
			if got := c.call("GET", "/search?query="+strings.ReplaceAll(query, " ", "+"), nil); got.status != 400 {
				c.t.Errorf("%s: got %d", query, got.status)
			}
		}
		c.put(routes+"/a", with(tagged("x=y"), "_revision", 0))
		check(c.t, "changed, not yet", []string{"a"}, c.search("tags.tag:n1"))
		seconds(1)
		check(c.t, "changed", []string{}, c.search("tags.tag:n1"))
		c.want(200, 0, "DELETE", routes+"/b", nil)
		check(c.t, "deleted, not yet", []string{"b"}, c.search("id:b AND marked_for_delete:false"))
		seconds(1)
		check(c.t, "deleted", []string{"b"}, c.search("id:b AND marked_for_delete:true"))
		seconds(2)
		check(c.t, "gone, not yet", []string{"b"}, c.search("id:b"))
		seconds(1)
		check(c.t, "gone", []string{}, c.search("id:b"))
	})
}

func TestRealization(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		expect := func(when, want string, wantCode int) {
			c.t.Helper()
			got, code := c.state(routes + "/a")
			check(c.t, when, want, got)
			check(c.t, when+": code", wantCode, code)
		}
		expect("no intent", "", 0)
		c.put(routes+"/a", route("10.244.1.0/24"))
		expect("at once", "", 0)
		seconds(0.3)
		expect("unrealized", "UNREALIZED UNREALIZED", 0)
		seconds(0.3)
		expect("partly", "REALIZED UNREALIZED", 0)
		seconds(0.4)
		expect("realized", "REALIZED REALIZED", 0)
		c.cloud.FailRealization(routes, nsxt.Alarm{Code: 500042, Message: "not ready"})
		expect("failed", "REALIZED ERROR", 500042)
		c.cloud.HealRealization(routes)
		expect("healed", "REALIZED REALIZED", 0)
		c.cloud.FailRealization(routes+"/a", nsxt.Alarm{State: nsxt.StateUnavailable})
		expect("unavailable", "REALIZED UNAVAILABLE", 0)
		c.cloud.HealRealization(routes + "/a")
		c.want(200, 0, "PATCH", routes+"/a", route("10.244.1.0/24"))
		expect("changed", "UNREALIZED UNREALIZED", 0)
		c.want(400, 255, "GET", "/infra/realized-state/realized-entities", nil)
	})
	times := map[string]time.Duration{"static-routes": 4 * time.Second}
	simulate(t, nsxt.Spec{RealizationNotFound: true, RealizationTimes: times}, func(c *client) {
		c.put(routes+"/a", route("10.244.1.0/24"))
		c.want(404, 202, "GET", "/infra/realized-state/realized-entities?intent_path="+routes+"/a", nil)
		seconds(3)
		states, _ := c.state(routes + "/a")
		check(c.t, "partly", "REALIZED UNREALIZED", states)
	})
}
