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

// How long the deletion of a Service waits for a group that is in use before it
// leaves the group: for rules of users, which only they can remove, and for
// network interfaces, which AWS removes some minutes after their load balancer.
const (
	waitForRules      = 10 * time.Minute
	waitForInterfaces = time.Hour
)

// GroupLeft is the reason of the warning about a group that was not deleted.
const GroupLeft service.Reason = "SecurityGroupLeft"

// ErrInUse means that a group cannot be deleted yet. It is also
// apierr.ErrConflict.
var ErrInUse = apierr.Mark(apierr.ErrConflict, errors.New("the security group is in use"))

// removal is the deletion of a group that was created for a Service.
type removal struct {
	id, name string
	// deletedAt is when the deletion of the load balancer was requested, zero if it
	// was not.
	deletedAt time.Time
}

// step deletes the group. If the group is in use, it returns an error at once:
// AWS needs minutes, and other Services are waiting.
func (r removal) step() change.Step {
	text := fmt.Sprintf("delete security group %s (%s)", r.id, r.name)

	return plan.NewStep("DeleteSecurityGroup", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(r.id)})
		switch {
		case hasCode(err, codeGroupMissing):
			return nil
		case hasCode(err, codeInUse):
			return r.inUse(ctx, env)
		default:
			return err
		}
	}).Removal()
}

// inUse returns an error, or leaves the group with a warning that names the groups
// with rules that refer to it:
//
//	in use by           load balancer   then
//	rules of users      stays           the group is left, and each sync tries again
//	rules of users      is deleted      an error for [waitForRules], then it is left
//	network interfaces  stays           an error
//	network interfaces  is deleted      an error for [waitForInterfaces], then it is left
func (r removal) inUse(ctx context.Context, env *change.Env) error {
	referring, err := describe(ctx, env.EC2, []types.Filter{awstype.Filter(filterReferring, r.id)})
	if err != nil {
		return fmt.Errorf("%w; find the rules that name it: %w", ErrInUse, err)
	}
	delete(referring, r.id) // its own rules go with it
	// The filter may find rules that were removed a moment ago.
	maps.DeleteFunc(referring, func(_ string, group *Group) bool { return !group.Rules.refersTo(r.id) })
	why, limit := "network interfaces of the load balancer, which AWS removes some minutes after it", waitForInterfaces
	if len(referring) > 0 {
		why, limit = "rules of "+strings.Join(slices.Sorted(maps.Keys(referring)), ", "), waitForRules
	}
	stays := r.deletedAt.IsZero()
	switch {
	case stays && len(referring) > 0:
		env.Warn(service.Warn(GroupLeft, "Security group %s (%s) is not deleted because it is in use by %s; remove these rules", r.id, r.name, why))

		return nil
	case stays, time.Since(r.deletedAt) < limit:
		return fmt.Errorf("%w by %s", ErrInUse, why)
	}
	env.Warn(service.Warn(GroupLeft, "Security group %s (%s) is not deleted because it is in use by %s; delete it when it is not", r.id, r.name, why))

	return nil
}
