package securitygroup

import (
	"fmt"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Diff plans how the managed group of a load balancer becomes what it is to be:
// first what is missing, then what is too much. A failure to add rules does not
// end the plan. Without a managed group there is nothing to do.
func Diff(m *Managed, vpc string, id cluster.ID) (change.Plan, error) {
	if m == nil {
		return nil, nil
	}
	if m.Existing == nil {
		return change.Plan{
			create(m, vpc, id),
			authorize(m.ref(), m.Rules, 0).Isolate(),
		}, nil
	}
	missing, err := missingTags(m.Existing, id)
	if err != nil {
		return nil, err
	}
	var steps change.Plan
	if len(missing) > 0 {
		steps = append(steps, tag(m.ref(), missing))
	}
	rules := m.Rules.without(m.Existing.Rules)
	if len(rules) > 0 {
		steps = append(steps, authorize(m.ref(), rules, len(m.Existing.Rules)).Isolate())
	}
	if surplus := m.Existing.Rules.without(m.Rules); len(surplus) > 0 {
		steps = append(steps, revoke(m.ref(), surplus, rules, len(m.Existing.Rules)))
	}
	return steps, nil
}

// missingTags are the tags by which a group that has the name of ours is known as
// ours. A group that another cluster has tagged is none.
func missingTags(group *Group, id cluster.ID) (map[string]string, error) {
	wanted := id.Tags()
	missing := map[string]string{}
	for key, value := range wanted {
		switch group.Tags[key] {
		case value:
		case "":
			missing[key] = value
		default:
			return nil, otherCluster(group, key)
		}
	}
	if id.Foreign(group.Tags) {
		return nil, otherCluster(group, "")
	}
	return missing, nil
}

func otherCluster(group *Group, key string) error {
	text := fmt.Sprintf("security group %s (%s) belongs to another cluster", group.ID, group.Name)
	if key != "" {
		text += fmt.Sprintf(" by its tag %s=%s", key, group.Tags[key])
	}
	return apierr.Mark(apierr.ErrConflict, fmt.Errorf("%s: remove the tag or the group", text))
}

// Delete plans to delete groups that were created for a Service. DeletedAt is when
// deletion of the Service was requested, zero if it was not.
func Delete(groups []*Group, deletedAt time.Time) change.Plan {
	var steps change.Plan
	for _, group := range groups {
		steps = append(steps, removal{id: group.ID, name: group.Name, deletedAt: deletedAt}.step())
	}
	return steps
}
