package aws

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// leaving are the load balancers that are being deleted. They need no rules any
// more, though they are still there.
type leaving struct {
	mu    sync.Mutex
	names sets.Set[string]
}

// add notes a name until the function that it gives is called.
func (l *leaving) add(name string) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names.Insert(name)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.names.Delete(name)
	}
}

func (l *leaving) has(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names.Has(name)
}

// nodeWork is what is left to do about security groups when a load balancer is
// as it should be.
type nodeWork struct {
	diff securitygroup.NodeDiff
	// doomed are groups that were made for the Service and are not needed.
	doomed   []*securitygroup.Group
	warnings []service.Warning
	// ambiguous is an error about some of the nodes.
	ambiguous error
}

// done says that nothing is left to do.
func (w nodeWork) done() bool { return len(w.diff.Plan(nil)) == 0 && len(w.doomed) == 0 }

// admit has the nodes let the load balancer in. When nothing else had to be
// changed, a look without the lock mostly shows that nothing has to be here. Where
// nodes are left alone, the look is for groups that the load balancer has lost.
func (l *loadBalancer) admit(ctx context.Context, s *step) (nodeWork, error) {
	if s.calm || s.config.LeaveNodeSecurityGroups {
		groups, err := l.groupsSeen(ctx, s)
		if err != nil {
			return nodeWork{}, err
		}
		work, err := l.compareNodes(ctx, s, groups)
		if err != nil || work.done() || s.config.LeaveNodeSecurityGroups {
			return work, err
		}
	}
	unlock, err := l.vpcs.Lock(ctx, s.config.VPC)
	if err != nil {
		return nodeWork{}, err
	}
	defer unlock()
	groups, err := securitygroup.Observe(ctx, l.EC2, s.config.VPC, s.config.Cluster)
	if err != nil {
		return nodeWork{}, err
	}
	work, err := l.compareNodes(ctx, s, groups)
	if err != nil {
		return work, err
	}
	return work, l.applyNodes(ctx, s.task, s.env, work.diff)
}

// groupsSeen are the security groups of the cluster, read now if they were not.
func (l *loadBalancer) groupsSeen(ctx context.Context, s *step) (securitygroup.Groups, error) {
	if s.seen.Groups != nil {
		return s.seen.Groups, nil
	}
	return securitygroup.Observe(ctx, l.EC2, s.config.VPC, s.config.Cluster)
}

// compareNodes compares what the load balancer needs with the security groups.
func (l *loadBalancer) compareNodes(ctx context.Context, s *step, groups securitygroup.Groups) (nodeWork, error) {
	wanted, err := s.wantedGroups()
	if err != nil {
		return nodeWork{}, err
	}
	work, needs := s.audience(groups, wanted)
	if s.config.LeaveNodeSecurityGroups {
		return work, nil
	}
	if groups, err = l.complete(ctx, s, groups, needs); err != nil {
		return work, err
	}
	subnets := s.facts.Subnets
	if s.seen.hasNetwork() {
		if subnets, err = l.Network.ByID(ctx, s.seen.Network.Subnets()); err != nil {
			return work, err
		}
	}
	if err := s.ask(&needs, wanted, subnets); err != nil {
		return work, err
	}
	work.diff = securitygroup.DiffNodes(needs, groups, s.config.Cluster)
	return work, nil
}

// audience chooses the groups of the nodes that are to let the load balancer in,
// and those that it has lost. Groups are those of the cluster.
func (s *step) audience(groups securitygroup.Groups, wanted []string) (nodeWork, securitygroup.Needs) {
	work := nodeWork{doomed: securitygroup.Owned(groups, s.request, s.config, s.seen.groups())}
	work.doomed = slices.DeleteFunc(work.doomed, func(g *securitygroup.Group) bool { return slices.Contains(wanted, g.ID) })
	needs := securitygroup.Needs{LoadBalancer: s.request.Name, Ending: idsOf(work.doomed)}
	if s.config.LeaveNodeSecurityGroups {
		return work, needs
	}
	needs.Groups, work.warnings, work.ambiguous = securitygroup.ChooseNodeGroups(nodesBehind(s.facts),
		func(id string) bool { return groups[id] != nil })
	return work, needs
}

// ask says what the load balancer needs of these groups. Subnets are those that
// it is in.
func (s *step) ask(needs *securitygroup.Needs, wanted []string, subnets []vpc.Subnet) error {
	if s.request.Kind == request.Network {
		var err error
		needs.Rules, err = s.networkRules(subnets)
		return err
	}
	if len(wanted) > 0 {
		needs.Rules = securitygroup.ForClassicNodes(wanted[0])
		needs.Sources = slices.Concat(wanted[:1], s.detached(), needs.Ending)
		// By the groups of nodes it is nodes that are let in.
		needs.Sources = slices.DeleteFunc(needs.Sources, func(id string) bool { return slices.Contains(needs.Groups, id) })
	}
	return nil
}

// complete adds to the groups of the cluster those that do not have its tag, and
// are the groups of nodes nevertheless or refer to groups that are to go.
func (l *loadBalancer) complete(ctx context.Context, s *step, groups securitygroup.Groups, n securitygroup.Needs) (securitygroup.Groups, error) {
	missing := slices.DeleteFunc(slices.Clone(n.Groups), func(id string) bool { return groups[id] != nil })
	more, err := securitygroup.ObserveIDs(ctx, l.EC2, s.config.VPC, missing)
	if err != nil {
		return nil, err
	}
	referring, err := securitygroup.ObserveReferring(ctx, l.EC2, s.config.VPC, n.Ending)
	return merge(groups, more, referring), err
}

// networkRules are the rules that a network load balancer needs.
func (s *step) networkRules(subnets []vpc.Subnet) (securitygroup.Rules, error) {
	model, _, err := network.Build(s.request, s.facts)
	if err != nil {
		return nil, err
	}
	traffic := securitygroup.Traffic{
		LoadBalancer:     s.request.Name,
		Transport:        model.Listeners[0].Transport(),
		NodePorts:        model.NodePorts(),
		HealthCheckPorts: model.HealthCheckPorts(),
		Clients:          s.request.SourceRanges,
		HidesClients:     hidesClients(s.request, model, s.seen),
	}
	for _, subnet := range subnets {
		if subnet.CIDR.IsValid() {
			traffic.Subnets = append(traffic.Subnets, subnet.CIDR)
		}
	}
	return securitygroup.ForNetworkNodes(traffic), nil
}

// applyNodes writes a difference, after a look at who else needs what would be
// taken away. The caller has the lock of the VPC.
func (l *loadBalancer) applyNodes(ctx context.Context, t task, e *change.Env, diff securitygroup.NodeDiff) error {
	var heirs securitygroup.Heirs
	if stale := diff.Stale(); len(stale) > 0 {
		var err error
		others := securitygroup.Others{
			Classic: l.ELB, Network: l.ELBV2, Cluster: t.config.Cluster, VPC: t.config.VPC,
			LoadBalancer: t.request.Name, Leaving: l.leaving.has, CIDRs: l.cidrs,
		}
		if heirs, err = others.Heirs(ctx, stale); err != nil {
			return fmt.Errorf("find out who else needs rules of %s: %w", t.request.Name, err)
		}
	}
	return l.apply(ctx, t, e, diff.Plan(heirs))
}

// cidrs are those of subnets by ID.
func (l *loadBalancer) cidrs(ctx context.Context, ids []string) (map[string]netip.Prefix, error) {
	subnets, err := l.Network.ByID(ctx, ids)
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

// nodesBehind are the instances whose security groups count. One that is stopped
// may run again at any time, so its group keeps its rules.
func nodesBehind(f request.Facts) map[string]*inventory.Instance {
	nodes := maps.Clone(f.Targets)
	maps.DeleteFunc(nodes, func(_ string, i *inventory.Instance) bool { return i.State == types.InstanceStateNameTerminated })
	return nodes
}

// merge puts groups together, and leaves those that it is given as they are.
func merge(first securitygroup.Groups, more ...securitygroup.Groups) securitygroup.Groups {
	all := maps.Clone(first)
	if all == nil {
		all = securitygroup.Groups{}
	}
	for _, groups := range more {
		maps.Copy(all, groups)
	}
	return all
}

func idsOf(groups []*securitygroup.Group) []string {
	ids := make([]string, 0, len(groups))
	for _, group := range groups {
		ids = append(ids, group.ID)
	}
	return ids
}

// parting is what to take away from the nodes when the load balancers of a
// Service go, and the groups to be deleted after them.
func (t task) parting(o observed, groups securitygroup.Groups) (securitygroup.Needs, []*securitygroup.Group) {
	doomed := securitygroup.Owned(groups, t.request, t.config, o.groups())
	return securitygroup.Needs{
		LoadBalancer: t.named(o), Sources: freeSources(t, o, doomed), Ending: idsOf(doomed),
	}, doomed
}

// freeSources are the groups by which nodes let a classic load balancer in that
// is about to go: all that it has but those that users added to the usual ones.
func freeSources(t task, o observed, doomed []*securitygroup.Group) []string {
	sources := append(o.classicGroups(), idsOf(doomed)...)
	return slices.DeleteFunc(sources, func(id string) bool { return slices.Contains(t.request.ExtraSecurityGroups, id) })
}
