package network

import (
	"maps"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Diff plans how to change the observed to the wanted load balancer. A load
// balancer with our name that is not ours is a conflict.
//
// The order is: the load balancer, with its attributes as long as it has no listener,
// since the quota of targets depends on them; then, port by port, the target group, its
// targets and the listener; then the listeners that are not wanted, which come first if AWS has
// accepted no others beside them; then the attributes of one that serves; last, the target groups that are not wanted. A new listener comes
// before its targets, so that these count for the quota of the load balancer; a
// listener that changes its target group comes after the targets.
//
// The steps of a port are isolated from those of the others.
//
// It also returns the target groups that the listeners then forward to, in the
// order of the model.
func Diff(m *Model, o *Observed) (change.Plan, []TargetGroupRef) {
	if err := o.NotOwned(); err != nil {
		return change.Plan{change.Abort(err)}, nil
	}
	d := newDiffer(m, o)
	d.balancer()
	serves := len(d.listeners()) > 0
	if !serves {
		d.attributes()
	}
	if m.Full {
		d.deleteListeners()
	}
	for _, listener := range m.Listeners {
		d.port(listener)
	}
	if !m.Full {
		d.deleteListeners()
	}
	if serves {
		d.attributes()
	}
	d.removeGroups()
	d.tagBalancer()

	return d.plan, d.targetGroups
}

// DiffDeletion plans to delete everything that is ours. If a load balancer with
// our name is not ours, the last step reports a conflict.
func DiffDeletion(o *Observed) change.Plan {
	var steps change.Plan
	refusal := o.NotOwned()
	if o.LoadBalancer != nil && refusal == nil {
		steps = append(steps, deleteLoadBalancer(o.Name, o.LoadBalancer.ARN))
	}
	for _, group := range o.TargetGroups {
		// Resources that a load balancer of others uses are in use.
		if group.Owned && (refusal == nil || !group.Attached) {
			steps = append(steps, deleteTargetGroup(group.Name, group.ARN))
		}
	}
	if refusal != nil {
		steps = append(steps, change.Abort(refusal))
	}

	return steps
}

// differ holds the input of a plan, and the plan so far.
type differ struct {
	model *Model
	seen  *Observed
	// self is the load balancer.
	self   named
	byARN  map[string]GroupState
	byName map[string]GroupState
	// kept are the names of target groups that stay.
	kept map[string]bool
	plan change.Plan
	// targetGroups are the target groups that the listeners forward to.
	targetGroups []TargetGroupRef
}

func newDiffer(m *Model, o *Observed) *differ {
	d := &differ{
		model: m, seen: o,
		self:   named{name: m.Name, ref: plan.Ref{Key: loadBalancerKey(m.Name)}},
		byARN:  map[string]GroupState{},
		byName: map[string]GroupState{},
		kept:   map[string]bool{},
	}
	for _, group := range o.TargetGroups {
		d.byName[group.Name] = group
		d.byARN[group.ARN] = group
	}
	if o.LoadBalancer != nil {
		d.self.ref.ID = o.LoadBalancer.ARN
	}

	return d
}

func (d *differ) add(step change.Step) { d.plan = append(d.plan, step) }

// addIsolated plans a step that affects only one port.
func (d *differ) addIsolated(step change.Step) { d.add(step.Isolate()) }

// balancer plans to create the load balancer, or to change its security groups
// and tags.
func (d *differ) balancer() {
	m, seen := d.model, d.seen.LoadBalancer
	if seen == nil {
		d.add(createLoadBalancer(m))

		return
	}
	// AWS cannot add any to a load balancer that was created without, and does
	// not remove the last one.
	if len(m.SecurityGroups) > 0 && len(seen.SecurityGroups) > 0 && !change.SameGroups(m.SecurityGroups, seen.SecurityGroups) {
		d.add(setSecurityGroups(d.self, m.SecurityGroups, seen.SecurityGroups).Dispensable())
	}
}

// tagBalancer plans to add the tags that the load balancer lacks. This step is
// the last one, and runs only if all others succeed: the tags of the load
// balancer imply those of its parts.
func (d *differ) tagBalancer() {
	if d.seen.LoadBalancer == nil {
		return
	}
	if missing := d.model.Cluster.Missing(d.model.Tags, d.seen.LoadBalancer.Tags); len(missing) > 0 {
		d.add(addTags("load balancer "+d.model.Name, d.self.ref.ID, missing).Removal())
	}
}

// tag plans to add the tags that a resource lacks.
func (d *differ) tag(thing, arn string, have map[string]string) {
	if missing := d.model.Cluster.Missing(d.model.Tags, have); len(missing) > 0 {
		d.addIsolated(addTags(thing, arn, missing))
	}
}

// attributes plans to change those attributes of the load balancer that differ.
func (d *differ) attributes() {
	// Attributes that AWS does not return are off, as are all of a new one.
	have := map[string]string{crossZone: off, accessLog: off}
	if d.seen.LoadBalancer != nil {
		maps.Copy(have, d.seen.LoadBalancer.Attributes)
	}
	if changed := different(d.model.Attributes, have); len(changed) > 0 {
		d.addIsolated(modifyAttributes(d.self, changed))
	}
}

// different returns the wanted values that differ from the present ones.
func different(want, have map[string]string) map[string]string {
	changed := map[string]string{}
	for key, value := range want {
		if present, ok := have[key]; !ok || present != value {
			changed[key] = value
		}
	}

	return changed
}
