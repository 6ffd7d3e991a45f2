// Package change implements how the provider writes to AWS on behalf of a
// Service: plans of steps, and the environment that they are applied in.
//
// What it promises: the same as package plan. The parts of writing that several
// kinds of load balancers share are implemented once, here.
package change

import (
	"errors"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Env is the environment in which steps are applied. IDs holds the IDs that
// earlier steps have stored for later ones.
type Env struct {
	EC2 client.EC2
	ELB client.ELB
	// ELBV2 makes later reads take the writes of steps into account.
	ELBV2 *snapshot.Snapshot
	IDs   plan.IDs
	// Wait is for steps that wait for a state.
	Wait Wait
	// Limits are the quotas that earlier plans have reached; nil for none.
	Limits *Limits
	// ListenersInTheWay means that AWS has not accepted new listeners beside those that exist.
	ListenersInTheWay bool

	warnings warnings
}

type (
	// Step is one write to AWS.
	Step = plan.Step[*Env]
	// Plan is a list of writes to AWS.
	Plan = plan.Plan[*Env]
	// Wait shortens how steps wait for a state, for tests.
	Wait = plan.Wait
)

// ErrNotAsWanted means that a resource to be created exists already with other
// settings. The next run observes it and removes the difference.
var ErrNotAsWanted = apierr.Mark(apierr.ErrConflict, errors.New("it exists already and is not as wanted"))

// Abort returns a step that ends the run: there is a conflict with a resource
// that is not ours.
func Abort(err error) Step { return plan.Refuse[*Env](err) }

// Resolve returns the IDs of references, nil if there are none.
func (e *Env) Resolve(refs []plan.Ref) ([]string, error) {
	var ids []string
	for _, ref := range refs {
		id, err := e.IDs.Resolve(ref)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}

	return ids, nil
}

// SameGroups reports whether two lists contain the same security groups, in any
// order. A group that does not exist yet is different.
func SameGroups(want []plan.Ref, have []string) bool {
	ids := lists.Map(want, func(ref plan.Ref) string { return ref.ID })

	return slices.Equal(plan.Sorted(ids), plan.Sorted(have))
}

// Detached returns the security groups that a load balancer has and is to lose.
func Detached(attached []string, wanted []plan.Ref) []string {
	return lists.Without(attached, lists.Map(wanted, func(ref plan.Ref) string { return ref.ID }))
}

// SecurityGroupKey is the key under which a step stores the ID of a security
// group.
func SecurityGroupKey(name string) string { return "security-group " + name }
