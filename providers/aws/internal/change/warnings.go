package change

import (
	"errors"
	"slices"
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// warnings holds the warnings of the steps that ran.
type warnings struct {
	mu        sync.Mutex
	list      []service.Warning
	shortages []Shortage
	refusals  []Refusal
}

// Shortage is a warning about a quota that is reached. A later step may clear
// it.
type Shortage struct {
	// Subject is the resource that has the quota.
	Subject string
	// HealthChecks reports whether nodes block some health checks.
	HealthChecks bool
	service.Warning
}

// ErrNoRoom means that health checks stay where they are, because the rules
// that allow the new ones exceed the quota of a security group of nodes.
var ErrNoRoom = apierr.Mark(apierr.ErrConflict, errors.New("it waits until the security groups of the nodes have room for the rules of its health checks"))

// Warn stores a warning for the user. It is for a step that did most of its
// work.
func (e *Env) Warn(w service.Warning) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.list = append(e.warnings.list, w)
}

// AddShortage stores a shortage.
func (e *Env) AddShortage(shortage Shortage) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.shortages = append(e.warnings.shortages, shortage)
}

// Shortages returns the shortages that no later step has cleared.
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

// RoomForHealthChecks returns [ErrNoRoom] if nodes block some health checks
// because of a quota.
func (e *Env) RoomForHealthChecks() error {
	if slices.ContainsFunc(e.Shortages(), func(s Shortage) bool { return s.HealthChecks }) {
		return ErrNoRoom
	}

	return nil
}

// Warnings returns the warnings of the steps that ran, without duplicates. They
// are complete after the plan was applied, with or without an error.
func (e *Env) Warnings() []service.Warning {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	shortages := lists.Map(e.warnings.shortages, func(shortage Shortage) service.Warning { return shortage.Warning })
	all := slices.Concat(e.warnings.list, shortages, lists.Map(e.warnings.refusals, Refusal.Warning))

	return lists.Distinct(all)
}

// Complete reports whether the steps did all of their work, except for
// shortages and instances that AWS did not accept.
func (e *Env) Complete() bool {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()

	return len(e.warnings.list) == 0
}
