package openstack

import (
	"context"
	"reflect"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// patchAge is for how long the sync that our own annotations cause is recognized.
const patchAge = 30 * time.Second

// patch is the request of a Service with the annotations that were written at the end of a sync: the
// service controller syncs it again at once, although everything is as it should be. The zero
// value is none.
type patch struct {
	request *request.Request
	at      time.Time
}

// patch returns what is stored of a sync that has written annotations, nothing if the Service had
// them already. Requests share lists of the same Nodes, which are most of them in a large cluster.
func (r *run) patch(values map[annotation.Name]string) patch {
	same := true
	for name, value := range values {
		same = same && name.Value(r.service) == value
	}
	if same || !r.create {
		return patch{}
	}
	wanted := *r.request
	wanted.LoadBalancerID = values[request.AnnotationLoadBalancerID]
	if addr := values[request.AnnotationLoadBalancerAddress]; addr != "" {
		wanted.Published = addr
	}
	if last := r.stored.Load(); last != nil {
		wanted.Members = lists.Shared(wanted.Members, last.Members)
	}
	wanted.DetectFrom = lists.Shared(wanted.DetectFrom, wanted.Members)
	r.stored.Store(&wanted)

	return patch{&wanted, time.Now()}
}

// take reports whether a request differs from that of the last sync by the annotations that it has
// written, and nothing else, and drops that. It is of no use after an age.
func (p *patch) take(in input, age time.Duration) bool {
	last := *p
	*p = patch{}

	return last.request != nil && in.create && time.Since(last.at) < age && reflect.DeepEqual(last.request, in.request)
}

// isOwnPatch reports whether the Service is synced because its annotations were just
// written, and its load balancer is ACTIVE, which is all that is read then.
func (r *run) isOwnPatch(ctx context.Context) (bool, error) {
	if !r.state.patched.take(r.input, patchAge) || r.isUnclear() {
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
