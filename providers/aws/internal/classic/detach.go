package classic

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// DetachSecurityGroups returns the step that detaches groups from a load
// balancer which it temporarily kept in addition to those of its model.
func DetachSecurityGroups(m *Model, kept []plan.Ref) change.Step {
	ids := make([]string, 0, len(kept))
	for _, ref := range kept {
		ids = append(ids, ref.ID)
	}

	return applySecurityGroups(m.Name, m.SecurityGroups, ids)
}
