package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

const (
	// serviceClientName is the account of the service controller, which may write the
	// status of Services also with --use-service-account-credentials.
	serviceClientName = "service-controller"
	// statusResource is how annotations are written, as the service controller writes
	// finalizers (k8s.io/cloud-provider: service/helpers, PatchService): the permission for
	// the status is enough.
	statusResource = "status"
)

// publisher writes annotations of Services. It writes none before it has a builder.
type publisher struct {
	builder cloudprovider.ControllerClientBuilder
}

// annotate sets annotations of a Service, and removes those with an empty value. It makes
// no call if the Service has them. For a Service that was deleted, the error is that of the
// Kubernetes API that it is not found, and for one that was replaced by one of the same name,
// that there is a conflict. An ID that a user has set meanwhile stays.
func (p *publisher) annotate(ctx context.Context, svc *v1.Service, values map[annotation.Name]string) error {
	changes := map[string]*string{}
	for name, value := range values {
		switch old, set := svc.Annotations[string(name)]; {
		case value == "" && set:
			changes[string(name)] = nil
		case value != "" && old != value:
			changes[string(name)] = &value
		}
	}
	if len(changes) == 0 || p.builder == nil {
		return nil
	}
	client, err := p.builder.Client(serviceClientName)
	if err != nil {
		return fmt.Errorf("make the client that writes annotations: %w", err)
	}
	services := client.CoreV1().Services(svc.Namespace)
	if err := keepID(ctx, services, svc, changes); err != nil {
		return err
	}
	if len(changes) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": svc.UID, "annotations": changes}})
	if err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	if _, err := services.Patch(ctx, svc.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, statusResource); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}

	return nil
}

// keepID takes the ID of the load balancer from changes of annotations if the Service has
// another one now than when it was synced, which a user has set: a creation takes minutes. What
// an earlier sync has written is not the user's: it is in the record, too. A list needs
// no permission that the service controller does not have.
func keepID(ctx context.Context, services corev1.ServiceInterface, svc *v1.Service, changes map[string]*string) error {
	const id = request.AnnotationLoadBalancerID
	value, changed := changes[string(id)]
	if !changed {
		return nil
	}
	found, err := services.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, svc.Name).String()})
	if err != nil {
		return fmt.Errorf("read annotations: %w", err)
	}
	at := slices.IndexFunc(found.Items, func(now v1.Service) bool { return now.Name == svc.Name && now.UID == svc.UID })
	if at < 0 {
		return nil
	}
	now := &found.Items[at]
	set, recorded := id.Value(now), request.RecordOf(now)
	isOurs := set == "" || set == id.Value(svc) || value != nil && set == *value || len(recorded) > 0 && set == recorded[0]
	if !isOurs {
		delete(changes, string(id))
	}

	return nil
}

// published returns the annotations of a Service with a load balancer. The address is
// invalid as long as it is not known.
func published(id string, addr netip.Addr) map[annotation.Name]string {
	values := map[annotation.Name]string{request.AnnotationLoadBalancerID: id}
	if addr.IsValid() {
		values[request.AnnotationLoadBalancerAddress] = addr.String()
	}

	return values
}

// statusOf returns the status of a Service, without an address if that is not known.
func statusOf(r *request.Request, addr netip.Addr) *v1.LoadBalancerStatus {
	status := &v1.LoadBalancerStatus{}
	if addr.IsValid() {
		status.Ingress = []v1.LoadBalancerIngress{r.Ingress(addr)}
	}

	return status
}
