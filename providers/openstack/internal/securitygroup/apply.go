package securitygroup

import (
	"context"
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// groupRef is the group of a Service, which may have no ID yet.
type groupRef struct {
	plan.Ref

	name string
}

// String is the name of the group, and its ID if there is one.
func (g groupRef) String() string {
	if g.ID == "" {
		return g.name
	}

	return g.name + " (" + g.ID + ")"
}

// create creates the group. The name is looked up once more: the list in which it was
// missing may be older than a group whose creation got no response, and names need not be
// unique.
func create(names request.Names) change.Step {
	name := names.SecurityGroup()
	text := fmt.Sprintf("create security group %s, description %q", name, names.SecurityGroupDescription())

	return plan.NewStep("CreateSecurityGroup", text, func(ctx context.Context, env *change.Env) error {
		found, err := env.Network.SecurityGroupsByName(ctx, name)
		switch {
		case err != nil:
			return err
		case len(found) > 1:
			return ErrAmbiguous
		case len(found) == 1:
			env.IDs.Set(Key, found[0].ID)

			return nil
		}
		made, err := env.Network.CreateSecurityGroup(ctx, name, names.SecurityGroupDescription())
		if errors.Is(err, apierr.ErrQuota) {
			env.Warn(service.Warn(change.QuotaExceeded, "Security group %s is not created, which exceeds a quota of the project (%s)", name, change.Message(err)))
		}
		if err != nil {
			return err
		}
		env.IDs.Set(Key, made.ID)

		return nil
	}).Isolate()
}

// remove deletes the group with its rules. While a port has it, that is an error: the next
// run finds that port. It stays if a port may not be changed.
func remove(group groupRef) change.Step {
	return plan.NewStep("DeleteSecurityGroup", "delete security group "+group.String(), func(ctx context.Context, env *change.Env) error {
		if _, err := env.IDs.Get(keyKept + group.ID); err == nil {
			return nil
		}

		return env.Network.DeleteSecurityGroup(ctx, group.ID)
	}).Removal()
}

// concernsAll reports whether an error is not about what was written: the next write would
// fail like it.
func concernsAll(ctx context.Context, err error) bool {
	return errors.Is(err, apierr.ErrThrottled) || errors.Is(err, apierr.ErrUnavailable) || ctx.Err() != nil
}
