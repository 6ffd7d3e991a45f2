package service

import (
	"cmp"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// targetCounts are how many targets the load balancers of Services have. The zero value is empty, and reports nothing.
type targetCounts struct {
	mu       sync.Mutex
	recorder *metrics.Recorder
	all      map[types.UID]targetCount
}

type targetCount struct {
	targets.Count

	policy v1.ServiceExternalTrafficPolicy
}

// CountTargets notes for metrics what was chosen in an operation that has succeeded. One that chose nothing leaves
// what was there.
func (r *Reconciler[S]) CountTargets(svc *v1.Service, chosen *targets.Subset) {
	if count := chosen.Count(); count != (targets.Count{}) {
		r.targets.put(svc.UID, &targetCount{count, cmp.Or(svc.Spec.ExternalTrafficPolicy, v1.ServiceExternalTrafficPolicyCluster)})
	}
}

// put stores the targets of a Service, nil for none, and reports the sums.
func (t *targetCounts) put(uid types.UID, count *targetCount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recorder == nil {
		return
	}
	if count != nil {
		t.all[uid] = *count
	} else {
		delete(t.all, uid)
	}
	for _, policy := range []v1.ServiceExternalTrafficPolicy{v1.ServiceExternalTrafficPolicyCluster, v1.ServiceExternalTrafficPolicyLocal} {
		var sum targets.Count
		for _, c := range t.all {
			if c.policy == policy {
				sum.Wanted, sum.Chosen, sum.Quota = sum.Wanted+c.Wanted, sum.Chosen+c.Chosen, sum.Quota+c.Quota
			}
		}
		t.recorder.Targets(string(policy), sum.Wanted, sum.Chosen, sum.Quota)
	}
}
