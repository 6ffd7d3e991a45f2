// Package change is how the provider writes to AWS on behalf of a Service: plans
// of steps, and what they are applied with.
//
// What it promises: the same promises as package plan; whatever several kinds of
// load balancers have in common about writing is here once.
package change

import (
	"context"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Env is what steps are applied with. IDs holds what they learn about each
// other.
type Env struct {
	EC2   client.EC2
	ELB   client.ELB
	ELBV2 client.ELBV2
	IDs   plan.IDs
	// Wait is for steps that wait for a state.
	Wait Wait
}

type (
	// Step is one write to AWS.
	Step = plan.Step[*Env]
	// Plan is a list of writes to AWS.
	Plan = plan.Plan[*Env]
)

// Refuse is a step that ends the run: what is in the way is not ours.
type Refuse struct{ Err error }

var _ Step = Refuse{}

// Kind implements plan.Step.
func (s Refuse) Kind() string { return "Refuse" }

func (s Refuse) String() string { return "refuse: " + s.Err.Error() }

// Apply implements plan.Step.
func (s Refuse) Apply(context.Context, *Env) error { return s.Err }

// Resolve gives the IDs behind references, nil without any.
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

// SameGroups compares security groups without regard to their order. One that is
// not made yet is different.
func SameGroups(want []plan.Ref, have []string) bool {
	ids := make([]string, 0, len(want))
	for _, ref := range want {
		ids = append(ids, ref.ID)
	}
	return slices.Equal(sorted(ids), sorted(have))
}

// sorted is a copy of list in order and without repetition.
func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// SecurityGroupKey is the key under which a step learns the ID of a security
// group.
func SecurityGroupKey(name string) string { return "security-group " + name }
