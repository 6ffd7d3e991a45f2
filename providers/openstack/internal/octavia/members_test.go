package octavia_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// OS-LB-11: beside many members, a few that leave are removed by calls of their own, which leave the others
// alone; with more that leave, all members are written in one call.
func TestFewMembersLeave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason        string
		options       openstack.Options
		first, second int // the Nodes that are left: from the first to the last one
		deleted, put  int
		added         int
	}{
		"few":                     {reason: "two of 25", first: 3, second: 25, deleted: 2},
		"few, one joins":          {reason: "additive updates", first: 3, second: 26, deleted: 2, put: 1},
		"few, one joins, old API": {reason: "no additive updates", options: openstack.Options{Profile: openstack.Bare}, first: 3, second: 26, deleted: 2, added: 1},
		"many":                    {reason: "four of 25", first: 5, second: 25, put: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.StaleReads = new(openstack.StaleReads) // calls are counted
			inBubble(t, c.options, func(f *writeFixture) {
				nodes := func(first, last int) (all []int) {
					for n := first; n <= last; n++ {
						all = append(all, n)
					}

					return all
				}
				svc := web(kubetest.Port(v1.ProtocolTCP, 80))
				f.addNodes(nodes(1, 25)...)
				f.ensure(svc)
				f.Interceptor().Reset()
				f.addNodes(nodes(c.first, c.second)...)
				f.ensure(svc)
				for op, want := range map[string]int{opDeleteMember: c.deleted, opMembers: c.put, opCreateMember: c.added} {
					f.sent(c.reason, op, want)
				}
				f.unchanged(c.reason, svc)
			})
		})
	}
}
