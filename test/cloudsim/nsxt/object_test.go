package nsxt_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestRevision(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		r := route("10.244.1.0/24")
		c.want(400, 500127, "PUT", routes+"/a", with(r, "_revision", 0))
		made := c.put(routes+"/a", with(r, "unknown", "kept")).body
		check(c.t, "server fields", []any{float64(0), routes + "/a", "a", t1, "a", "StaticRoutes", "kept"}, []any{
			made["_revision"], made["path"], made["relative_path"], made["parent_path"], made["display_name"], made["resource_type"], made["unknown"],
		})
		c.want(412, 604, "PUT", routes+"/a", r)
		check(c.t, "revision", any(float64(1)), c.put(routes+"/a", made).body["_revision"])
		c.want(412, 604, "PUT", routes+"/a", made)
		c.want(200, 0, "PATCH", routes+"/a", r)
		patched := c.get(routes + "/a").body
		check(c.t, "a patch replaces", []any{float64(2), nil}, []any{patched["_revision"], patched["unknown"]})
		for _, shape := range nsxt.StaleShapes() {
			now := c.get(routes + "/a").body
			c.cloud.Interceptor().Inject("PutStaticRoute", simserver.Nth(1), simserver.Before(func() {
				if err := c.cloud.MakeStale(routes+"/a", shape); err != nil {
					c.t.Error(err)
				}
			}))
			got := c.call("PUT", routes+"/a", now)
			want := map[nsxt.StaleShape][2]int{
				nsxt.Stale412: {412, 604}, nsxt.Stale409: {409, 0}, nsxt.Stale500087: {400, 500087},
				nsxt.Stale500232: {400, 500232}, nsxt.Stale100148: {400, 100148}, nsxt.Stale500090: {404, 500090},
			}[shape]
			check(c.t, "stale", want, [2]int{got.status, got.code})
			c.put(routes+"/a", c.get(routes+"/a").body)
		}
	})
	simulate(t, nsxt.Spec{PartialPatch: true}, func(c *client) {
		c.put(routes+"/a", route("10.244.1.0/24"))
		c.want(200, 0, "PATCH", routes+"/a", nsxt.Object{"display_name": "x"})
		check(c.t, "the rest is kept", any("10.244.1.0/24"), c.get(routes + "/a").body["network"])
	})
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	tags := func(n int, tag nsxt.Object) []nsxt.Object { return slices.Repeat([]nsxt.Object{tag}, n) }
	r := route("10.244.1.0/24")
	simulate(t, nsxt.Spec{}, func(c *client) {
		for reason, body := range map[string]nsxt.Object{
			"no network":       with(r, "network", nil),
			"malformed":        with(r, "network", "10.244.1.0"),
			"no hops":          with(r, "next_hops", nil),
			"other family":     with(r, "network", "fd00:244::/64"),
			"long name":        with(r, "display_name", strings.Repeat("x", 256)),
			"long description": with(r, "description", strings.Repeat("x", 1025)),
			"long scope":       with(r, "tags", tags(1, nsxt.Object{"scope": strings.Repeat("x", 129)})),
			"long tag":         with(r, "tags", tags(1, nsxt.Object{"tag": strings.Repeat("x", 257)})),
			"many tags":        with(r, "tags", tags(31, nsxt.Object{"tag": "x"})),
			"other type":       with(r, "resource_type", "LBPool"),
		} {
			if got := c.call("PUT", routes+"/a", body); got.status != 400 || got.code != 255 {
				c.t.Errorf("%s: got %d/%d", reason, got.status, got.code)
			}
		}
		c.put(routes+"/a", with(r, "tags", append(tags(29, nsxt.Object{"tag": "x"}), nsxt.Object{"scope": "y"})))
		c.put(routes+"/b", route("fd00:244::/64"))
		c.want(404, 600, "PUT", "/infra/tier-1s/t2/static-routes/a", r)
		c.want(404, 600, "GET", "/infra/tier-1s/t2/static-routes", nil)
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		r := route("10.244.1.0/24")
		c.put(routes+"/a", r)
		seconds(1)
		check(c.t, "leaks", []string{routes + "/a"}, c.cloud.Leaks())
		c.want(200, 0, http.MethodDelete, routes+"/a", nil)
		c.want(404, 600, "GET", routes+"/a", nil)
		c.want(404, 600, http.MethodDelete, routes+"/a", nil)
		c.want(400, 500045, "PUT", routes+"/a", r)
		c.want(400, 500045, "PATCH", routes+"/a", r)
		check(c.t, "list", []string{}, ids(c.get(routes)))
		check(c.t, "marked ones", []string{"a"}, ids(c.get(routes+"?include_mark_for_delete_objects=true")))
		check(c.t, "leaks", []string{}, c.cloud.Leaks())
		seconds(1)
		check(c.t, "search", []string{"a"}, c.search("resource_type:StaticRoutes AND marked_for_delete:true"))
		seconds(2)
		c.put(routes+"/a", r)
	})
}

func TestDirect(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{}, func(c *client) {
		r := route("10.244.1.0/24")
		must := func(err error) {
			if err != nil {
				c.t.Error(err)
			}
		}
		must(c.cloud.Put(routes+"/seed", r))
		must(c.cloud.Put(routes+"/gone", r))
		must(c.cloud.Put(routes+"/kept", r))
		snapshot := c.cloud.Snapshot()
		c.want(200, 0, "PATCH", routes+"/seed", route("10.244.2.0/24"))
		c.want(200, 0, http.MethodDelete, routes+"/gone", nil)
		c.put(routes+"/made", r)
		must(c.cloud.Delete(routes + "/kept"))
		check(c.t, "leaks", []string{routes + "/made", "changed " + routes + "/seed", "lost " + routes + "/gone"}, c.cloud.Leaks())
		check(c.t, "resources", 2, len(c.cloud.Resources()))
		found, _ := c.cloud.Get(routes + "/made")
		check(c.t, "network", any("10.244.1.0/24"), found["network"])
		check(c.t, "routes", 2, len(c.cloud.List("StaticRoutes")))
		c.cloud.Restore(snapshot)
		check(c.t, "leaks", []string{}, c.cloud.Leaks())
		check(c.t, "routes", 3, len(c.cloud.List("StaticRoutes")))
		if c.cloud.Delete(routes+"/made") == nil || c.cloud.Put("/infra", r) == nil {
			c.t.Error("there is no error")
		}
	})
}
