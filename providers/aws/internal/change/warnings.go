package change

import (
	"slices"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// The reasons of warnings about what AWS refuses while a plan is applied.
const (
	// TargetRefused is an instance that AWS does not let a load balancer send to.
	TargetRefused service.Reason = "TargetRefused"
	// TargetQuotaExceeded is that there are more instances than AWS lets a load
	// balancer send to.
	TargetQuotaExceeded service.Reason = "TargetQuotaExceeded"
)

// warnings are those of the steps that ran.
type warnings struct {
	mu   sync.Mutex
	list []service.Warning
}

// Warn keeps a warning for the user, once. It is for a step that did most of its
// work.
func (e *Env) Warn(warning service.Warning) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	if !slices.Contains(e.warnings.list, warning) {
		e.warnings.list = append(e.warnings.list, warning)
	}
}

// Warnings returns the warnings of the steps that ran, in order. They are complete
// after the plan was applied, with or without an error.
func (e *Env) Warnings() []service.Warning {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	return slices.Clone(e.warnings.list)
}
