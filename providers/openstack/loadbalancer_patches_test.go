package openstack

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// TestPatches: what is stored of Services whose annotations were written has the lists of
// their Nodes once, and not for longer than it counts.
func TestPatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := patches{age: patchAge}
		values := map[annotation.Name]string{request.AnnotationLoadBalancerID: webUID}
		put := func(uid types.UID) input {
			nodes := []request.Target{{Node: "node-1"}, {Node: "node-2"}}
			in := input{service: web(), create: true, request: &request.Request{Members: nodes, DetectFrom: nodes[:2:2]}}
			in.service.UID = uid
			p.put(in, values)
			in.request.LoadBalancerID = webUID

			return in
		}
		first, second := put("first"), put("second")
		a, b := p.all["first"].request, p.all["second"].request
		if &a.Members[0] != &b.Members[0] || &b.DetectFrom[0] != &b.Members[0] {
			t.Error("each has a list of its own")
		}
		if !p.take(first) {
			t.Error("nothing but the annotations has changed")
		}
		time.Sleep(patchAge)
		if p.take(second) {
			t.Error("it is too old")
		}
		put("third")
		time.Sleep(patchAge)
		if put("fourth"); len(p.all) != 1 {
			t.Errorf("%d are stored", len(p.all))
		}
	})
}
