package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// observe reads the resources of a Service with a valid spec, and what its load
// balancer depends on. It is an error if there is a conflict, or nothing to
// update.
func (l *loadBalancer) observe(ctx context.Context, in input) (*observed, error) {
	o := &observed{Primaries: l.needs.Primaries(in.request.Name)}
	if err := l.observeKinds(ctx, in, o); err != nil {
		return nil, err
	}
	if err := o.conflict(in.request); err != nil {
		return nil, err
	}
	if !in.create && !o.has(in.request.Kind) {
		return nil, apierr.Mark(apierr.ErrNotFound, fmt.Errorf("there is no %s load balancer %s to update", in.request.Kind, in.request.Name))
	}
	if err := l.observeFacts(ctx, in, o); err != nil {
		return nil, err
	}

	return o, l.observeGroups(ctx, in, o)
}

// observeKinds reads the load balancer. The other kind is read only if the
// requested one does not exist.
func (l *loadBalancer) observeKinds(ctx context.Context, in input, o *observed) error {
	var err error
	if in.request.Kind == request.Network {
		if o.Network, err = network.Observe(ctx, l.NLB, in.query(false)); err != nil || o.Network.LoadBalancer != nil {
			return err
		}
		o.Classic, err = classic.Observe(ctx, l.ELB, in.request.Name, in.config.Cluster)

		return in.tolerate(ctx, request.Classic, err)
	}
	if o.Classic, err = classic.Observe(ctx, l.ELB, in.request.Name, in.config.Cluster); err != nil || o.Classic != nil {
		return err
	}
	o.Network, err = l.networkIfAny(ctx, in)

	return in.tolerate(ctx, request.Network, err)
}

// networkIfAny reads the network load balancer and what belongs to it only if it
// exists.
func (l *loadBalancer) networkIfAny(ctx context.Context, in input) (*network.Observed, error) {
	found, err := l.NLB.LoadBalancer(ctx, in.request.Name)
	if err != nil || found == nil {
		return nil, err
	}

	return network.Observe(ctx, l.NLB, in.query(true))
}

// observeGroups reads the security groups of the cluster, selects those that are
// used, and reads the selected ones that do not have its tag.
func (l *loadBalancer) observeGroups(ctx context.Context, in input, o *observed) error {
	o.Writes = l.Groups.Writes()
	groups, err := l.Groups.OfCluster(ctx)
	if err != nil {
		return err
	}
	o.Selection = selectGroups(in, o, groups)
	missing := slices.DeleteFunc(slices.Clone(o.Selection.Nodes.IDs), func(id string) bool { return groups[id] != nil })
	untagged, err := l.Groups.ByID(ctx, missing)
	if err != nil {
		return err
	}
	referring, err := securitygroup.ObserveReferring(ctx, l.EC2, in.config.VPC, idsOf(o.Selection.Surplus))
	o.Groups = merge(groups, untagged, referring)

	return err
}

// query returns the query for network load balancers.
func (in input) query(brief bool) network.Query {
	return network.Query{
		Name: in.request.Name, Service: in.request.Service, Cluster: in.config.Cluster, VPC: in.config.VPC,
		Attributes: attributesMatter(in.request, in.config), Brief: brief,
		AttributesOptional: len(in.request.TargetGroupAttributes) == 0,
	}
}

// tolerate ignores a missing permission to look up the other kind of load
// balancer, which users of one kind do not need; unless the status of the
// Service contains one.
func (in input) tolerate(ctx context.Context, other request.Kind, err error) error {
	if !errors.Is(err, apierr.ErrDenied) || slices.ContainsFunc(in.service.Status.LoadBalancer.Ingress,
		func(ingress v1.LoadBalancerIngress) bool {
			return kindOfHost(ingress.Hostname, in.config.Region) == other
		}) {
		return err
	}
	klog.FromContext(ctx).V(4).Info("Load balancers of the other kind may not be looked for",
		"service", klog.KObj(in.service), "kind", other, "err", err)

	return nil
}

// kindOfHost returns the kind of the load balancer with a hostname in a region:
// name.region.elb.amazonaws.com is a classic one, name.elb.region.amazonaws.com
// a network one, and other partitions have other suffixes.
func kindOfHost(hostname, region string) request.Kind {
	switch {
	case strings.Contains(hostname, "."+region+".elb."):
		return request.Classic
	case strings.Contains(hostname, ".elb."+region+"."):
		return request.Network
	default:
		return ""
	}
}

// observeFacts reads the subnets and instances that a load balancer depends on.
func (l *loadBalancer) observeFacts(ctx context.Context, in input, o *observed) error {
	o.Facts = request.Facts{Config: in.config}
	var err error
	if o.Facts.Subnets, err = l.subnets(ctx, in.request, o); err != nil {
		return err
	}
	if o.hasNetwork() && subnetsMatter(in.request, in.config) {
		if o.NetworkSubnets, err = l.Network.Named(ctx, o.Network.Subnets()); err != nil {
			return err
		}
	}
	err = l.targets(ctx, in, &o.Facts)
	o.Facts.Choose = in.chooseFrom(in.targetLimit(o), o.registered())

	return err
}

// targets reads the instances of the Nodes that can be targets of a load
// balancer, and which of them EC2 does not return.
func (l *loadBalancer) targets(ctx context.Context, in input, f *request.Facts) error {
	ids := lists.Map(in.request.Targets, func(target request.Target) string { return target.InstanceID })
	found, err := l.instances(ctx, ids)
	if err != nil {
		return err
	}
	f.Unknown = slices.DeleteFunc(ids, func(id string) bool { return found[id] != nil })
	f.LongUnknown = l.missing.long(found, f.Unknown)
	maps.DeleteFunc(found, func(_ string, instance *inventory.Instance) bool { return !inReach(in.config, instance) })
	f.Targets = found

	return nil
}

// instances reads the instances with these IDs, and reads those that were
// starting once more: there is no event when they run.
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
	renewed, err := l.Instances.Refresh(ctx, starting)
	maps.Copy(found, renewed)

	return found, err
}

// inReach reports whether an instance can be a target of a load balancer: it is
// in the same VPC. AWS rejects a whole call because of one that is not.
func inReach(c request.Config, instance *inventory.Instance) bool {
	return instance.VPC == "" || instance.VPC == c.VPC
}

// subnets chooses the subnets of the load balancer.
func (l *loadBalancer) subnets(ctx context.Context, r *request.Request, o *observed) ([]vpc.Subnet, error) {
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

	return l.Network.Discover(ctx, vpc.DiscoverOptions{Cluster: l.Settings.Cluster, Internal: internal, Fallback: l.Subnet})
}
