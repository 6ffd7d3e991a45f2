package network

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Values of attributes.
const (
	on  = "true"
	off = "false"
)

// targetGroup plans the target group behind a listener, except for targets that
// it lacks, and returns it. It is the first of these that can be kept:
//
//  1. the one that the listener forwards to
//  2. the one with the wanted name, which an earlier run may have left
//  3. the one with the spare name
//  4. a new one
func (d *differ) targetGroup(listener Listener) backend {
	want := listener.TargetGroup
	if seen, ok := d.keepable(listener); ok {
		d.kept[seen.Name] = true

		return d.repair(want, seen)
	}
	name := want.Name
	if seen, taken := d.byName[name]; taken && (seen.Attached || !seen.Owned) {
		name = want.Spare
	}
	if seen, taken := d.byName[name]; taken && seen.Owned {
		d.add(deleteTargetGroup(seen.Name, seen.ARN).Dispensable())
		delete(d.byName, name)
		delete(d.byARN, seen.ARN)
	}

	return d.create(want, name)
}

// keepable returns the target group that a listener can continue to use.
func (d *differ) keepable(listener Listener) (GroupState, bool) {
	want := listener.TargetGroup
	current, _ := d.current(listener)
	if seen, ok := d.byARN[current.TargetGroup]; ok && seen.Owned && d.fits(want, seen) {
		return seen, true
	}
	for _, name := range []string{want.Name, want.Spare} {
		// A target group whose tags cannot be read is recognized by its name.
		if seen, ok := d.byName[name]; ok && (seen.Owned || seen.Tags == nil) && d.fits(want, seen) {
			return seen, true
		}
	}

	return GroupState{}, false
}

// fits reports whether the immutable settings of a target group match, and no
// other listener uses it.
func (d *differ) fits(want TargetGroup, seen GroupState) bool {
	return !d.kept[seen.Name] &&
		seen.Protocol == want.Protocol &&
		seen.Port == want.Port &&
		(seen.Type == "" || seen.Type == elbv2types.TargetTypeEnumInstance)
}

// create plans a new target group.
func (d *differ) create(want TargetGroup, name string) backend {
	d.kept[name] = true
	group := backend{
		named:   named{name, plan.Ref{Key: targetGroupKey(name)}},
		missing: targetsOn(want.Port, d.model.Targets),
		empty:   true,
	}
	want.Name = name
	d.addIsolated(createTargetGroup(d.model, want, d.self.ref))
	group.needs = d.groupAttributes(group.named, want.Attributes, nil)

	return group
}

// repair plans to change what differs in a target group that stays.
func (d *differ) repair(want TargetGroup, seen GroupState) backend {
	group := backend{named: named{seen.Name, plan.Ref{ID: seen.ARN}}}
	if !want.HealthCheck.same(seen.HealthCheck) {
		step := modifyTargetGroup(seen.Name, seen.ARN, want.HealthCheck.after(seen.HealthCheck))
		if want.HealthCheck.Port != seen.HealthCheck.Port {
			step = ifNodesHaveRoom(step)
		}
		d.addIsolated(step)
	}
	group.needs = d.groupAttributes(group.named, want.Attributes, seen.Attributes)
	d.tag("target group "+seen.Name, seen.ARN, seen.Tags)

	wanted, resting := targetsOn(want.Port, d.model.Targets), targetsOn(want.Port, d.model.Resting)
	group.surplus = lists.Without(lists.Without(seen.Targets, wanted), resting)
	group.missing, group.have = lists.Without(wanted, seen.Targets), len(seen.Targets)
	group.empty = len(group.missing) == len(wanted)

	return group
}

// ifNodesHaveRoom returns a step that sends health checks to other ports. The
// step fails while the quota of the nodes' security groups does not allow their
// rules: a target group without healthy targets would replace one that serves.
func ifNodesHaveRoom(step change.Step) change.Step {
	do := step.Do
	step.Do = func(ctx context.Context, env *change.Env) error {
		if err := env.RoomForHealthChecks(); err != nil {
			return err
		}

		return do(ctx, env)
	}

	return step
}

// serves reports whether a listener may send to a port that the Service still
// has on its nodes. Nodes do not serve any other port, whether their rules
// allow it or not.
func (d *differ) serves(listener ListenerState) bool {
	seen, known := d.byARN[listener.TargetGroup]

	return !known || slices.Contains(d.model.NodePorts(), seen.Port)
}

// probedAlike reports whether the health checks of a target group go to the
// same port as those of the one that a listener forwards to.
func (d *differ) probedAlike(want TargetGroup, listener ListenerState) bool {
	seen, known := d.byARN[listener.TargetGroup]

	return known && want.Port == seen.Port && want.HealthCheck.Port == seen.HealthCheck.Port
}

// after returns a health check that replaces another one. A timeout that is not specified stays, but for
// one that belongs to another protocol or is longer than the interval: that is the default then.
func (h HealthCheck) after(seen HealthCheck) HealthCheck {
	if h.Timeout == nil && (h.Protocol != seen.Protocol || seen.Timeout != nil && *seen.Timeout > h.Interval) {
		h.Timeout = new(defaultTimeout(h.Protocol))
	}

	return h
}

// same reports whether a health check matches. A timeout that is not specified
// always matches.
func (h HealthCheck) same(seen HealthCheck) bool {
	return h.Protocol == seen.Protocol && h.Port == seen.Port && h.Interval == seen.Interval &&
		(!h.http() || h.Path == seen.Path) &&
		h.HealthyThreshold == seen.HealthyThreshold &&
		h.UnhealthyThreshold == seen.UnhealthyThreshold &&
		(h.Timeout == nil || seen.Timeout != nil && *h.Timeout == *seen.Timeout)
}

// groupAttributes plans to change the attributes of a target group that differ,
// and returns the key that is stored afterwards. Unknown attributes have the
// defaults of AWS.
func (d *differ) groupAttributes(group named, want, seen map[string]string) []plan.Ref {
	have := map[string]string{request.PreserveClientIP: on, request.ProxyProtocolV2: off}
	maps.Copy(have, seen)
	changed := different(want, have)
	if len(changed) == 0 {
		return nil
	}
	d.addIsolated(modifyGroupAttributes(group, changed))

	return []plan.Ref{{Key: attributesKey(group.name)}}
}

// register plans to register the targets that a target group lacks, and reports
// whether there are any. If some is set, at least one of them must be accepted.
func (d *differ) register(group backend, some bool) bool {
	if len(group.missing) == 0 {
		return false
	}
	d.addIsolated(registerTargets(d.model.Name, group.named, group.missing, group.have, some))

	return true
}

// targetsOn returns instances as targets on a node port.
func targetsOn(port int32, ids []string) []Target {
	return lists.Map(ids, func(id string) Target { return Target{ID: id, Port: port} })
}

func compareTargets(a, b Target) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), cmp.Compare(a.Port, b.Port))
}

// removeGroups plans to delete the target groups of the Service that no
// listener needs any more, whether they were in use or left over.
func (d *differ) removeGroups() {
	for _, group := range d.seen.TargetGroups {
		if _, there := d.byARN[group.ARN]; there && group.Owned && !d.kept[group.Name] {
			d.add(deleteTargetGroup(group.Name, group.ARN).Dispensable())
		}
	}
}
