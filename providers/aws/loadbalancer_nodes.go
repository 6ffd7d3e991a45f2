package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// attempts is how often the users of rules are looked for, if other Services
// change the rules meanwhile.
const attempts = 3

// nodeSync returns how the rules of the nodes are written. Services share the
// groups of nodes: a lock is held while they are compared and written, and they
// are read again under it if anything was written since they were observed.
func (l *loadBalancer) nodeSync(in input, o *observed) syncNodes {
	groups, writes := o.Groups, o.Writes

	return func(ctx context.Context, env *change.Env, needs securitygroup.Needs) error {
		needs, err := needs.Resolve(&env.IDs)
		if err != nil {
			return err
		}
		for range attempts {
			users, err := l.users(ctx, in, securitygroup.DiffNodes(needs, groups, in.config.Cluster).Stale())
			if err != nil {
				return err
			}
			var done bool
			if groups, writes, done, err = l.writeNodes(ctx, in, env, nodeWrite{needs, groups, writes, users}); err != nil || done {
				return err
			}
		}

		return apierr.Mark(apierr.ErrConflict, errors.New("other Services keep changing the rules of the nodes"))
	}
}

// meetNeeds is nodeSync for a load balancer that stays. Once it comes to rules to
// remove, it has all that it needs, unless these are to make room: other Services
// that give up the same security group need not know which of them is the last to
// detach it.
func (l *loadBalancer) meetNeeds(in input, o *observed) syncNodes {
	sync := l.nodeSync(in, o)

	return func(ctx context.Context, env *change.Env, needs securitygroup.Needs) error {
		if !needs.AddOnly && env.RoomForHealthChecks() == nil {
			l.needs.Met(in.request.Name)
		}

		return sync(ctx, env, needs)
	}
}

// nodeWrite is what the rules of the nodes are written with.
type nodeWrite struct {
	needs securitygroup.Needs
	// groups were read when so many writes had been made.
	groups securitygroup.Groups
	writes int64
	users  securitygroup.RuleUsers
}

// writeNodes compares and writes the rules of the nodes under their lock. If there
// are rules to remove now whose users were not looked for, it returns the groups
// as they are, and false.
func (l *loadBalancer) writeNodes(ctx context.Context, in input, env *change.Env, w nodeWrite) (securitygroup.Groups, int64, bool, error) {
	unlock, err := l.vpcs.Lock(ctx, in.config.VPC)
	if err != nil {
		return nil, 0, false, err
	}
	defer unlock()
	d := securitygroup.DiffNodes(w.needs, w.groups, in.config.Cluster)
	if now := l.Groups.Writes(); now != w.writes {
		if w.groups, err = l.reread(ctx, in, w.groups, d.Groups()); err != nil {
			return nil, 0, false, err
		}
		w.writes = now
		d = securitygroup.DiffNodes(w.needs, w.groups, in.config.Cluster)
		if !w.users.Covers(d.Stale()) {
			return w.groups, w.writes, false, nil
		}
	}
	l.nodeWrites.Add(1)
	defer l.nodeWrites.Add(-1)
	steps := d.Plan(w.users)
	if len(steps) == 0 {
		return w.groups, w.writes, true, nil
	}
	err = steps.Apply(ctx, env, l.Step)
	l.lost.update(in.request.Name, err)

	return w.groups, w.writes, true, err
}

// recheck returns a step that compares the rules of the nodes once more if any
// were written since they were observed, or are being written: another Service may
// have removed what this one needs before it was known to need it. A plan that adds
// rules anyway compares them then.
func (l *loadBalancer) recheck(in input, o *observed, d *desired, steps change.Plan) change.Plan {
	unchanged := l.nodeWrites.Load() == 0 && l.Groups.Writes() == o.Writes
	compares := slices.ContainsFunc(steps, func(step change.Step) bool { return step.Kind == syncsNodes && (!step.Removes || step.Additive != nil) })
	if in.config.LeaveNodeSecurityGroups || unchanged || compares {
		return nil
	}
	needs := d.Nodes
	needs.AddOnly = true

	return change.Plan{nodeStep("compare rules of node security groups again for "+in.request.Name, nil, needs, l.nodeSync(in, o))}
}

// reread reads some of the groups again. One that is gone is left out.
func (l *loadBalancer) reread(ctx context.Context, in input, groups securitygroup.Groups, ids []string) (securitygroup.Groups, error) {
	fresh, err := securitygroup.ObserveIDs(ctx, l.EC2, in.config.VPC, ids)
	if err != nil {
		return nil, err
	}
	groups = maps.Clone(groups)
	for _, id := range ids {
		delete(groups, id)
	}

	return merge(groups, fresh), nil
}

// users finds the other load balancers that need rules.
func (l *loadBalancer) users(ctx context.Context, in input, rules []securitygroup.Rule) (securitygroup.RuleUsers, error) {
	search := securitygroup.Users{
		Classic: l.Classic, Network: l.NLB, Cluster: in.config.Cluster, VPC: in.config.VPC,
		LoadBalancer: in.request.Name, Deleting: l.isDeleting, Known: &l.needs, CIDRs: l.cidrs,
	}
	users, err := search.Find(ctx, rules)
	if err != nil {
		return users, fmt.Errorf("find other load balancers that need rules of %s: %w", in.request.Name, err)
	}

	return users, nil
}

// isDeleting reports whether a load balancer is being deleted.
func (l *loadBalancer) isDeleting(name string) bool {
	_, deleting := l.deleting.Load(name)

	return deleting
}

// planNodes returns what there is to write in the security groups of nodes.
func (l *loadBalancer) planNodes(ctx context.Context, in input, needs securitygroup.Needs, groups securitygroup.Groups) (change.Plan, error) {
	d := securitygroup.DiffNodes(needs, groups, in.config.Cluster)
	users, err := l.users(ctx, in, d.Stale())

	return d.Plan(users), err
}

// cidrs returns those of subnets by ID.
func (l *loadBalancer) cidrs(ctx context.Context, ids []string) (map[string]netip.Prefix, error) {
	subnets, err := l.Network.Named(ctx, ids)
	if err != nil {
		return nil, err
	}
	cidrs := make(map[string]netip.Prefix, len(subnets))
	for _, subnet := range subnets {
		if subnet.CIDR.IsValid() {
			cidrs[subnet.ID] = subnet.CIDR
		}
	}

	return cidrs, nil
}

// nodesBehind returns the instances whose security groups get rules. One that is
// stopped may run again at any time, so its group keeps its rules.
func nodesBehind(f request.Facts) map[string]*inventory.Instance {
	nodes := maps.Clone(f.Targets)
	maps.DeleteFunc(nodes, func(_ string, i *inventory.Instance) bool {
		return i.State == types.InstanceStateNameTerminated || f.Foreign(i)
	})

	return nodes
}

// merge returns all of the groups, and leaves those that it is given as they are.
func merge(some ...securitygroup.Groups) securitygroup.Groups {
	all := securitygroup.Groups{}
	for _, groups := range some {
		maps.Copy(all, groups)
	}

	return all
}

func idsOf(groups []*securitygroup.Group) []string {
	return lists.Map(groups, func(group *securitygroup.Group) string { return group.ID })
}
