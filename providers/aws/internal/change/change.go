// Package change is how the provider writes to AWS on behalf of a Service: plans
// of steps, and what they are applied with.
//
// What it promises: the same promises as package plan; whatever several kinds of
// load balancers have in common about writing is here once.
package change

import (
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

// SecurityGroupKey is the key under which a step learns the ID of a security
// group.
func SecurityGroupKey(name string) string { return "security-group " + name }
