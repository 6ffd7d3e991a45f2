package aws

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
)

// identify is the task of a Service with whatever spec: deletion must not depend
// on annotations that are valid.
func (l *loadBalancer) identify(clusterName string, svc *v1.Service) task {
	t := task{config: l.settings(clusterName), service: svc}
	t.request = &request.Request{
		Service:             types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name},
		UID:                 svc.UID,
		Name:                lbname.ByUID(svc),
		Kind:                request.KindOf(svc),
		SecurityGroups:      items(svc, request.AnnotationSecurityGroups),
		ExtraSecurityGroups: items(svc, request.AnnotationExtraSecurityGroups),
	}
	return t
}

// items returns those of a list between commas.
func items(svc *v1.Service, name annotation.Name) []string {
	return strings.FieldsFunc(svc.Annotations[string(name)], func(r rune) bool { return r == ',' || r == ' ' })
}

// look returns the hostname of the load balancer of a Service, and reports whether
// anything is left of it.
func (l *loadBalancer) look(ctx context.Context, t task) (hostname string, exists bool, err error) {
	o := &observed{Primaries: l.needs.Primaries(t.request.Name)}
	for _, kind := range []request.Kind{t.request.Kind, otherThan(t.request.Kind)} {
		if err := l.observeKind(ctx, t, kind, o); err != nil {
			return "", false, err
		}
		if o.has(kind) {
			return o.hostname(kind), true, nil
		}
	}
	if o.Network != nil && o.Network.Left() {
		return "", true, nil
	}
	if err := l.observeLeftGroups(ctx, t, o); err != nil {
		return "", false, err
	}
	d := buildDeletion(t, o)
	d.Nodes.Lost = l.lost.of(t.request.Name, o.Groups)
	if len(d.Surplus) > 0 {
		return "", true, nil
	}
	if !t.config.LeaveNodeSecurityGroups {
		left, err := l.planNodes(ctx, t, d.Nodes, o.Groups)
		if err != nil || len(left) > 0 {
			return "", len(left) > 0, err
		}
	}
	return "", false, l.confirmAbsent(ctx, t)
}

// confirmAbsent returns an error if a Service had a load balancer, and the configured VPC
// is empty: in another region or account, AWS finds nothing of it, and the Service would
// be deleted without it.
func (l *loadBalancer) confirmAbsent(ctx context.Context, t task) error {
	had := slices.IndexFunc(t.service.Status.LoadBalancer.Ingress, hasHostname)
	if had < 0 {
		return nil
	}
	hostname := t.service.Status.LoadBalancer.Ingress[had].Hostname
	empty, err := l.Network.Empty(ctx)
	if err != nil {
		return fmt.Errorf("check that load balancer %s was deleted: %w", hostname, err)
	}
	if !empty {
		return nil
	}
	return fmt.Errorf("load balancer %s is not found in region %s, nor is any subnet of VPC %s: "+
		"check Region, VPC and RoleARN of the cloud-config, AWS_REGION and the credentials", hostname, l.Region, t.config.VPC)
}

func hasHostname(ingress v1.LoadBalancerIngress) bool { return ingress.Hostname != "" }

// observeAll reads whatever there may be of a Service that is deleted.
func (l *loadBalancer) observeAll(ctx context.Context, t task) (*observed, error) {
	o := &observed{Primaries: l.needs.Primaries(t.request.Name)}
	for _, kind := range []request.Kind{request.Classic, request.Network} {
		if err := l.observeKind(ctx, t, kind, o); err != nil {
			return nil, err
		}
	}
	return o, l.observeLeftGroups(ctx, t, o)
}

// observeKind reads what deletion needs of one kind of load balancer. One of the
// other kind is skipped if this process has seen that there is none.
func (l *loadBalancer) observeKind(ctx context.Context, t task, kind request.Kind, o *observed) error {
	other := kind != t.request.Kind
	if other && l.synced.is(t.request.Name, t.request.Kind) {
		return nil
	}
	var err error
	if kind == request.Network {
		query := t.query(true)
		query.Unknown = !l.synced.is(t.request.Name, kind)
		o.Network, err = network.Observe(ctx, l.NLB, query)
	} else {
		o.Classic, err = classic.Identify(ctx, l.ELB, t.request.Name, t.config.Cluster, l.synced.is(t.request.Name, kind))
	}
	if other {
		err = t.tolerate(ctx, kind, err)
	}
	return err
}

// observeLeftGroups reads the security groups that may have to do with a Service:
// those of the cluster, and any with a rule for its ports or for groups that were
// created for it, or whose rules were written lately.
func (l *loadBalancer) observeLeftGroups(ctx context.Context, t task, o *observed) error {
	o.Writes = l.Groups.Writes()
	groups, err := l.Groups.OfClusterNow(ctx)
	if err != nil || t.config.LeaveNodeSecurityGroups {
		o.Groups = groups
		return err
	}
	more, err := securitygroup.ObservePorts(ctx, l.EC2, t.config.VPC, t.networkPorts(o))
	if err != nil {
		return err
	}
	recent := slices.DeleteFunc(l.Groups.Recent(), func(id string) bool { return groups[id] != nil || more[id] != nil })
	written, err := securitygroup.ObserveIDs(ctx, l.EC2, t.config.VPC, recent)
	if err != nil {
		return err
	}
	ending := idsOf(securitygroup.Owned(groups, t.request, t.config, o.groups()))
	referring, err := securitygroup.ObserveReferring(ctx, l.EC2, t.config.VPC, ending)
	o.Groups = merge(groups, more, written, referring)
	return err
}

// networkPorts returns the ports of nodes that rules for a network load balancer
// may be about, none if it never was one.
func (t task) networkPorts(o *observed) []int32 {
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

// buildDeletion returns what is left to do when all that was created for a
// Service is deleted. It is pure.
func buildDeletion(t task, o *observed) *desired {
	surplus := securitygroup.Owned(o.Groups, t.request, t.config, o.groups())
	d := &desired{Surplus: surplus}
	d.Nodes = securitygroup.Needs{LoadBalancer: o.ruleName(t), Ending: idsOf(surplus), Sources: idsOf(surplus)}
	primary := t.primaryGroup(o)
	if primary != "" {
		d.Nodes.Sources = append(d.Nodes.Sources, primary)
	}
	// What the Service does not name first cannot be found once the load balancer is
	// gone: those rules go first.
	found := func(id string) bool { return slices.Contains(d.Nodes.Sources, id) }
	former, others := split(slices.DeleteFunc(o.classicGroups(), found), o.primaries(t, primary))
	d.Before = securitygroup.Needs{Sources: former}
	d.Warnings = o.rulesLeft(t, slices.DeleteFunc(others, t.names))
	return d
}

// primaryGroup returns the group of users by which nodes let in the classic load balancer
// of the Service, empty if there is none. One that users add to the usual groups may be
// let in for other reasons. Without the load balancer, the status of the Service tells
// whether there was one.
func (t task) primaryGroup(o *observed) string {
	if t.request.Kind != request.Classic {
		return ""
	}
	had := o.hasClassic() || slices.ContainsFunc(t.service.Status.LoadBalancer.Ingress,
		func(ingress v1.LoadBalancerIngress) bool {
			return ingress.Hostname != "" && kindOfHost(ingress.Hostname) != request.Network
		})
	primary := t.config.ClassicSecurityGroup
	if len(t.request.SecurityGroups) > 0 {
		primary = t.request.SecurityGroups[0]
	}
	if !had || slices.Contains(t.request.ExtraSecurityGroups, primary) {
		return ""
	}
	return primary
}
