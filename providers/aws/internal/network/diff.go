package network

import (
	"cmp"
	"maps"
	"slices"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Diff plans what turns the observed into the wanted load balancer. A nil Model
// wants none. A load balancer with our name that is not ours is refused by the
// first step, or by the last one if all that is wanted is to have none.
//
// In this order: the load balancer; then, port by port, the target group with its
// targets, and the listener; then the attributes; last, what is not wanted.
// Listeners that are not wanted go before others come.
func Diff(m *Model, o *Observed) change.Plan {
	if m == nil {
		return deletion(o)
	}
	if err := o.Refusal(); err != nil {
		return change.Plan{change.Refuse(err)}
	}
	d := newDiffer(m, o)
	d.balancer()
	stale := d.staleListeners()
	for _, listener := range m.Listeners {
		group := d.targetGroup(listener)
		seen, replaces := stale[listener.Port]
		if replaces {
			d.add(deleteListener(m.Name, seen))
		}
		d.listener(listener, group, replaces)
	}
	d.attributes()
	d.removeGroups()
	return d.plan
}

// deletion plans to remove all that is ours.
func deletion(o *Observed) change.Plan {
	var steps change.Plan
	refusal := o.Refusal()
	if o.LoadBalancer != nil && refusal == nil {
		steps = append(steps, deleteLoadBalancer(o.Name, o.LoadBalancer.ARN))
	}
	for _, group := range o.TargetGroups {
		// What a load balancer uses that is not ours is in use.
		if group.Owned && (refusal == nil || !group.Attached) {
			steps = append(steps, deleteTargetGroup(group.Name, group.ARN))
		}
	}
	if refusal != nil {
		steps = append(steps, change.Refuse(refusal))
	}
	return steps
}

// differ holds what a plan is made from, and the plan so far.
type differ struct {
	model *Model
	seen  *Observed
	// self is the load balancer.
	self named
	// listeners are those that are there, by port and protocol.
	listeners map[frontend]ListenerState
	byARN     map[string]GroupState
	byName    map[string]GroupState
	// kept are the names of target groups that stay.
	kept map[string]bool
	plan change.Plan
}

// frontend is what a listener is known by.
type frontend struct {
	port     int32
	protocol elbv2types.ProtocolEnum
}

func newDiffer(m *Model, o *Observed) *differ {
	d := &differ{
		model: m, seen: o,
		self:      named{name: m.Name, ref: plan.Ref{Key: LoadBalancerKey(m.Name)}},
		listeners: map[frontend]ListenerState{},
		byARN:     map[string]GroupState{},
		byName:    map[string]GroupState{},
		kept:      map[string]bool{},
	}
	for _, group := range o.TargetGroups {
		d.byName[group.Name] = group
		d.byARN[group.ARN] = group
	}
	if o.LoadBalancer != nil {
		d.self.ref.ID = o.LoadBalancer.ARN
		for _, listener := range o.LoadBalancer.Listeners {
			d.listeners[frontend{listener.Port, listener.Protocol}] = listener
		}
	}
	return d
}

func (d *differ) add(step change.Step) { d.plan = append(d.plan, step) }

// balancer plans to create the load balancer, or to change its security groups
// and tags.
func (d *differ) balancer() {
	m, seen := d.model, d.seen.LoadBalancer
	if seen == nil {
		d.add(createLoadBalancer(m))
		return
	}
	// AWS adds none to a load balancer that was made without, and does not take
	// away the last.
	if len(m.SecurityGroups) > 0 && len(seen.SecurityGroups) > 0 && !change.SameGroups(m.SecurityGroups, seen.SecurityGroups) {
		d.add(setSecurityGroups(d.self, m.SecurityGroups, seen.SecurityGroups))
	}
	d.tag("load balancer "+m.Name, d.self.ref.ID, seen.Tags)
}

// tag plans to add the tags that something lacks.
func (d *differ) tag(thing, arn string, have map[string]string) {
	if missing := d.model.Cluster.Missing(d.model.Tags, have); len(missing) > 0 {
		d.add(addTags(thing, arn, missing))
	}
}

// staleListeners plans to delete the listeners that are not wanted, all but
// those whose port another one is to have: these stay until that one can take
// over, and are the result.
func (d *differ) staleListeners() map[int32]ListenerState {
	wanted := map[frontend]bool{}
	ports := map[int32]bool{}
	for _, listener := range d.model.Listeners {
		wanted[frontend{listener.Port, listener.Protocol}] = true
		ports[listener.Port] = true
	}
	replaced := map[int32]ListenerState{}
	for _, key := range slices.SortedFunc(maps.Keys(d.listeners), compareFrontends) {
		switch seen := d.listeners[key]; {
		case wanted[key]:
		case ports[key.port]:
			replaced[key.port] = seen
		default:
			d.add(deleteListener(d.model.Name, seen))
		}
	}
	return replaced
}

func compareFrontends(a, b frontend) int {
	return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.protocol, b.protocol))
}

// listener plans to create a listener, maybe in place of another one on its port,
// or to have it forward to the target group with the wanted certificate and
// policy.
func (d *differ) listener(want Listener, group named, replaces bool) {
	seen, ok := d.listeners[frontend{want.Port, want.Protocol}]
	if !ok {
		step := createListener(connected{Listener: want, balancer: d.self, group: group}, d.model.Tags)
		step.Removes = replaces // AWS refuses a second listener on a port
		d.add(step)
		return
	}
	changed := connected{Listener: Listener{Port: want.Port, Protocol: want.Protocol}, balancer: d.self}
	if group.ref.ID == "" || seen.TargetGroup != group.ref.ID {
		changed.group = group
	}
	if want.Certificate != seen.Certificate {
		changed.Certificate = want.Certificate
	}
	if want.Policy != "" && want.Policy != seen.Policy {
		changed.Policy = want.Policy
	}
	if changed.group.name != "" || changed.Certificate != "" || changed.Policy != "" {
		d.add(modifyListener(seen.ARN, changed))
	}
	d.tag("listener "+listenerName(d.model.Name, want.Port, want.Protocol), seen.ARN, seen.Tags)
}

// attributes plans to change those attributes of the load balancer that differ.
func (d *differ) attributes() {
	// What AWS does not speak of is off, as everything about a new one.
	have := map[string]string{crossZone: off, accessLog: off}
	if d.seen.LoadBalancer != nil {
		maps.Copy(have, d.seen.LoadBalancer.Attributes)
	}
	if changed := different(d.model.Attributes, have); len(changed) > 0 {
		d.add(modifyAttributes(d.self, changed))
	}
}

// different are the wanted values that are not there.
func different(want, have map[string]string) map[string]string {
	changed := map[string]string{}
	for key, value := range want {
		if present, ok := have[key]; !ok || present != value {
			changed[key] = value
		}
	}
	return changed
}
