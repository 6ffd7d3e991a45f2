package classic

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// DetachSecurityGroups returns the step that detaches groups from a load
// balancer which it temporarily kept in addition to those of its model.
func DetachSecurityGroups(m *Model, kept []plan.Ref) change.Step {
	ids := lists.Map(kept, func(ref plan.Ref) string { return ref.ID })

	return applySecurityGroups(m.Name, m.SecurityGroups, ids)
}
