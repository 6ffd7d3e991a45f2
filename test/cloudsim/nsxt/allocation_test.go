package nsxt_test

import (
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

const allocations = "/infra/ip-pools/ext/ip-allocations"

func TestAllocation(t *testing.T) {
	t.Parallel()
	pools := []nsxt.Pool{{ID: "ext", Name: "external", Ranges: []string{"10.1.0.1-10.1.0.2", "fd00::1"}}}
	simulate(t, nsxt.Spec{Pools: pools, AllocationRetry: 10 * time.Second}, func(c *client) {
		expect := func(id, address string, code int) {
			c.t.Helper()
			_, got, gotCode := c.realized(allocations + "/" + id)
			check(c.t, id, address, got)
			check(c.t, id+": code", code, gotCode)
		}
		make := func(id, requested string) {
			c.t.Helper()
			c.put(allocations+"/"+id, nsxt.Object{"allocation_ip": requested})
			seconds(0.9)
			expect(id, "", 0)
			seconds(0.1)
		}
		check(c.t, "pool", any("external"), c.get("/infra/ip-pools/ext").body["display_name"])
		make("a", "")
		expect("a", "10.1.0.1", 0)
		make("used", "10.1.0.1")
		expect("used", "", 8212)
		check(c.t, "intent", any("10.1.0.1"), c.get(allocations + "/used").body["allocation_ip"])
		make("outside", "10.9.0.1")
		expect("outside", "", 8212)
		make("asked", "fd00::1")
		expect("asked", "fd00::1", 0)
		c.put(allocations+"/asked", nsxt.Object{"allocation_ip": "10.1.0.2", "display_name": "other"}) // does nothing
		expect("asked", "fd00::1", 0)
		check(c.t, "intent", any("fd00::1"), c.get(allocations + "/asked").body["allocation_ip"])
		make("b", "")
		expect("b", "10.1.0.2", 0)
		make("c", "")
		expect("c", "", 8212)
		c.want(200, 0, "DELETE", allocations+"/b", nil)
		seconds(2)
		make("d", "")
		expect("d", "10.1.0.2", 0) // is free when the allocation is gone
		c.want(200, 0, "DELETE", allocations+"/a", nil)
		c.want(200, 0, "DELETE", allocations+"/used", nil)
		seconds(3)
		c.get(t1)
		seconds(10)
		expect("c", "10.1.0.1", 0) // tried again
	})
	simulate(t, nsxt.Spec{Pools: pools, Balancing: nsxt.Balancing{AddressReturnsAtOnce: true}}, func(c *client) {
		code := func(id string) int {
			c.put(allocations+"/"+id, nsxt.Object{})
			seconds(1)
			_, code := c.state(allocations + "/" + id)

			return code
		}
		check(c.t, "first", 0, code("first"))
		snapshot := c.cloud.Snapshot()
		c.want(200, 0, "DELETE", allocations+"/first", nil)
		c.put(allocations+"/second", nsxt.Object{})
		seconds(1)
		_, address, _ := c.realized(allocations + "/second")
		check(c.t, "the same address", "10.1.0.1", address)
		c.cloud.Restore(snapshot)
		check(c.t, "another one", 0, code("second"))
		_, address, _ = c.realized(allocations + "/second")
		check(c.t, "the next address", "10.1.0.2", address)
		c.want(200, 0, "DELETE", allocations+"/first", nil)
		c.want(200, 0, "DELETE", allocations+"/second", nil)
		if err := c.cloud.Put("/infra/ip-pools/empty", nil); err != nil {
			c.t.Error(err)
		}
		c.put("/infra/ip-pools/empty/ip-allocations/a", nsxt.Object{})
		c.cloud.ExhaustPool("ext", true)
		check(c.t, "exhausted", 8212, code("a"))
		c.cloud.ExhaustPool("ext", false)
		c.cloud.CollideAllocations("ext", 2)
		check(c.t, "falsely exhausted", []int{8212, 8212}, []int{code("b"), code("c")})
		check(c.t, "one is left", []int{0, 8212}, []int{code("d"), code("e")})
	})
}
