package openstack

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// Errors about load balancers that a Service shares.
var (
	errNoTags = apierr.Mark(apierr.ErrInvalid, errors.New(
		"the load balancer cannot be shared: the load balancer API has no tags, which distinguish Services"))
	errSharedInternal = apierr.Mark(apierr.ErrInvalid, errors.New(
		"an internal Service cannot share the load balancer of another one: its floating IP would stay"))
	errTooManyShare = apierr.Mark(apierr.ErrInvalid, errors.New("the load balancer is shared by as many Services as max-shared-lb permits"))
)

// build returns the desired state of the Service, with warnings also on an error. It is pure, as diff is.
func (in input) build(o *observed) (*desired, error) {
	wanted := *in.request
	d := &desired{floating: in.floatingIP(o), warnings: in.uninitialized(o)}
	d.floating.Place, d.floating.PlaceErr = o.place, o.placeErr
	if wanted.MemberSubnet.Detect {
		// A member without its subnet could be out of reach.
		wanted.Members = without(wanted.Members, slices.Concat(o.subnets.Unread, o.waiting))
	}
	var unused []string
	wanted.Members, unused = in.chooseMembers(o, wanted.Members)
	if o.created {
		wanted.Members = nil // they are there, and a large cluster has many
	}
	if len(o.waiting) > 0 {
		d.lasting = []service.Gap{{
			Key: "nodes " + plan.Words(o.waiting), Text: "nodes are not initialized yet: " + plan.FewCommas(o.waiting),
		}}
	}
	if unread := o.subnets.Unread; len(unread) > 0 {
		d.addOnly = true
		d.incomplete = append(d.incomplete, service.Gap{
			Key: "subnets of " + plan.Words(unread), Text: fmt.Sprintf("the subnets of nodes are not known: %s: %v", plan.FewCommas(unread), o.subnets.Err),
		})
	}
	resolved, warnings, err := wanted.Resolve(o.given())
	d.warnings = append(d.warnings, warnings...)
	if err != nil {
		return d, err
	}
	d.balancer = octavia.Build(&wanted, resolved, octavia.Context{
		Owner: o.isOwner(), Features: o.features, VIPSubnetID: o.vipSubnet,
		MemberSubnets: o.memberSubnets(), Keep: o.staying, Serial: in.config.ProviderRequiresSerialAPICalls,
		Refused: o.refused, Repaired: in.state.repaired,
	})
	if o.info != nil && in.request.ManageSecurityGroups {
		d.group, err = in.buildGroup(o, d.balancer, unused)
	}

	return d, err
}

// buildGroup returns the desired security group, which has the ports of the Nodes that are servers
// of this cloud, without those that are unused.
func (in input) buildGroup(o *observed, balancer *octavia.Desired, unused []string) (*securitygroup.Desired, error) {
	wanted := *in.request
	wanted.Members = without(wanted.Members, slices.Concat(o.waiting, o.foreign, unused))
	resolved, _, err := wanted.Resolve(o.given())
	if err != nil {
		return nil, err
	}
	group := securitygroup.Build(&wanted, resolved, securitygroup.Given{
		Servers: o.servers, Subnets: o.subnets.ByNode, Current: octavia.KeptSubnets(o.parts, balancer),
		VIPSubnet: o.info.VIPSubnetID, Prefixes: o.prefixes,
	})
	group.KeepPorts, group.RulesOverQuota = len(o.waiting) > 0, in.state.rulesOverQuota

	return group, nil
}

// waitLimit is how old a Node without a provider ID is that counts as one of another cloud:
// new ones are initialized within a minute or so.
const waitLimit = 10 * time.Minute

// reasonUninitialized is a Node that has had no provider ID for long.
const reasonUninitialized service.Reason = "NodeNotInitialized"

// uninitialized warns of Nodes that count as those of another cloud although nothing shows it.
func (in input) uninitialized(o *observed) []service.Warning {
	var names []string
	for _, node := range in.nodes {
		if node.Spec.ProviderID == "" && slices.Contains(o.foreign, node.Name) {
			names = append(names, node.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}

	return []service.Warning{service.Warn(reasonUninitialized,
		"Nodes count as servers of another cloud, because they have had no provider ID for more than %s: %s", waitLimit, plan.FewCommas(plan.Sorted(names)))}
}

// chooseMembers returns the Nodes that are members, and the names of those that are not needed.
func (in input) chooseMembers(o *observed, members []request.Target) (chosen []request.Target, unused []string) {
	serving := sets.New[netip.Addr]()
	if o.parts != nil {
		for _, pool := range o.parts.Pools {
			for _, member := range pool.Members {
				serving.Insert(member.Address.Unmap())
			}
		}
	}
	chosen, rest := targets.Choose(in.subset, members, func(t request.Target) string { return t.Node },
		func(t request.Target) bool { return serving.Has(t.Address.Unmap()) }, targets.Limit{})

	return chosen, lists.Map(rest, func(t request.Target) string { return t.Node })
}

// without returns the targets that are none of these Nodes.
func without(targets []request.Target, nodes []string) []request.Target {
	excluded := sets.New(nodes...)

	return slices.DeleteFunc(slices.Clone(targets), func(t request.Target) bool { return excluded.Has(t.Node) })
}

// pools returns the IDs of the pools of the load balancer.
func (o *observed) pools() []string {
	if o.parts == nil {
		return nil
	}

	return slices.Collect(maps.Keys(o.parts.Pools))
}

// memberSubnets returns the subnets of the members by Node, nil if all have the same.
func (o *observed) memberSubnets() map[string]string {
	if len(o.subnets.ByNode) == 0 {
		return nil
	}

	return o.subnets.ByNode
}

// checkShared returns what keeps a Service from sharing a load balancer, before anything
// is written for it.
func (in input) checkShared(o *observed, d *desired) error {
	if o.isOwner() {
		return nil
	}
	services := request.ServiceTags(o.info.Tags)
	switch limit := in.config.MaxSharedLB; {
	case !o.features.Has(features.Tags):
		return fmt.Errorf("load balancer %s: %w", o.info.ID, errNoTags)
	case in.request.Internal:
		return fmt.Errorf("load balancer %s: %w", o.info.ID, errSharedInternal)
	case !slices.Contains(services, in.names.LoadBalancer()) && len(services)+1 > limit:
		return fmt.Errorf("load balancer %s: %w, which is %d", o.info.ID, errTooManyShare, limit)
	}

	if !in.create {
		return nil
	}

	return floatingip.Check(o.floating, d.floating)
}
