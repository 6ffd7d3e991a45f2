package service

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// statusClientName is the account of the service controller, which may write the
// status of Services also with --use-service-account-credentials.
const statusClientName = "service-controller"

// ErrServes marks the error of an operation whose load balancer serves nevertheless.
var ErrServes = errors.New("the load balancer serves")

// Publish returns the results of EnsureLoadBalancer after an operation with this
// status and error. The service controller writes no status if there is an error: that
// of a load balancer that has an address and is not complete, or serves in spite of the
// error, is written here. Without
// a client the address matters more than trying again.
func (r *Reconciler[S]) Publish(svc *v1.Service, status *v1.LoadBalancerStatus, err error) (*v1.LoadBalancerStatus, error) {
	if err == nil {
		return status, nil
	}
	switch {
	case !apierr.Has[*IncompleteError](err) && !errors.Is(err, ErrServes), len(status.Ingress) == 0, helpers.LoadBalancerStatusEqual(&svc.Status.LoadBalancer, status):
		return nil, err
	case r.builder == nil && !apierr.Has[*IncompleteError](err):
		return nil, err
	case r.builder == nil:
		r.Forget(svc)

		return status, nil
	}
	if failure := r.writeStatus(svc, status); failure != nil {
		return nil, failure
	}

	return nil, err
}

// writeStatus writes the status of a Service unless the Service was deleted. The
// client is made anew each time, since that is rare and may fail.
func (r *Reconciler[S]) writeStatus(svc *v1.Service, status *v1.LoadBalancerStatus) error {
	client, err := r.builder.Client(statusClientName)
	if err != nil {
		return fmt.Errorf("make the client that writes the status: %w", err)
	}
	updated := svc.DeepCopy()
	updated.Status.LoadBalancer = *status
	if _, err := helpers.PatchService(client.CoreV1(), svc, updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write %s to the status: %w", addressOf(status.Ingress[0]), err)
	}

	return nil
}

// addressOf describes the address of a load balancer.
func addressOf(ingress v1.LoadBalancerIngress) string {
	if ingress.Hostname != "" {
		return "hostname " + ingress.Hostname
	}

	return "IP " + ingress.IP
}
