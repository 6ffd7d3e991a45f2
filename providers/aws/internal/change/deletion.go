package change

import (
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// codeProtected is the error code for a load balancer with deletion protection:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DeleteLoadBalancer.html
const codeProtected = "OperationNotPermitted"

// DeletionError returns the error of the call that deletes a load balancer,
// with what must be done before the deletion can succeed. A load balancer that
// does not exist counts as deleted.
func DeletionError(err error) error {
	switch {
	case errors.Is(err, apierr.ErrNotFound):
		return nil
	case client.Code(err) == codeProtected:
		return fmt.Errorf("the load balancer keeps serving until its attribute deletion_protection.enabled is set to false: %w", err)
	case errors.Is(err, apierr.ErrDenied):
		return fmt.Errorf("the load balancer keeps serving until the action elasticloadbalancing:DeleteLoadBalancer is allowed: %w", err)
	default:
		return err
	}
}
