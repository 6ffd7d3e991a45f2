package change

import (
	"errors"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// Reasons of warnings. Those that AWS has, too, mean the same there.
const (
	// QuotaExceeded is the reason for parts that exceed a quota of the project.
	QuotaExceeded service.Reason = "LoadBalancerQuotaExceeded"
	// TargetRefused is the reason for nodes that Octavia does not accept as members.
	TargetRefused service.Reason = "TargetRefused"
	// ReasonFailed is the reason for a load balancer whose provisioning status is ERROR.
	ReasonFailed service.Reason = "LoadBalancerFailed"
	// ReasonPending is the reason for a load balancer that has been pending for long.
	ReasonPending service.Reason = "LoadBalancerPending"
)

// Warn stores a warning for the user. It is for a step that did most of its work.
func (e *Env) Warn(w service.Warning) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.warnings = append(e.warnings, w)
}

// Warnings returns the warnings of the steps that ran, without duplicates. They are complete
// after the plan was applied, with or without an error.
func (e *Env) Warnings() []service.Warning {
	e.mu.Lock()
	defer e.mu.Unlock()

	return lists.Distinct(slices.Clone(e.warnings))
}

// Lack stores something that a load balancer lacks although its step returns no error, so
// that it is synced again later.
func (e *Env) Lack(key, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gaps = append(e.gaps, service.Gap{Key: key, Text: text})
}

// Gaps returns what [Env.Lack] has stored.
func (e *Env) Gaps() []service.Gap {
	e.mu.Lock()
	defer e.mu.Unlock()

	return slices.Clone(e.gaps)
}

// WarnOfQuota warns the user of something that a load balancer lacks, such as "listener for
// TCP/80", if an error is about a quota. It returns the error.
func (e *Env) WarnOfQuota(loadBalancer, lacks string, err error) error {
	if errors.Is(err, apierr.ErrQuota) {
		e.Warn(service.Warn(QuotaExceeded, "Load balancer %s has no %s, which exceeds a quota of the project (%s)", loadBalancer, lacks, Message(err)))
	}

	return err
}

// RefusedTargets is the warning about members that Octavia has refused with a message.
func RefusedTargets(loadBalancer string, members []string, message string) service.Warning {
	return service.Warn(TargetRefused, "Load balancer %s sends nothing to members that Octavia refuses: %s (%s)",
		loadBalancer, plan.FewCommas(plan.Sorted(members)), message)
}

// Message returns what a service wrote about an error, for users. It is the same each time:
// IDs of requests are left out.
func Message(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*client.Error](err); ok {
		text = e.Message
	}

	return strings.TrimSuffix(strings.TrimSpace(text), ".")
}
