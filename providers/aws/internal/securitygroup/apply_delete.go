package securitygroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// How long the deletion of a Service waits for a group that is in use before the
// group is left: by rules of users, which only they can remove, or by network
// interfaces, which AWS removes some minutes after their load balancer.
const (
	waitForRules      = 10 * time.Minute
	waitForInterfaces = time.Hour
)

// GroupLeft is the reason of the warning about a group that was not deleted.
const GroupLeft service.Reason = "SecurityGroupLeft"

// ErrInUse means that a group cannot be deleted yet. It is also
// apierr.ErrConflict.
var ErrInUse = apierr.Mark(apierr.ErrConflict, errors.New("the security group is in use"))

// remove deletes a group. One that is in use is an error at once: AWS needs
// minutes, and others are waiting.
func remove(id, name string, deletedAt time.Time) change.Step {
	text := fmt.Sprintf("delete security group %s (%s)", id, name)
	return plan.NewStep("DeleteSecurityGroup", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(id)})
		switch {
		case hasCode(err, codeGroupMissing):
			return nil
		case hasCode(err, codeInUse):
			return inUse(ctx, env, id, name, deletedAt)
		default:
			return err
		}
	}).Removal()
}

// inUse returns an error that names the groups with rules that refer to the group.
// Once the deletion of the Service has waited long enough, the group is left with
// a warning instead.
func inUse(ctx context.Context, env *change.Env, id, name string, deletedAt time.Time) error {
	referring, err := describe(ctx, env.EC2, []types.Filter{awstype.Filter(filterReferring, id)})
	delete(referring, id) // its own rules go with it
	if err != nil {
		return fmt.Errorf("%w; find the rules that name it: %w", ErrInUse, err)
	}
	why, limit := "network interfaces of the load balancer, which AWS removes some minutes after it", waitForInterfaces
	if len(referring) > 0 {
		why, limit = "rules of "+strings.Join(slices.Sorted(maps.Keys(referring)), ", "), waitForRules
	}
	if deletedAt.IsZero() || time.Since(deletedAt) < limit {
		return fmt.Errorf("%w by %s", ErrInUse, why)
	}
	env.Warn(service.Warn(GroupLeft, "Security group %s (%s) is not deleted because it is in use by %s; delete it when it is not", id, name, why))
	return nil
}
