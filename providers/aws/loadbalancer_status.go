package aws

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
)

// statusClientName is the account of the service controller, which may write the
// status of Services also with --use-service-account-credentials.
const statusClientName = "service-controller"

// setClients sets where the client comes from that writes the status of Services. It
// is made when it is needed, which is rare, and anew each time: making it may fail.
func (l *loadBalancer) setClients(builder cloudprovider.ControllerClientBuilder) {
	l.kube = func() (kubernetes.Interface, error) { return builder.Client(statusClientName) }
}

// publish writes the hostname of a load balancer that serves and is not complete to
// the status of its Service, and returns the error that it is not: the service
// controller writes no status if there is an error. Without a client the hostname
// matters more than trying again.
func (l *loadBalancer) publish(svc *v1.Service, hostname string, incomplete error) (*v1.LoadBalancerStatus, error) {
	status := statusOf(hostname)
	if hostname == "" || helpers.LoadBalancerStatusEqual(&svc.Status.LoadBalancer, status) {
		return nil, incomplete
	}
	if l.kube == nil {
		l.retries.forget(lbname.ByUID(svc))
		return status, nil
	}
	kube, err := l.kube()
	if err != nil {
		return nil, fmt.Errorf("make the client that writes the status: %w", err)
	}
	updated := svc.DeepCopy()
	updated.Status.LoadBalancer = *status
	if _, err := helpers.PatchService(kube.CoreV1(), svc, updated); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("write hostname %s to the status: %w", hostname, err)
	}
	return nil, incomplete
}
