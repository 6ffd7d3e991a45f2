package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
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

// build returns the desired state of the Service, without the security group. It is pure.
func (r *run) build(o *observed) (*desired, error) {
	wanted := *r.request
	d := &desired{floating: r.floatingIP(o)}
	d.floating.Place, d.floating.PlaceErr = o.place, o.placeErr
	r.warnOfNodes(o)
	if o.created {
		wanted.Members = nil // they are there, and a large cluster has many
	}
	if r.request.MemberSubnet.Detect {
		// A member without its subnet could be out of reach.
		wanted.Members = without(wanted.Members, slices.Concat(o.subnets.Unread, o.waiting))
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
	if err != nil {
		return nil, err
	}
	d.warnings = warnings
	d.balancer = octavia.Build(&wanted, resolved, octavia.Context{
		Owner: o.isOwner(), Features: o.features, VIPSubnetID: o.vipSubnet,
		MemberSubnets: o.memberSubnets(), Keep: r.staying(o), Serial: r.Config.LoadBalancer.ProviderRequiresSerialAPICalls,
		Refused: r.refusals.Members(o.pools()), Repaired: r.state.repaired,
	})

	return d, nil
}

// buildGroup returns the desired security group, nil if groups are not managed. It has the ports of
// the Nodes that are servers of this cloud.
func (r *run) buildGroup(ctx context.Context, o *observed, balancer *octavia.Desired) (*securitygroup.Desired, error) {
	if !r.request.ManageSecurityGroups {
		return nil, nil
	}
	given, err := r.groupGiven(ctx, o, balancer)
	if err != nil {
		return nil, err
	}
	wanted := *r.request
	wanted.Members = without(wanted.Members, slices.Concat(o.waiting, o.foreign))
	resolved, _, err := wanted.Resolve(o.given())
	if err != nil {
		return nil, err
	}
	group := securitygroup.Build(&wanted, resolved, given)
	group.KeepPorts, group.RulesOverQuota = len(o.waiting) > 0, r.state.rulesOverQuota

	return group, nil
}

// staying returns the addresses of members that stay although they are not wanted: while Nodes are not
// initialized, those of any Node of the cluster, since it is not known which are to be members. Those
// of Nodes that have left the cluster go.
func (r *run) staying(o *observed) sets.Set[netip.Addr] {
	if len(o.waiting) == 0 {
		return nil
	}

	return r.nodeAddresses(r.input)
}

// without returns the targets that are none of these Nodes.
func without(targets []request.Target, nodes []string) []request.Target {
	return slices.DeleteFunc(slices.Clone(targets), func(t request.Target) bool { return slices.Contains(nodes, t.Node) })
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
func (r *run) checkShared(o *observed, d *desired) error {
	if o.isOwner() {
		return nil
	}
	services := request.ServiceTags(o.info.Tags)
	switch limit := r.Config.LoadBalancer.MaxSharedLB; {
	case !o.features.Has(features.Tags):
		return fmt.Errorf("load balancer %s: %w", o.info.ID, errNoTags)
	case r.request.Internal:
		return fmt.Errorf("load balancer %s: %w", o.info.ID, errSharedInternal)
	case !slices.Contains(services, r.names.LoadBalancer()) && len(services)+1 > limit:
		return fmt.Errorf("load balancer %s: %w, which is %d", o.info.ID, errTooManyShare, limit)
	}

	if !r.create {
		return nil
	}

	return floatingip.Check(o.floating, d.floating)
}
