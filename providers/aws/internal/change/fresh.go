package change

import (
	"context"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// How long the creation of a load balancer is repeated while its new security
// group is unknown to Elastic Load Balancing, and how often. What EC2 creates is
// not visible to all services at once:
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
const (
	newGroupLimit    = 10 * time.Second
	newGroupInterval = time.Second
)

// codesUnknownGroup are the error codes for a security group that Elastic Load
// Balancing does not know.
var codesUnknownGroup = []string{"InvalidSecurityGroup", "InvalidConfigurationRequest"}

// WithGroups makes a call with the IDs of security groups. If the plan has created
// one of them, the call is repeated for a short time while the group is unknown.
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
