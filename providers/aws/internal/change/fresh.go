package change

import (
	"context"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// How long and how often the creation of a load balancer is retried while
// Elastic Load Balancing does not find its new security group. A resource of
// EC2 is not visible to all services at once:
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
const (
	newGroupLimit    = 10 * time.Second
	newGroupInterval = time.Second
)

// codesUnknownGroup are the error codes for a security group that Elastic Load
// Balancing does not find.
var codesUnknownGroup = []string{"InvalidSecurityGroup", "InvalidConfigurationRequest"}

// WithGroups makes a call with the IDs of security groups. If the plan has
// created one of them, the call is retried for a short time while the group is
// not found.
func (e *Env) WithGroups(ctx context.Context, refs []plan.Ref, call func(ids []string) error) error {
	ids, err := e.Resolve(refs)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(refs, func(ref plan.Ref) bool { return ref.ID == "" }) {
		return call(ids)
	}

	return e.Wait.Poll(ctx, newGroupInterval, newGroupLimit, func() (done bool, err error) {
		err = call(ids)

		return !slices.Contains(codesUnknownGroup, client.Code(err)), err
	})
}
