package aws

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// mostGroups is the maximum number of security groups of a classic load
// balancer.
const mostGroups = 5

// conflict returns why the Service cannot have its load balancer: a load
// balancer of another cluster has the name, or the Service has one of the other
// kind. The kind of an existing load balancer cannot be changed.
func (o *observed) conflict(r *request.Request) error {
	other := otherThan(r.Kind)
	switch {
	case r.Kind == request.Network && o.Network != nil && o.Network.NotOwned() != nil:
		return o.Network.NotOwned()
	case r.Kind == request.Classic && o.Classic.NotOwned() != nil:
		return o.Classic.NotOwned()
	case !o.has(r.Kind) && o.has(other):
		return apierr.Mark(apierr.ErrConflict, fmt.Errorf(
			"the service has the %s load balancer %s, which cannot become a %s one: undo the change of annotation %s, or delete and create the service",
			other, r.Name, r.Kind, request.AnnotationType))
	default:
		return nil
	}
}

// selectGroups selects the security groups of a load balancer and of its nodes.
// Groups are those of the cluster.
func selectGroups(in input, o *observed, groups securitygroup.Groups) selection {
	s := selection{Nodes: securitygroup.NodeGroups{}}
	if in.request.Kind == request.Network {
		s.Own = securitygroup.ForNetwork(in.request, in.config, o.networkGroups(), groups)
	} else {
		s.Own = securitygroup.ForClassic(in.request, in.config, groups)
	}
	keepsAll := in.request.Kind == request.Network && s.Own.Groups == nil
	for _, group := range securitygroup.Owned(groups, in.request, in.config, o.groups()) {
		kept := keepsAll && slices.Contains(o.networkGroups(), group.ID)
		if !kept && !slices.ContainsFunc(s.Own.Groups, func(ref plan.Ref) bool { return ref.ID == group.ID }) {
			s.Surplus = append(s.Surplus, group)
		}
	}
	if !in.config.LeaveNodeSecurityGroups {
		s.Nodes = securitygroup.ChooseNodeGroups(nodesBehind(o.Facts), func(id string) bool { return groups[id] != nil })
	}

	return s
}

// build returns the desired state of the Service. It is pure.
func build(in input, o *observed) (*desired, error) {
	d := &desired{
		Managed:    o.Selection.Own.Managed,
		Surplus:    o.Selection.Surplus,
		Warnings:   o.Selection.Nodes.Warnings,
		Incomplete: o.Selection.Nodes.Err,
		Nodes: securitygroup.Needs{
			LoadBalancer: in.request.Name,
			Groups:       o.Selection.Nodes.IDs,
			Ending:       idsOf(o.Selection.Surplus),
		},
	}
	f := o.Facts
	f.SecurityGroups = o.Selection.Own.Groups
	if in.request.Kind == request.Network {
		return d, d.buildNetwork(in, o, f)
	}

	return d, d.buildClassic(in, o, f)
}

func (d *desired) buildClassic(in input, o *observed, f request.Facts) error {
	model, warnings, err := classic.Build(in.request, f)
	if err != nil {
		return err
	}
	d.Classic = model
	model.Full = in.full
	d.Warnings = slices.Concat(warnings, classic.Fixed(model, o.Classic), d.Warnings)
	detached := change.Detached(o.classicGroups(), model.SecurityGroups)
	if !in.config.LeaveNodeSecurityGroups {
		for _, id := range detached {
			if len(securitygroup.Allowing(o.Groups, id)) > 0 && len(model.SecurityGroups)+len(d.Detaching) < mostGroups {
				d.Detaching = append(d.Detaching, plan.Ref{ID: id})
			}
		}
	}
	if len(model.SecurityGroups) > 0 {
		d.Nodes.Primary = model.SecurityGroups[0]
		d.Nodes.Primaries = o.primaries(in, d.Nodes.Primary.ID)
		former, others := lists.Split(detached, sets.New(d.Nodes.Primaries...).Has)
		d.Nodes.Sources = slices.Concat(former, d.Nodes.Ending)
		d.Warnings = slices.Concat(d.Warnings, o.rulesLeft(in, slices.DeleteFunc(others, d.ends)))
	}

	return nil
}

func (d *desired) buildNetwork(in input, o *observed, f request.Facts) error {
	model, warnings, err := network.Build(in.request, f)
	if err != nil {
		return err
	}
	d.Network = model
	model.Full = in.full
	d.Warnings = slices.Concat(warnings, network.Fixed(model, o.Network), d.Warnings)
	traffic := securitygroup.Traffic{
		LoadBalancer:     in.request.Name,
		Transport:        model.Listeners[0].Transport(),
		NodePorts:        model.NodePorts(),
		HealthCheckPorts: model.HealthCheckPorts(),
		Clients:          in.request.SourceRanges,
		HidesClients:     hidesClients(in.request, model, o),
	}
	subnets := o.NetworkSubnets
	if !o.hasNetwork() {
		subnets = f.Subnets
	}
	traffic.Subnets = lists.Filter(lists.Map(subnets, func(subnet vpc.Subnet) netip.Prefix { return subnet.CIDR }), netip.Prefix.IsValid)
	d.Nodes.Rules = securitygroup.ForNetworkNodes(traffic)
	if o.Network != nil && o.Network.AttributesDenied {
		d.Warnings = append(d.Warnings, network.WithoutAttributes(in.request))
		traffic.HidesClients = true
		d.Nodes.Optional = securitygroup.ForNetworkNodes(traffic)
	}

	return nil
}

// hidesClients reports whether packets come to nodes from the load balancer,
// not from its clients. Without the annotation, target groups keep their
// setting. If it is unknown, the default for instances is assumed, which
// preserves client addresses:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
func hidesClients(r *request.Request, m *network.Model, o *observed) bool {
	if preserve, annotated := r.TargetGroupAttributes[request.PreserveClientIP]; annotated || o.Network == nil {
		return preserve == "false"
	}

	return slices.ContainsFunc(o.Network.TargetGroups, func(group network.GroupState) bool {
		return group.Attributes[request.PreserveClientIP] == "false" && slices.ContainsFunc(m.Listeners, func(l network.Listener) bool {
			return group.Name == l.TargetGroup.Name || group.Name == l.TargetGroup.Spare
		})
	})
}
