package change

import (
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Reasons of warnings about instances that AWS does not accept.
const (
	// TargetRefused is the reason for instances that AWS rejects as targets.
	TargetRefused service.Reason = "TargetRefused"
	// TargetQuotaExceeded is the reason for instances that exceed a quota of
	// targets.
	TargetQuotaExceeded service.Reason = "TargetQuotaExceeded"
)

// QuotaExceeded is the reason of warnings about parts of a load balancer that
// exceed a quota of AWS.
const QuotaExceeded service.Reason = "LoadBalancerQuotaExceeded"

// WarnOfQuota warns the user of a part that a load balancer lacks, if an error
// is about a quota. It returns the error.
func (e *Env) WarnOfQuota(balancer, part string, err error) error {
	if IsQuota(err) {
		e.Warn(service.Warn(QuotaExceeded, "Load balancer %s has no %s, which exceeds a quota of AWS (%s: %s)",
			balancer, part, client.Code(err), message(err)))
	}

	return err
}

// Refusal is a set of instances that AWS does not accept as targets of a load
// balancer.
type Refusal struct {
	// LoadBalancer is the name of the load balancer, TargetGroup the name of
	// its target group if it has any.
	LoadBalancer, TargetGroup string
	// IDs are the IDs of the instances.
	IDs []string
	// Quota is set if AWS rejects the number of instances, not these instances.
	Quota bool
	// Reason is AWS's message.
	Reason string
}

// Warning returns the warning for the user.
func (r Refusal) Warning() service.Warning {
	if !r.Quota {
		return service.Warn(TargetRefused, "Load balancer %s sends nothing to instances that AWS refuses: %s (%s)",
			r.LoadBalancer, plan.FewCommas(plan.Sorted(r.IDs)), r.Reason)
	}
	part := ""
	if r.TargetGroup != "" {
		part = " in target group " + r.TargetGroup
	}

	return service.Warn(TargetQuotaExceeded, "Load balancer %s sends nothing to %d instances%s, which exceed a quota of AWS (%s)",
		r.LoadBalancer, len(r.IDs), part, r.Reason)
}

// Refuse stores instances that AWS does not accept. Each is a warning for the
// user.
func (e *Env) Refuse(refusals ...Refusal) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.refusals = append(e.warnings.refusals, refusals...)
}

// Refusals returns the instances that AWS did not accept while the plan was
// applied.
func (e *Env) Refusals() []Refusal {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()

	return slices.Clone(e.warnings.refusals)
}
