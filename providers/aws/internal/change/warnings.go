package change

import (
	"slices"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// warnings are those of the steps that ran.
type warnings struct {
	mu       sync.Mutex
	list     []service.Warning
	refusals []Refusal
}

// Warn keeps a warning for the user. It is for a step that did most of its work.
func (e *Env) Warn(warning service.Warning) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.list = append(e.warnings.list, warning)
}

// Warnings returns the warnings of the steps that ran, each once. They are
// complete after the plan was applied, with or without an error.
func (e *Env) Warnings() []service.Warning {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	var all []service.Warning
	add := func(warning service.Warning) {
		if !slices.Contains(all, warning) {
			all = append(all, warning)
		}
	}
	for _, warning := range e.warnings.list {
		add(warning)
	}
	for _, refusal := range e.warnings.refusals {
		add(refusal.Warning())
	}
	return all
}

// Complete reports whether the steps did all of their work, but for instances that
// AWS did not accept.
func (e *Env) Complete() bool {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	return len(e.warnings.list) == 0
}
