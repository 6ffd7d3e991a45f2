package aws

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// identify returns the input of a Service with any spec: deletion must not
// depend on valid annotations.
func (l *loadBalancer) identify(clusterName string, svc *v1.Service, known *state) input {
	in := input{config: l.settings(clusterName), service: svc, state: known}
	in.request = &request.Request{
		Service:             types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name},
		UID:                 svc.UID,
		Name:                cloudprovider.DefaultLoadBalancerName(svc),
		Kind:                request.KindOf(svc),
		SecurityGroups:      items(svc, request.AnnotationSecurityGroups),
		ExtraSecurityGroups: items(svc, request.AnnotationExtraSecurityGroups),
	}

	return in
}

// items splits a comma-separated list.
func items(svc *v1.Service, name annotation.Name) []string {
	return strings.FieldsFunc(svc.Annotations[string(name)], func(r rune) bool { return r == ',' || r == ' ' })
}

// look returns the hostname of the load balancer of a Service, and reports
// whether any resource of it is left.
func (l *loadBalancer) look(ctx context.Context, in input) (hostname string, exists bool, err error) {
	o := &observed{Primaries: l.needs.Primaries(in.request.Name)}
	for _, kind := range []request.Kind{in.request.Kind, otherThan(in.request.Kind)} {
		if err := l.observeKind(ctx, in, kind, o); err != nil {
			return "", false, err
		}
		if o.has(kind) {
			return o.hostname(kind), true, nil
		}
	}
	if o.Network != nil && o.Network.Left() {
		return "", true, nil
	}
	if err := l.observeLeftGroups(ctx, in, o); err != nil {
		return "", false, err
	}
	d := buildDeletion(in, o)
	d.Nodes.Lost = l.lost.of(in.request.Name, o.Groups)
	if len(d.Surplus) > 0 {
		return "", true, nil
	}
	if !in.config.LeaveNodeSecurityGroups {
		left, err := l.planNodes(ctx, in, d.Nodes, o.Groups)
		if err != nil || len(left) > 0 {
			return "", len(left) > 0, err
		}
	}

	return "", false, l.confirmAbsent(ctx, in)
}

// confirmAbsent returns an error if a Service had a load balancer, and the configured VPC
// is empty: in another region or account, AWS finds nothing of it, and the Service would
// be deleted without it.
func (l *loadBalancer) confirmAbsent(ctx context.Context, in input) error {
	had := slices.IndexFunc(in.service.Status.LoadBalancer.Ingress, hasHostname)
	if had < 0 {
		return nil
	}
	hostname := in.service.Status.LoadBalancer.Ingress[had].Hostname
	empty, err := l.Network.Empty(ctx)
	if err != nil {
		return fmt.Errorf("check that load balancer %s was deleted: %w", hostname, err)
	}
	if !empty {
		return nil
	}

	return fmt.Errorf("load balancer %s is not found in region %s, nor is any subnet of VPC %s: "+
		"check Region, VPC and RoleARN of the cloud-config, AWS_REGION and the credentials", hostname, l.Region, in.config.VPC)
}

func hasHostname(ingress v1.LoadBalancerIngress) bool { return ingress.Hostname != "" }

// observeAll reads all possible resources of a deleted Service.
func (l *loadBalancer) observeAll(ctx context.Context, in input) (*observed, error) {
	o := &observed{Primaries: l.needs.Primaries(in.request.Name)}
	for _, kind := range []request.Kind{request.Classic, request.Network} {
		if err := l.observeKind(ctx, in, kind, o); err != nil {
			return nil, err
		}
	}

	return o, l.observeLeftGroups(ctx, in, o)
}

// observeKind reads what deletion needs of one kind of load balancer. The other
// kind is skipped if this process has observed that none exists.
func (l *loadBalancer) observeKind(ctx context.Context, in input, kind request.Kind, o *observed) error {
	other := kind != in.request.Kind
	if other && in.state.hasSynced(in.request.Kind) {
		return nil
	}
	var err error
	if kind == request.Network {
		query := in.query(true)
		query.Unknown = !in.state.hasSynced(kind)
		o.Network, err = network.Observe(ctx, l.NLB, query)
	} else {
		o.Classic, err = classic.Identify(ctx, l.ELB, in.request.Name, in.config.Cluster, in.state.hasSynced(kind))
	}
	if other {
		err = in.tolerate(ctx, kind, err)
	}

	return err
}

// observeLeftGroups reads the security groups that may be related to a Service:
// those of the cluster, those with a rule for its ports or for groups that were
// created for it, and those whose rules were written recently.
func (l *loadBalancer) observeLeftGroups(ctx context.Context, in input, o *observed) error {
	o.Writes = l.Groups.Writes()
	groups, err := l.Groups.OfClusterNow(ctx)
	if err != nil || in.config.LeaveNodeSecurityGroups {
		o.Groups = groups

		return err
	}
	more, err := securitygroup.ObservePorts(ctx, l.EC2, in.config.VPC, in.networkPorts(o))
	if err != nil {
		return err
	}
	recent := slices.DeleteFunc(l.Groups.Recent(), func(id string) bool { return groups[id] != nil || more[id] != nil })
	written, err := securitygroup.ObserveIDs(ctx, l.EC2, in.config.VPC, recent)
	if err != nil {
		return err
	}
	ending := idsOf(securitygroup.Owned(groups, in.request, in.config, o.groups()))
	referring, err := securitygroup.ObserveReferring(ctx, l.EC2, in.config.VPC, ending)
	o.Groups = merge(groups, more, written, referring)

	return err
}

// networkPorts returns the ports of nodes that rules for a network load
// balancer may contain, none if it never was one.
func (in input) networkPorts(o *observed) []int32 {
	if in.request.Kind != request.Network && !o.hasNetwork() && (o.Network == nil || !o.Network.Left()) {
		return nil
	}
	ports := lists.Map(in.service.Spec.Ports, func(port v1.ServicePort) int32 { return port.NodePort })
	ports = append(ports, in.service.Spec.HealthCheckNodePort)
	if in.config.SharedProbe {
		ports = append(ports, in.config.SharedProbePort)
	}
	if o.Network != nil {
		for _, group := range o.Network.TargetGroups {
			probed, _ := strconv.ParseInt(group.HealthCheck.Port, 10, 32) // or that of the traffic
			ports = append(ports, group.Port, int32(probed))
		}
	}

	return slices.DeleteFunc(plan.Sorted(ports), func(port int32) bool { return port == 0 })
}

// buildDeletion returns the desired state of a deleted Service. It is pure.
func buildDeletion(in input, o *observed) *desired {
	surplus := securitygroup.Owned(o.Groups, in.request, in.config, o.groups())
	d := &desired{Surplus: surplus}
	d.Nodes = securitygroup.Needs{LoadBalancer: o.ruleName(in), Ending: idsOf(surplus), Sources: idsOf(surplus)}
	primary := in.primaryGroup(o)
	if primary != "" {
		d.Nodes.Sources = append(d.Nodes.Sources, primary)
	}
	// A group that the Service does not list first cannot be found once the
	// load balancer is deleted: those rules are removed first.
	found := func(id string) bool { return slices.Contains(d.Nodes.Sources, id) }
	former, others := lists.Split(slices.DeleteFunc(o.classicGroups(), found), sets.New(o.primaries(in, primary)...).Has)
	d.Before = securitygroup.Needs{Sources: former}
	d.Warnings = o.rulesLeft(in, slices.DeleteFunc(others, in.names))

	return d
}

// primaryGroup returns the group of users by which nodes let in the classic load balancer
// of the Service, empty if there is none. One that users add to the usual groups may be
// let in for other reasons. Without the load balancer, the status of the Service shows
// whether there was one.
func (in input) primaryGroup(o *observed) string {
	if in.request.Kind != request.Classic {
		return ""
	}
	had := o.hasClassic() || slices.ContainsFunc(in.service.Status.LoadBalancer.Ingress,
		func(ingress v1.LoadBalancerIngress) bool {
			return ingress.Hostname != "" && kindOfHost(ingress.Hostname, in.config.Region) != request.Network
		})
	primary := in.config.ClassicSecurityGroup
	if len(in.request.SecurityGroups) > 0 {
		primary = in.request.SecurityGroups[0]
	}
	if !had || slices.Contains(in.request.ExtraSecurityGroups, primary) {
		return ""
	}

	return primary
}
