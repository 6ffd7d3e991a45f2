package change

import (
	"errors"
	"slices"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// warnings are those of the steps that ran.
type warnings struct {
	mu        sync.Mutex
	list      []service.Warning
	shortages []Shortage
	refusals  []Refusal
}

// Shortage is a warning about what a quota leaves no room for. A later step may make
// room.
type Shortage struct {
	// Subject is what has a quota.
	Subject string
	// HealthChecks reports whether nodes do not let in some health checks.
	HealthChecks bool
	service.Warning
}

// ErrNoRoom means that health checks stay where they are, because a security group of
// nodes has no room for the rules that let the new ones in.
var ErrNoRoom = apierr.Mark(apierr.ErrConflict, errors.New("it waits until the security groups of the nodes have room for the rules of its health checks"))

// Warn keeps a warning for the user. It is for a step that did most of its work.
func (e *Env) Warn(w service.Warning) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.list = append(e.warnings.list, w)
}

// AddShortage keeps a shortage.
func (e *Env) AddShortage(shortage Shortage) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.shortages = append(e.warnings.shortages, shortage)
}

// Shortages returns those that no later step has cleared.
func (e *Env) Shortages() []Shortage {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	return slices.Clone(e.warnings.shortages)
}

// HasShortage reports whether there is a shortage of a subject.
func (e *Env) HasShortage(subject string) bool {
	return slices.ContainsFunc(e.Shortages(), func(s Shortage) bool { return s.Subject == subject })
}

// ClearShortage drops the shortage of a subject.
func (e *Env) ClearShortage(subject string) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.shortages = slices.DeleteFunc(e.warnings.shortages, func(s Shortage) bool { return s.Subject == subject })
}

// RoomForHealthChecks returns [ErrNoRoom] if nodes do not let in all health checks
// for lack of room.
func (e *Env) RoomForHealthChecks() error {
	if slices.ContainsFunc(e.Shortages(), func(s Shortage) bool { return s.HealthChecks }) {
		return ErrNoRoom
	}
	return nil
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
		add(w)
	}
	for _, shortage := range e.warnings.shortages {
		add(shortage.Warning)
	}
	for _, refusal := range e.warnings.refusals {
		add(refusal.Warning())
	}
	return all
}

// Complete reports whether the steps did all of their work, but for what quotas
// leave no room for, and instances that AWS did not accept.
func (e *Env) Complete() bool {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	return len(e.warnings.list) == 0
}
