package change

import (
	"slices"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// warnings are those of the steps that ran.
type warnings struct {
	mu       sync.Mutex
	list     []warning
	refusals []Refusal
}

// warning is one of them, with what it is about if a later step may change that.
type warning struct {
	subject string
	service.Warning
}

// Warn keeps a warning for the user. It is for a step that did most of its work.
func (e *Env) Warn(w service.Warning) { e.WarnAbout("", w) }

// WarnAbout keeps a warning about a subject, which a later step may clear.
func (e *Env) WarnAbout(subject string, w service.Warning) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.list = append(e.warnings.list, warning{subject, w})
}

// HasWarning reports whether there is a warning about a subject.
func (e *Env) HasWarning(subject string) bool {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	return slices.ContainsFunc(e.warnings.list, func(w warning) bool { return w.subject == subject })
}

// ClearWarning drops the warnings about a subject.
func (e *Env) ClearWarning(subject string) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.list = slices.DeleteFunc(e.warnings.list, func(w warning) bool { return w.subject == subject })
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
	for _, w := range e.warnings.list {
		add(w.Warning)
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
