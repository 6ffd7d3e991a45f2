// Package change is how the provider writes to AWS on behalf of a Service: plans
// of steps, and what they are applied with.
//
// What it promises: the same promises as package plan; whatever several kinds of
// load balancers have in common about writing is here once.
package change

import (
	"errors"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Env is what steps are applied with. IDs holds those that earlier steps have
// stored for later ones.
type Env struct {
	EC2 client.EC2
	ELB client.ELB
	// ELBV2 takes the writes of steps into account in what is read later.
	ELBV2 *snapshot.Snapshot
	IDs   plan.IDs
	// Wait is for steps that wait for a state.
	Wait Wait
	// Limits are the quotas that earlier plans have reached; nil for none.
	Limits *Limits

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

// ErrNotAsWanted is that something which was to be created exists already, and has
// what is not wanted. The next run observes it, and removes that.
var ErrNotAsWanted = apierr.Mark(apierr.ErrConflict, errors.New("it exists already and is not as wanted"))

// Abort returns a step that ends the run: what is in the way is not ours.
func Abort(err error) Step { return plan.Refuse[*Env](err) }

// Resolve returns the IDs behind references, nil without any.
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

// SameGroups reports whether two lists have the same security groups, without
// regard to their order. One that does not exist yet is different.
func SameGroups(want []plan.Ref, have []string) bool {
	ids := make([]string, 0, len(want))
	for _, ref := range want {
		ids = append(ids, ref.ID)
	}
	return slices.Equal(plan.Sorted(ids), plan.Sorted(have))
}

// Detached returns the security groups that a load balancer has and is not to
// have.
func Detached(attached []string, wanted []plan.Ref) []string {
	var ids []string
	for _, id := range attached {
		if !slices.ContainsFunc(wanted, func(ref plan.Ref) bool { return ref.ID == id }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// SecurityGroupKey is the key under which a step stores the ID of a security
// group.
func SecurityGroupKey(name string) string { return "security-group " + name }
