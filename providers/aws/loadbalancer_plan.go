package aws

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// mostGroups is how many security groups AWS lets a classic load balancer have.
const mostGroups = 5

// planLoadBalancer plans what turns the observed load balancer of a Service into
// the one it asks for, with the security group that is made for it. The groups of
// the nodes come later. It chooses f.SecurityGroups itself.
func planLoadBalancer(r *request.Request, f request.Facts, o observed) (change.Plan, []service.Warning, error) {
	if err := o.obstacle(r); err != nil {
		return nil, nil, err
	}
	choice := chooseGroups(r, f.Config, o)
	steps, err := securitygroup.Diff(choice.Managed, f.Config.VPC, f.Config.Cluster)
	if err != nil {
		return nil, nil, err
	}
	f.SecurityGroups = slices.Concat(choice.Groups, lingering(r, f.Config, o))
	var more change.Plan
	var warnings []service.Warning
	if r.Kind == request.Network {
		more, warnings, err = planNetwork(r, f, o)
	} else {
		more, warnings, err = planClassic(r, f, o)
	}
	return append(steps, more...), warnings, err
}

func planClassic(r *request.Request, f request.Facts, o observed) (change.Plan, []service.Warning, error) {
	model, warnings, err := classic.Build(r, f)
	if err != nil {
		return nil, nil, err
	}
	return classic.Diff(model, o.Classic), append(warnings, classic.Fixed(model, o.Classic)...), nil
}

func planNetwork(r *request.Request, f request.Facts, o observed) (change.Plan, []service.Warning, error) {
	model, warnings, err := network.Build(r, f)
	if err != nil {
		return nil, nil, err
	}
	_, skipped := r.Registrable(f, func(state types.InstanceStateName) bool { return state == types.InstanceStateNameRunning })
	return network.Diff(model, o.Network), slices.Concat(warnings, network.Fixed(model, o.Network), skipped), nil
}

// discovery says for which scheme subnets are discovered that no annotation
// names, and whether they are. A network load balancer that is there keeps its
// own; one of either kind keeps its scheme.
func discovery(r *request.Request, o observed) (internal, needed bool) {
	switch {
	case r.Kind == request.Network && o.hasNetwork():
		return false, false
	case r.Kind == request.Classic && o.hasClassic() && o.Classic.Scheme != "":
		return o.Classic.Scheme == "internal", true
	default:
		return r.Internal, true
	}
}

// obstacle is a load balancer that keeps the Service from having its own: one of
// another cluster under the same name, or its own of the other kind. The kind
// cannot be changed while there is one.
func (o observed) obstacle(r *request.Request) error {
	other := otherThan(r.Kind)
	switch {
	case r.Kind == request.Network && o.Network != nil && o.Network.Refusal() != nil:
		return o.Network.Refusal()
	case r.Kind == request.Classic && o.Classic.Refusal() != nil:
		return o.Classic.Refusal()
	case !o.has(r.Kind) && o.has(other):
		return apierr.Mark(apierr.ErrConflict, fmt.Errorf(
			"the service has the %s load balancer %s, which cannot become a %s one: undo the change of annotation %s, or delete and create the service",
			other, r.Name, r.Kind, request.AnnotationType))
	default:
		return nil
	}
}

// groupsMatter says whether planning needs the security groups of the cluster:
// one of them is made for the load balancer, or it loses some.
func groupsMatter(r *request.Request, c request.Config, o observed) bool {
	choice := chooseGroups(r, c, o)
	return choice.Managed != nil || len(change.Detached(o.classicGroups(), choice.Groups)) > 0 ||
		r.Kind == request.Network && c.ManagedNetworkGroups
}

// attributesMatter says whether planning needs the attributes of target groups:
// the Service asks for some, or nodes must let in the load balancer itself if its
// clients are hidden, which neither everybody's rules nor health checks do.
func attributesMatter(r *request.Request, c request.Config) bool {
	everybody := slices.ContainsFunc(r.SourceRanges, func(cidr netip.Prefix) bool { return cidr.Bits() == 0 && cidr.Addr().Is4() })
	elsewhere := r.LocalTraffic || r.HealthCheck.Port != nil || c.SharedProbe
	return len(r.TargetGroupAttributes) > 0 || r.Kind == request.Network && elsewhere && !everybody
}

// hidesClients says whether packets come to nodes from the load balancer, not
// from its clients. Without the annotation target groups keep what they have.
func hidesClients(r *request.Request, m *network.Model, o observed) bool {
	if preserve, annotated := r.TargetGroupAttributes[request.PreserveClientIP]; annotated || o.Network == nil {
		return preserve == "false"
	}
	return slices.ContainsFunc(o.Network.TargetGroups, func(group network.GroupState) bool {
		return group.Attributes[request.PreserveClientIP] == "false" && slices.ContainsFunc(m.Listeners, func(l network.Listener) bool {
			return group.Name == l.TargetGroup.Name || group.Name == l.TargetGroup.Spare
		})
	})
}

// chooseGroups chooses the security groups of the load balancer.
func chooseGroups(r *request.Request, c request.Config, o observed) securitygroup.Choice {
	if r.Kind == request.Network {
		return securitygroup.ForNetwork(r, c, o.networkGroups(), o.Groups)
	}
	return securitygroup.ForClassic(r, c, o.Groups)
}

// lingering are groups that a classic load balancer is to lose, but by which
// nodes still let it in. They are what the rules are found by, so the load
// balancer loses them after the rules have gone, and traffic goes on meanwhile.
func lingering(r *request.Request, c request.Config, o observed) []plan.Ref {
	if r.Kind != request.Classic || o.Settled || c.LeaveNodeSecurityGroups {
		return nil
	}
	choice := chooseGroups(r, c, o)
	var refs []plan.Ref
	for _, id := range change.Detached(o.classicGroups(), choice.Groups) {
		if securitygroup.LetsIn(o.Groups, id) && len(choice.Groups)+len(refs) < mostGroups {
			refs = append(refs, plan.Ref{ID: id})
		}
	}
	return refs
}

// networkPorts are the ports of nodes that rules for a network load balancer may
// be about, none if it never was one.
func (t task) networkPorts(o observed) []int32 {
	if t.request.Kind != request.Network && !o.hasNetwork() && (o.Network == nil || !o.Network.Left()) {
		return nil
	}
	var ports []int32
	for _, port := range t.service.Spec.Ports {
		ports = append(ports, port.NodePort)
	}
	ports = append(ports, t.service.Spec.HealthCheckNodePort)
	if t.config.SharedProbe {
		ports = append(ports, t.config.SharedProbePort)
	}
	if o.Network != nil {
		for _, group := range o.Network.TargetGroups {
			probed, _ := strconv.ParseInt(group.HealthCheck.Port, 10, 32) // or that of the traffic
			ports = append(ports, group.Port, int32(probed))
		}
	}
	slices.Sort(ports)
	return slices.DeleteFunc(slices.Compact(ports), func(port int32) bool { return port == 0 })
}
