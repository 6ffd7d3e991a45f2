package openstack

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// TestPatch: what is stored of Services whose annotations were written has the lists of
// their Nodes once, and is used once, and not for longer than it counts.
func TestPatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l loadBalancer
		patched := func() (patch, input) {
			nodes := []request.Target{{Node: "node-1"}, {Node: "node-2"}}
			r := run{loadBalancer: &l, input: input{service: web(), create: true, request: &request.Request{Members: nodes, DetectFrom: nodes[:2:2]}}}
			stored := r.patch(map[annotation.Name]string{request.AnnotationLoadBalancerID: webUID})
			r.request.LoadBalancerID = webUID

			return stored, r.input
		}
		first, in := patched()
		second, _ := patched()
		if a, b := first.request, second.request; &a.Members[0] != &b.Members[0] || &b.DetectFrom[0] != &b.Members[0] {
			t.Error("each has a list of its own")
		}
		if !first.take(in, patchAge) || first.take(in, patchAge) {
			t.Error("nothing but the annotations has changed, once")
		}
		time.Sleep(patchAge)
		if second.take(in, patchAge) {
			t.Error("it is too old")
		}
	})
}
