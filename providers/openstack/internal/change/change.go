// Package change implements how the provider writes to OpenStack on behalf of a Service:
// plans of steps, and the environment that they are applied in.
//
// What it promises: the same as package plan; a change of a load balancer is sent when the
// load balancer can be changed, is never sent again unless Octavia has refused it, and has
// ended before the next one begins. A load balancer that cannot be changed costs one wait
// for all steps of a plan.
package change

import (
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/keylock"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
)

// Env is the environment in which the steps of one plan are applied. IDs holds the IDs that
// earlier steps have stored for later ones.
type Env struct {
	Octavia *client.LoadBalancerService
	Network *client.NetworkService
	Waiter  *pending.Waiter
	IDs     plan.IDs
	// Wrote is called with the ID of a load balancer before each change of it, and once
	// the change has ended, so that later reads take it into account. It may be nil.
	Wrote func(loadBalancer string)
	// Refused are the members that Octavia has refused, for all plans of the process; nil for
	// none.
	Refused *Refusals
	// Created is the load balancer that the plan has created, nil for none.
	Created *client.LoadBalancerInfo
	// Repaired are the pools that the plan has repaired, see package octavia.
	Repaired []string
	// RulesOverQuota means that a security group lacks rules because of a quota.
	RulesOverQuota bool
	// Ports has a lock for each port of a Node, for all plans of the process: several
	// Services change the groups of one port. Nil is none.
	Ports *keylock.Set

	mu       sync.Mutex
	warnings []service.Warning
	gaps     []service.Gap
	// blocked are the load balancers that could not be changed, with the reason.
	blocked map[string]error
}

type (
	// Step is one write to OpenStack.
	Step = plan.Step[*Env]
	// Plan is a list of writes to OpenStack.
	Plan = plan.Plan[*Env]
)

// Abort returns a step that ends the run: there is a conflict with a resource that is not
// ours.
func Abort(err error) Step { return plan.Refuse[*Env](err) }
