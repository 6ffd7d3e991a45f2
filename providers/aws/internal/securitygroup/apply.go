package securitygroup

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Timeouts and intervals of steps that wait for a state.
const (
	patience    = 30 * time.Second
	askForGroup = time.Second
)

// create creates a group, or uses the existing one with its name.
func create(m *Managed, vpc string, id cluster.ID) change.Step {
	text := fmt.Sprintf("create security group %s in %s, description %q, tags %s",
		m.Name, vpc, m.Description, plan.Pairs(m.Tags))

	return plan.NewStep("CreateSecurityGroup", text, func(ctx context.Context, env *change.Env) error {
		return createGroup(ctx, env, m, vpc, id)
	})
}

func createGroup(ctx context.Context, env *change.Env, m *Managed, vpc string, id cluster.ID) error {
	input := &ec2.CreateSecurityGroupInput{
		GroupName:   aws.String(m.Name),
		Description: aws.String(m.Description),
		VpcId:       aws.String(vpc),
	}
	if len(m.Tags) > 0 {
		input.TagSpecifications = []types.TagSpecification{{
			ResourceType: types.ResourceTypeSecurityGroup, Tags: awstype.EC2Tags(m.Tags),
		}}
	}
	made, err := env.EC2.CreateSecurityGroup(ctx, input)
	switch {
	case hasCode(err, codeGroupExists):
		return adopt(ctx, env, m, vpc, id)
	case err != nil:
		return err
	}
	env.IDs.Set(m.ref().Key, aws.ToString(made.GroupId))

	return nil
}

// adopt uses a group that was created before, possibly by a call whose response
// was lost, possibly without a tag. It keeps its rules: the next run, which
// observes it, removes those that are not wanted.
func adopt(ctx context.Context, env *change.Env, m *Managed, vpc string, id cluster.ID) error {
	var group *Group
	err := env.Wait.Poll(ctx, askForGroup, patience, func() (done bool, err error) {
		group, err = observeNamed(ctx, env.EC2, vpc, m.Name)

		return group != nil || err != nil, err
	})
	if err != nil {
		return fmt.Errorf("find the security group that has the name already: %w", err)
	}
	missing, err := missingTags(group, id)
	if err != nil {
		return err
	}
	env.IDs.Set(m.ref().Key, group.ID)
	if len(missing) > 0 {
		if err := addTags(ctx, env, plan.Ref{ID: group.ID}, missing); err != nil {
			return err
		}
	}
	if len(group.Rules.without(m.Rules)) > 0 {
		return plan.Partial(change.ErrNotAsWanted)
	}

	return nil
}

// tag adds tags to a group that exists.
func tag(group plan.Ref, tags map[string]string) change.Step {
	text := fmt.Sprintf("add to security group %s the tags %s", group, plan.Pairs(tags))

	return plan.NewStep("CreateTags", text, func(ctx context.Context, env *change.Env) error {
		return addTags(ctx, env, group, tags)
	})
}

func addTags(ctx context.Context, env *change.Env, group plan.Ref, tags map[string]string) error {
	id, err := env.IDs.Resolve(group)
	if err != nil {
		return err
	}
	_, err = env.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: awstype.EC2Tags(tags)})

	return err
}
