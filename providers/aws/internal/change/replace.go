package change

import (
	"context"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Replacement is targets that leave a load balancer, after those that come were
// registered as far as a quota allowed.
type Replacement[T any] struct {
	// TargetGroup is the name of the target group, empty for a classic load balancer.
	TargetGroup string
	// Items are the targets that leave.
	Items []T
	// Empty means that there was none of the targets that come before.
	Empty bool
	// Remove removes targets, Add registers some.
	Remove Bulk[T]
	Add    func(items []T) error
	// Named returns the targets of instances.
	Named func(ids []string) []T
}

// Replace removes the targets that leave. If others exceeded a quota, half of the
// targets are removed at a time, and the others take their places: at no time is there
// none. As long as none of the others is accepted, the last target stays, and so do
// all if a free place does not help.
func Replace[T any](ctx context.Context, env *Env, r Replacement[T]) error {
	size, serves := len(r.Items), !r.Empty
	if len(env.exceeding(r.TargetGroup)) > 0 {
		if size == 1 && !serves {
			return nil
		}
		size = (size + 1) / 2
	}
	for part := range slices.Chunk(r.Items, size) {
		if _, err := r.Remove.Do(ctx, part); err != nil {
			return err
		}
		waiting := env.exceeding(r.TargetGroup)
		if len(waiting) == 0 {
			continue
		}
		env.retry(r.TargetGroup)
		if err := r.Add(r.Named(waiting)); err != nil {
			return err
		}
		serves = serves || len(env.exceeding(r.TargetGroup)) < len(waiting)
		if !serves {
			return r.Add(part)
		}
	}

	return nil
}

// exceeding returns the instances that exceed the quota of a target group.
func (e *Env) exceeding(group string) []string {
	var ids []string
	for _, refusal := range e.Refusals() {
		if refusal.Quota && refusal.TargetGroup == group {
			ids = append(ids, refusal.IDs...)
		}
	}

	return ids
}

// retry drops what is stored about the instances that exceed the quota of a target
// group.
func (e *Env) retry(group string) {
	e.warnings.mu.Lock()
	defer e.warnings.mu.Unlock()
	e.warnings.refusals = lists.Filter(e.warnings.refusals, func(r Refusal) bool { return !r.Quota || r.TargetGroup != group })
}
