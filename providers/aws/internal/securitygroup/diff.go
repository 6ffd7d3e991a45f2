package securitygroup

import (
	"fmt"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Diff plans the changes to the managed group of a load balancer: first what is
// missing, then removed sources of ports that stay. A failure to add rules does
// not end the plan. It returns a second plan for ports that are removed: a
// listener may need them until it is replaced. Without a managed group there is
// nothing to do.
func Diff(m *Managed, vpc string, id cluster.ID) (staying, going change.Plan, err error) {
	if m == nil {
		return nil, nil, nil
	}
	if m.Existing == nil {
		return change.Plan{
			create(m, vpc, id),
			authorize(m.ref(), m.Rules, 0).Isolate(),
		}, nil, nil
	}
	tags, err := missingTags(m.Existing, id)
	if err != nil {
		return nil, nil, err
	}
	if len(tags) > 0 {
		staying = append(staying, tag(m.ref(), tags))
	}
	have := len(m.Existing.Rules)
	missing := m.Rules.without(m.Existing.Rules)
	if len(missing) > 0 {
		staying = append(staying, authorize(m.ref(), missing, have).Isolate())
	}
	surplus := m.Existing.Rules.without(m.Rules)
	sources := surplus.onPortsOf(m.Rules)
	if len(sources) > 0 {
		staying = append(staying, revoke(m.ref(), sources, missing, have).Dispensable())
	}
	if ports := surplus.without(sources); len(ports) > 0 {
		going = append(going, revoke(m.ref(), ports, missing, have-len(sources)))
	}

	return staying, going, nil
}

// missingTags returns the ownership tags that a group with our name lacks. A
// group with a tag of another cluster is a conflict.
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
	return lists.Map(groups, func(group *Group) change.Step {
		return removal{id: group.ID, name: group.Name, deletedAt: deletedAt}.step()
	})
}
