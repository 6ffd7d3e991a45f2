package aws

import (
	"reflect"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// state is what this process keeps of the operations on the load balancer of a Service. Only the
// operation that runs has it.
type state struct {
	// synced is nil unless the last sync was complete. Other state is read from AWS.
	synced *syncedState
	// since is when this process has first synced the load balancer.
	since time.Time
	// deletion is when the deletion began for a Service that stays, else zero.
	deletion time.Time
	// reached is when AWS has last refused targets over a quota.
	reached time.Time
	// full means that AWS has not accepted new listeners beside those that exist: the ones that are not
	// wanted are deleted first.
	full bool
}

// syncedState is the state of a synced load balancer. It is not changed once it
// is stored.
type syncedState struct {
	request *request.Request
	nodes   []string
	cluster string // --cluster-name
	// nodeGroups are the security groups of its nodes that let it in, members
	// those of the groups of nodes that are for the cluster, or not.
	nodeGroups []string
	members    map[string]bool
	// groups are the target groups of a network load balancer.
	groups []network.GroupState
	// instances are those that are registered, or stay if they are, and limit is how many there can be.
	instances request.Instances
	limit     targets.Limit
	// serving are the instances among them that are targets.
	serving []string
	// refused are those that AWS did not accept.
	refused refused
	// shortages are what quotas leave no room for, warnings those about them and
	// others that do not depend on the nodes.
	warnings  []service.Warning
	shortages []change.Shortage
}

// syncedBy returns the state of a load balancer after its plan was applied. Target groups
// are those that its listeners forward to.
func syncedBy(in input, o *observed, d *desired, targetGroups []network.TargetGroupRef, env *change.Env) *syncedState {
	state := &syncedState{
		request:    in.request,
		nodes:      in.nodes,
		cluster:    in.config.ClusterName,
		nodeGroups: d.Nodes.Groups,
		members:    o.members(),
		instances:  d.instances(),
		limit:      in.targetLimit(o),
		serving:    servingOf(d.instances(), o.registered()),
		groups:     network.Resolve(targetGroups, &env.IDs),
		refused:    refused{}.add(env.Refusals()),
		shortages:  env.Shortages(),
	}
	if isOverQuota(env) { // until the retry, nothing makes room: what is serving has what was refused
		state.limit = targets.Limit{Zones: state.limit.Zones}
	}
	state.warnings = lists.Filter(d.Warnings, func(warning service.Warning) bool { return warning.Reason != service.NodeSkipped })
	state.warnings = append(state.warnings, lists.Map(state.shortages, func(s change.Shortage) service.Warning { return s.Warning })...)

	return state
}

// isOverQuota reports whether AWS has refused targets over a quota.
func isOverQuota(env *change.Env) bool {
	return slices.ContainsFunc(env.Refusals(), func(r change.Refusal) bool { return r.Quota })
}

// store stores the state of a load balancer. It shares the lists of Nodes with the state of
// another one that was stored before, if these are the same: in a large cluster they are most of
// what is stored.
func (l *loadBalancer) store(in input, known *syncedState) {
	if last := l.stored.Load(); last != nil {
		known.share(last)
	}
	in.state.synced = known
	l.stored.Store(known)
}

// share replaces lists by those of another state that are equal.
func (s *syncedState) share(other *syncedState) {
	wanted := *s.request
	wanted.Targets = lists.Shared(wanted.Targets, other.request.Targets)
	s.request = &wanted
	s.nodes = lists.Shared(s.nodes, other.nodes)
	s.instances.Registered = lists.Shared(s.instances.Registered, other.instances.Registered)
	s.instances.Kept = lists.Shared(s.instances.Kept, other.instances.Kept)
}

// hasSynced reports whether a load balancer of this kind is known.
func (s *state) hasSynced(kind request.Kind) bool {
	return s.synced != nil && s.synced.request.Kind == kind
}

// members returns which security groups of the nodes are for the cluster.
func (o *observed) members() map[string]bool {
	members := map[string]bool{}
	for _, instance := range o.Facts.Targets {
		for _, id := range instance.SecurityGroups {
			group := o.Groups[id]
			members[id] = group != nil && o.Facts.Config.Cluster.Member(group.Tags)
		}
	}

	return members
}

// instances returns those of the load balancer.
func (d *desired) instances() request.Instances {
	if d.Network != nil {
		return request.Instances{Registered: d.Network.Targets, Kept: d.Network.Resting}
	}

	return request.Instances{Registered: d.Classic.Instances, Kept: d.Classic.Resting}
}

// isRepeated reports whether the Nodes are the same as in the last call.
func (s *syncedState) isRepeated(in input) bool {
	return slices.Equal(s.nodes, in.nodes) && reflect.DeepEqual(s.request.Targets, in.request.Targets)
}

// hasSameRequest reports whether the request of a Service is the same as before, but
// for its nodes.
func (s *syncedState) hasSameRequest(in input) bool {
	before, now := *s.request, *in.request
	before.Targets, now.Targets = nil, nil

	return s.cluster == in.config.ClusterName && reflect.DeepEqual(before, now)
}
