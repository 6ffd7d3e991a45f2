package openstack

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// patchAge is for how long the sync that our own annotations cause is recognized.
const patchAge = 30 * time.Second

// patches has the Services whose annotations were written at the end of a sync: the service
// controller syncs them again at once, although everything is as it should be.
type patches struct {
	// age is how long a Service is stored.
	age time.Duration

	mu   sync.Mutex
	all  map[types.UID]patch
	last *request.Request
}

// patch is the request of a Service with the annotations that were written.
type patch struct {
	request *request.Request
	at      time.Time
}

// put stores the request of a Service, unless it had the annotations already. Requests
// share lists of the same Nodes, which are most of them in a large cluster.
func (p *patches) put(in input, values map[annotation.Name]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.all, func(_ types.UID, old patch) bool { return time.Since(old.at) >= p.age })
	same := true
	for name, value := range values {
		same = same && name.Value(in.service) == value
	}
	if same || !in.create {
		delete(p.all, in.service.UID)

		return
	}
	r := *in.request
	r.LoadBalancerID = values[request.AnnotationLoadBalancerID]
	if addr := values[request.AnnotationLoadBalancerAddress]; addr != "" {
		r.Published = addr
	}
	if len(p.all) == 0 {
		p.all, p.last = map[types.UID]patch{}, &r
	}
	r.Members = lists.Shared(r.Members, p.last.Members)
	r.DetectFrom = lists.Shared(r.DetectFrom, r.Members)
	p.all[in.service.UID], p.last = patch{&r, time.Now()}, &r
}

// take reports whether a request differs from that of the last sync by the annotations
// that it has written, and nothing else. It does so once.
func (p *patches) take(in input) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.all[in.service.UID]
	delete(p.all, in.service.UID)

	return ok && in.create && time.Since(last.at) < p.age && reflect.DeepEqual(last.request, in.request)
}

// drop removes a Service that has no load balancer.
func (p *patches) drop(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, uid)
}

// isOwnPatch reports whether the Service is synced because its annotations were just
// written, and its load balancer is ACTIVE, which is all that is read then.
func (r *run) isOwnPatch(ctx context.Context) (bool, error) {
	if !r.patched.take(r.input) || r.isUnclear() {
		return false, nil
	}
	info, err := r.Octavia.GetLoadBalancer(ctx, r.id)
	if certainty.ResponseOf(err) == certainty.NotFound {
		return false, nil // a replica of the database may not have it yet
	}
	if err != nil || info.Provisioning != client.ProvisioningActive {
		return false, err
	}
	r.addr = r.publishedAddress()

	return r.addr.IsValid(), nil
}
