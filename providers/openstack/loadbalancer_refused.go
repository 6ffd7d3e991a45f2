package openstack

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// refusedAge is for how long a refused creation is not requested again because of the record
// of it. The first repetition of the service controller is later, after 5 s
// (k8s.io/cloud-provider: controllers/service, minRetryDelay).
const refusedAge = 4 * time.Second

// refusedCreation is a creation of a load balancer that OpenStack has refused.
type refusedCreation struct {
	at  time.Time
	err error
	// versions are those of the Service with the record of the request, and without it.
	versions []string
}

// refused stores that a load balancer was not created, and removes the record of the request,
// for which the next process would wait.
func (r *run) refused(ctx context.Context, err error) {
	r.state.requested = &lastCreation{over: true}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishLimit)
	defer cancel()
	recorded := r.recordOf(lists.Without(r.existing.Recorded, []string{request.Requested}))
	svc := r.service.DeepCopy()
	metav1.SetMetaDataAnnotation(&svc.ObjectMeta, string(request.AnnotationLoadBalancers), r.names.Record(r.existing.Kept, r.existing.Recorded...))
	version, failure := r.publisher.annotate(ctx, svc, recorded)
	if failure != nil {
		klog.FromContext(ctx).Error(failure, "Cannot write the annotations of a Service", "service", klog.KObj(r.service))
	}
	versions := slices.DeleteFunc([]string{r.recorded, version}, func(v string) bool { return v == "" })
	r.state.refused = refusedCreation{time.Now(), err, versions}
}

// refusal returns the error of a creation that was refused just now, if the Service has only
// been written by that: it is synced again at once because of it, and would be for ever.
func (r *run) refusal() error {
	last := r.state.refused
	if time.Since(last.at) >= refusedAge || !slices.Contains(last.versions, r.service.ResourceVersion) {
		return nil
	}

	return last.err
}
