package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
)

// observed is what there is in AWS for a Service.
type observed struct {
	// Classic and Network are nil where nobody looked, or nothing is there.
	Classic *classic.LoadBalancer
	Network *network.Observed
	// Groups are the security groups of the cluster, nil if they do not matter.
	Groups securitygroup.Groups
	// Settled says that no rule lets in the groups that a classic load balancer
	// loses, so that it may lose them.
	Settled bool
}

// classicGroups are the IDs of the groups of the classic load balancer.
func (o observed) classicGroups() []string {
	if o.Classic == nil || o.Classic.Refusal() != nil {
		return nil
	}
	return o.Classic.SecurityGroups
}

// networkGroups are the IDs of the groups of the network load balancer, nil
// without one.
func (o observed) networkGroups() []string {
	if !o.hasNetwork() {
		return nil
	}
	return append([]string{}, o.Network.SecurityGroups()...)
}

// groups are the IDs of the groups of all load balancers.
func (o observed) groups() []string { return append(o.classicGroups(), o.networkGroups()...) }

// hasNetwork says whether there is a network load balancer of ours.
func (o observed) hasNetwork() bool {
	return o.Network != nil && o.Network.LoadBalancer != nil && o.Network.Refusal() == nil
}

// hasClassic says whether there is a classic load balancer of ours.
func (o observed) hasClassic() bool { return o.Classic != nil && o.Classic.Refusal() == nil }

// has says whether there is a load balancer of ours.
func (o observed) has(kind request.Kind) bool {
	if kind == request.Network {
		return o.hasNetwork()
	}
	return o.hasClassic()
}

// hostname is that of the load balancer of a kind.
func (o observed) hostname(kind request.Kind) string {
	switch {
	case kind != request.Network:
		return o.Classic.Hostname()
	case o.Network == nil:
		return ""
	default:
		return o.Network.Hostname()
	}
}

// observe reads what a Service with a good spec has. The other kind of load
// balancer matters only if the wanted one is not there.
func (l *loadBalancer) observe(ctx context.Context, t task) (observed, error) {
	o := observed{}
	r, id := t.request, t.config.Cluster
	var err error
	if r.Kind == request.Network {
		if o.Network, err = network.Observe(ctx, l.ELBV2, t.query(false)); err == nil && o.Network.LoadBalancer == nil {
			o.Classic, err = classic.Observe(ctx, l.ELB, r.Name, id)
			err = t.tolerate(ctx, request.Classic, err)
		}
	} else {
		if o.Classic, err = classic.Observe(ctx, l.ELB, r.Name, id); err == nil && o.Classic == nil {
			o.Network, err = l.networkIfAny(ctx, t)
			err = t.tolerate(ctx, request.Network, err)
		}
	}
	if err != nil {
		return o, err
	}
	if groupsMatter(r, t.config, o) {
		o.Groups, err = securitygroup.Observe(ctx, l.EC2, t.config.VPC, id)
	}
	return o, err
}

// networkIfAny looks for a network load balancer, and closer only if it is there.
func (l *loadBalancer) networkIfAny(ctx context.Context, t task) (*network.Observed, error) {
	_, err := l.ELBV2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{t.request.Name}})
	switch {
	case errors.Is(err, apierr.ErrNotFound):
		return nil, nil //nolint:nilnil // that there is none is an answer
	case err != nil:
		return nil, fmt.Errorf("describe load balancer %s: %w", t.request.Name, err)
	}
	return network.Observe(ctx, l.ELBV2, t.query(true))
}

// observeAll reads whatever there may be of a Service that has come to its end.
func (l *loadBalancer) observeAll(ctx context.Context, t task) (observed, error) {
	o := observed{}
	var err error
	o.Classic, err = classic.Observe(ctx, l.ELB, t.request.Name, t.config.Cluster)
	if t.request.Kind == request.Network {
		err = t.tolerate(ctx, request.Classic, err)
	}
	if err != nil {
		return o, err
	}
	o.Network, err = network.Observe(ctx, l.ELBV2, t.query(true))
	if t.request.Kind != request.Network {
		err = t.tolerate(ctx, request.Network, err)
	}
	return o, err
}

func otherThan(kind request.Kind) request.Kind {
	if kind == request.Network {
		return request.Classic
	}
	return request.Network
}

// tolerate forgives that looking for the other kind of load balancer is not
// allowed, which those who never had one need not allow; unless the status of the
// Service tells of one.
func (t task) tolerate(ctx context.Context, other request.Kind, err error) error {
	if !errors.Is(err, apierr.ErrDenied) || slices.ContainsFunc(t.service.Status.LoadBalancer.Ingress,
		func(ingress v1.LoadBalancerIngress) bool { return kindOfHost(ingress.Hostname) == other }) {
		return err
	}
	klog.FromContext(ctx).V(4).Info("Load balancers of the other kind may not be looked for",
		"service", klog.KObj(t.service), "kind", other, "err", err)
	return nil
}

// kindOfHost is the kind of load balancer that has such a hostname:
// name.region.elb.amazonaws.com is a classic one, name.elb.region.amazonaws.com a
// network one, and other partitions have other ends.
func kindOfHost(hostname string) request.Kind {
	switch {
	case strings.Contains(hostname, ".elb.amazonaws.com"):
		return request.Classic
	case strings.Contains(hostname, ".elb."):
		return request.Network
	default:
		return ""
	}
}

// look tells whether anything is left of a Service, and the hostname of its load
// balancer.
func (l *loadBalancer) look(ctx context.Context, t task) (hostname string, exists bool, err error) {
	o, err := l.observeAll(ctx, t)
	if err != nil {
		return "", false, err
	}
	for _, kind := range []request.Kind{t.request.Kind, otherThan(t.request.Kind)} {
		if o.has(kind) {
			return o.hostname(kind), true, nil
		}
	}
	if o.Network != nil && o.Network.Left() {
		return "", true, nil
	}
	groups, err := l.groupsLeft(ctx, t, o)
	if err != nil {
		return "", false, err
	}
	named := !t.config.LeaveNodeSecurityGroups && securitygroup.Named(groups, t.named(o))
	return "", named || len(securitygroup.Owned(groups, t.request, t.config, nil)) > 0, nil
}

// groupsLeft reads the security groups that may have to do with a Service: those
// of the cluster, and any with a rule for its ports.
func (l *loadBalancer) groupsLeft(ctx context.Context, t task, o observed) (securitygroup.Groups, error) {
	groups, err := securitygroup.Observe(ctx, l.EC2, t.config.VPC, t.config.Cluster)
	if err != nil || t.config.LeaveNodeSecurityGroups {
		return groups, err
	}
	more, err := securitygroup.ObservePorts(ctx, l.EC2, t.config.VPC, t.networkPorts(o))
	return merge(groups, more), err
}

// named is the name in descriptions of rules that were made for the Service. It
// is empty where a load balancer of another cluster has the name, whose they are
// then (W8).
func (t task) named(o observed) string {
	if o.Network != nil && o.Network.Refusal() != nil {
		return ""
	}
	return t.request.Name
}

// facts reads what else a load balancer depends on.
func (l *loadBalancer) facts(ctx context.Context, t task, o observed) (request.Facts, error) {
	f := request.Facts{Config: t.config}
	var err error
	if f.Subnets, err = l.subnets(ctx, t.request, o); err != nil {
		return f, err
	}
	ids := make([]string, 0, len(t.request.Targets))
	for _, target := range t.request.Targets {
		ids = append(ids, target.InstanceID)
	}
	if f.Targets, err = l.instances(ctx, ids); err != nil {
		return f, err
	}
	maps.DeleteFunc(f.Targets, func(_ string, instance *inventory.Instance) bool { return !inReach(f.Config, instance) })
	return f, nil
}

// instances reads those with these IDs, and once more those that were starting: no
// other call comes when they run.
func (l *loadBalancer) instances(ctx context.Context, ids []string) (map[string]*inventory.Instance, error) {
	found, err := l.Instances.Get(ctx, ids)
	if err != nil {
		return nil, err
	}
	var starting []string
	for id, instance := range found {
		if instance.State == ec2types.InstanceStateNamePending {
			starting = append(starting, id)
			delete(found, id)
		}
	}
	renewed, err := l.Instances.Renew(ctx, starting)
	maps.Copy(found, renewed)
	return found, err
}

// inReach says whether an instance can be behind a load balancer: it is there for
// the cluster, and in the same VPC. AWS refuses all with one that is not.
func inReach(c request.Config, instance *inventory.Instance) bool {
	return c.Cluster.Member(instance.Tags) && (instance.VPC == "" || instance.VPC == c.VPC)
}

// subnets chooses those of the load balancer.
func (l *loadBalancer) subnets(ctx context.Context, r *request.Request, o observed) ([]vpc.Subnet, error) {
	if len(r.Subnets) > 0 {
		named, err := l.Network.Named(ctx, r.Subnets)
		if err != nil {
			return nil, fmt.Errorf("find the subnets of annotation %s: %w", request.AnnotationSubnets, err)
		}
		return named, nil
	}
	internal, needed := discovery(r, o)
	if !needed {
		return nil, nil
	}
	return l.Network.Discover(ctx, vpc.Wish{Cluster: l.Settings.Cluster, Internal: internal, Fallback: l.Subnet})
}

// outline is what a Service with whatever spec is known by: deleting must not
// depend on annotations that are right.
func (l *loadBalancer) outline(clusterName string, svc *v1.Service) task {
	t := task{config: l.Settings, service: svc}
	t.config.ClusterName = clusterName
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

// items are those of a list between commas.
func items(svc *v1.Service, name annotation.Name) []string {
	return strings.FieldsFunc(svc.Annotations[string(name)], func(r rune) bool { return r == ',' || r == ' ' })
}
