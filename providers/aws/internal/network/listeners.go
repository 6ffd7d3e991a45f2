package network

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// backend is a target group with the state that its listener needs.
type backend struct {
	named
	// needs are stored once the target group is as wanted. A listener must not
	// forward to it earlier.
	needs []plan.Ref
	// missing are the targets to be registered, surplus the ones to be
	// deregistered afterwards.
	missing, surplus []Target
	// have is the number of targets that are registered.
	have int
	// empty is set if no wanted target is registered yet.
	empty bool
}

// port plans a listener and the target group behind it.
func (d *differ) port(want Listener) {
	seen, exists := d.current(want)
	group := d.targetGroup(want)
	d.targetGroups = append(d.targetGroups, TargetGroupRef{Name: group.name, Port: want.TargetGroup.Port, Ref: group.ref})
	next := connected{Listener: want, balancer: d.self, group: group.named, needs: group.needs}
	switch {
	case !exists:
		d.addIsolated(createListener(next, d.model.Tags))
		d.register(group, false)
	case group.ref.ID == "" || seen.TargetGroup != group.ref.ID:
		first, rest := d.inheriting(group.missing, seen)
		if group.missing = first; d.register(group, group.empty) {
			next.needs = append(next.needs, plan.Ref{Key: targetsKey(group.name)})
		}
		d.modify(seen, next)
		group.missing = rest
		d.register(group, false)
	default:
		d.register(group, false)
		next.group, next.needs = named{}, nil
		d.modify(seen, next)
	}
	if len(group.surplus) > 0 {
		gone := deregistration{balancer: d.model.Name, group: group.named, targets: group.surplus, port: want.TargetGroup.Port, empty: group.empty}
		d.add(gone.step().Dispensable())
	}
}

// inheriting splits targets into the ones whose instances the listener sends to
// now, and the others. The quota of the load balancer, for which targets count
// as soon as a listener forwards to their group, has capacity for as many as
// there are now. If there are no such targets, all of them come first.
func (d *differ) inheriting(targets []Target, seen ListenerState) (first, rest []Target) {
	now := sets.New(lists.Map(d.byARN[seen.TargetGroup].Targets, func(target Target) string { return target.ID })...)
	if first, rest = lists.Split(targets, func(target Target) bool { return now.Has(target.ID) }); len(first) == 0 {
		return rest, nil
	}

	return first, rest
}

// current returns the existing listener on the port of a wanted one, the one
// with the same protocol if there are several.
func (d *differ) current(want Listener) (ListenerState, bool) {
	var found ListenerState
	exists := false
	for _, seen := range d.listeners() {
		if seen.Port == want.Port && (!exists || seen.Protocol == want.Protocol) {
			found, exists = seen, true
		}
	}

	return found, exists
}

// listeners returns the existing listeners.
func (d *differ) listeners() []ListenerState {
	if d.seen.LoadBalancer == nil {
		return nil
	}

	return d.seen.LoadBalancer.Listeners
}

// modify plans to change what differs in a listener. Its protocol changes in
// place, together with all settings that depend on it: the old one serves until
// AWS accepts the new one. See
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_ModifyListener.html
func (d *differ) modify(seen ListenerState, next connected) {
	if seen.Protocol == next.Protocol {
		if next.Certificate == seen.Certificate {
			next.Certificate = ""
		}
		if next.Policy == seen.Policy {
			next.Policy = ""
		}
	}
	if seen.Protocol != next.Protocol || next.group.name != "" || next.Certificate != "" || next.Policy != "" {
		step := modifyListener(seen, next)
		if next.group.name != "" && d.serves(seen) && !d.probedAlike(next.TargetGroup, seen) {
			step = ifNodesHaveRoom(step)
		}
		d.addIsolated(step)
	}
	d.tag("listener "+listenerName(d.model.Name, next.Port, next.Protocol), seen.ARN, seen.Tags)
}

// staleListeners returns the listeners that are not wanted, by port.
func (d *differ) staleListeners() []ListenerState {
	used := map[string]bool{}
	for _, want := range d.model.Listeners {
		if seen, exists := d.current(want); exists {
			used[seen.ARN] = true
		}
	}
	stale := slices.DeleteFunc(slices.Clone(d.listeners()), func(seen ListenerState) bool { return used[seen.ARN] })
	slices.SortFunc(stale, func(a, b ListenerState) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})

	return stale
}

// deleteListeners plans to delete the listeners that are not wanted.
func (d *differ) deleteListeners() {
	for _, seen := range d.staleListeners() {
		d.add(deleteListener(d.model.Name, seen).Dispensable())
	}
}
