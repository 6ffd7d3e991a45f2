package aws

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/keylock"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// loadBalancerConfig is the configuration of a loadBalancer.
type loadBalancerConfig struct {
	// Settings are those of the cloud-config. The name of the cluster comes with
	// each call.
	Settings request.Config
	// Region is the one of the clients.
	Region string
	// Subnet is used if the cluster may use no other. It can be empty.
	Subnet string

	EC2       client.EC2
	ELB       client.ELB
	ELBV2     client.ELBV2
	Network   *vpc.Network
	Instances *inventory.Inventory

	// Step counts the writes of plans; nil counts nothing.
	Step   func(kind string, err error)
	Tuning loadBalancerTuning
}

// loadBalancerTuning has the times that tests shorten. The zero value is that of
// production.
type loadBalancerTuning struct {
	// Wait is how steps wait for a state.
	Wait change.Wait
	// Snapshot is how old shared reads may be.
	Snapshot snapshot.Options
}

// loadBalancer implements the load balancers of Services, classic and network
// ones.
//
// Every operation has the same stages: observe reads, build returns the desired
// state, diff plans, ensure or remove applies. It may be interrupted at any
// call, and is safe to repeat.
type loadBalancer struct {
	loadBalancerConfig
	// NLB, Groups and Classic share reads among Services.
	NLB     *snapshot.Snapshot
	Groups  *securitygroup.Reader
	Classic *securitygroup.Classic
	// services runs one operation at a time for each Service.
	services *service.Reconciler[state]
	// vpcs has a lock for the rules of nodes in each VPC. It is acquired inside
	// an operation.
	vpcs keylock.Set
	// deleting has the names of load balancers that are being deleted. They need no
	// rules any more, though they still exist.
	deleting sync.Map
	// stored is the state that was stored last of a load balancer.
	stored atomic.Pointer[syncedState]
	// needs has the rules that load balancers need in the security groups of nodes,
	// lost those that were removed there although they are needed.
	needs securitygroup.KnownNeeds
	lost  lostRules
	// missing has the instances that EC2 does not return.
	missing missing
	// limits has the quotas that are reached.
	limits *change.Limits
	// nodeWrites is how many Services are writing rules of nodes.
	nodeWrites atomic.Int32
}

var _ cloudprovider.LoadBalancer = (*loadBalancer)(nil)

// LoadBalancer implements cloudprovider.Interface.
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.loadBalancer, true }

// newLoadBalancer calls no API yet.
func newLoadBalancer(c loadBalancerConfig) *loadBalancer {
	groups := securitygroup.NewReader(c.EC2, c.Settings.VPC, c.Settings.Cluster)
	classic := securitygroup.NewClassic(c.ELB)
	c.EC2, c.ELB = groups.Client(), classic

	return &loadBalancer{
		loadBalancerConfig: c,
		NLB:                snapshot.New(c.ELBV2, c.Tuning.Snapshot),
		Groups:             groups,
		Classic:            classic,
		services:           service.NewReconciler[state](operationTimeout),
		limits:             change.NewLimits(),
		missing:            newMissing(),
	}
}

// serveServices makes the part that serves Services of type LoadBalancer.
func (c *cloud) serveServices() {
	c.loadBalancer = newLoadBalancer(loadBalancerConfig{
		Settings:  c.config.balancing(c.identity),
		Region:    c.identity.Region,
		Subnet:    c.identity.Subnet,
		EC2:       c.clients.EC2,
		ELB:       c.clients.ELB,
		ELBV2:     c.clients.ELBV2,
		Network:   vpc.NewNetwork(c.clients.EC2, c.identity.VPC, c.zones),
		Instances: c.inventory,
		Step:      metrics.New(ProviderName).Step,
		Tuning:    c.tuning.balancing,
	})
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (l *loadBalancer) GetLoadBalancerName(_ context.Context, _ string, svc *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(svc)
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. There is a load
// balancer as long as any resource of it is left, since deletion ends when
// there is none.
func (l *loadBalancer) GetLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service) (status *v1.LoadBalancerStatus, exists bool, err error) {
	if request.KindOf(svc) == request.Unmanaged {
		return nil, false, nil
	}
	err = l.services.Read(ctx, svc, func(ctx context.Context, known *state) error {
		in := l.identify(clusterName, svc, known)
		var hostname string
		if hostname, exists, err = l.look(ctx, in); err != nil {
			return err
		}
		if exists {
			status = statusOf(hostname)
		} else {
			l.forget(in) // the Service may be deleted without another call
		}

		return nil
	})

	return status, exists && err == nil, err
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer. A load balancer that
// serves and is not complete is a RetryError; its hostname is in the status of the
// Service then.
func (l *loadBalancer) EnsureLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	if request.KindOf(svc) == request.Unmanaged {
		return nil, cloudprovider.ImplementedElsewhere
	}
	hostname, err := l.sync(ctx, input{config: l.settings(clusterName), service: svc, create: true}, nodes)

	return l.services.Publish(svc, statusOf(hostname), err)
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer. It creates no load
// balancer: it is an error if there is none.
func (l *loadBalancer) UpdateLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service, nodes []*v1.Node) error {
	if request.KindOf(svc) == request.Unmanaged {
		return cloudprovider.ImplementedElsewhere
	}
	_, err := l.sync(ctx, input{config: l.settings(clusterName), service: svc}, nodes)

	return err
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (l *loadBalancer) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string, svc *v1.Service) error {
	if request.KindOf(svc) == request.Unmanaged {
		return nil
	}

	return l.services.Run(ctx, svc, func(ctx context.Context, known *state) error {
		in := l.identify(clusterName, svc, known)
		in.deletedAt = in.deletionBegan()
		if err := l.remove(ctx, in); err != nil {
			return err
		}
		l.forget(in)

		return nil
	})
}

// forget drops the state of a load balancer that no longer exists.
func (l *loadBalancer) forget(in input) {
	l.needs.Forget(in.request.Name)
	l.lost.forget(in.request.Name)
	l.services.Forget(in.service)
}

// deletionBegan returns when the deletion of the load balancer of a Service was
// requested. That of a Service which is no longer of type LoadBalancer was with the
// first call.
func (in input) deletionBegan() time.Time {
	if at := in.service.DeletionTimestamp; at != nil {
		return at.Time
	}
	if in.state.deletion.IsZero() {
		in.state.deletion = time.Now()
	}

	return in.state.deletion
}

// sync turns the load balancer of a Service into the desired one, and returns its
// hostname.
func (l *loadBalancer) sync(ctx context.Context, in input, nodes []*v1.Node) (hostname string, err error) {
	err = l.services.Run(ctx, in.service, func(ctx context.Context, known *state) error {
		in.state = known
		var warnings []service.Warning
		if in.request, warnings, err = request.New(in.service, nodes, in.config); err != nil {
			return err
		}
		in.nodes = namesOf(nodes)
		if known.since.IsZero() {
			known.since = time.Now()
		}
		if in.subset, err = targets.New(in.service, nodes, in.config.MaxTargets, known.since, time.Now()); err != nil {
			return err
		}
		if !in.create {
			if done, err := l.updateTargets(ctx, in, warnings); done || err != nil {
				return err
			}
		}
		hostname, err = l.ensure(ctx, in, warnings)

		return err
	})
	if err == nil {
		l.services.CountTargets(in.service, in.subset)
	}

	return hostname, err
}

// namesOf returns the names of Nodes, sorted.
func namesOf(nodes []*v1.Node) []string {
	names := lists.Map(nodes, func(node *v1.Node) string { return node.Name })
	slices.Sort(names)

	return names
}

// settings returns those of the cloud-config with the name of the cluster, which
// comes with each call.
func (l *loadBalancer) settings(clusterName string) request.Config {
	config := l.Settings
	config.ClusterName, config.Region = clusterName, l.Region

	return config
}

// statusOf returns the status of a Service. A load balancer that does not work
// has no hostname.
func statusOf(hostname string) *v1.LoadBalancerStatus {
	status := &v1.LoadBalancerStatus{}
	if hostname != "" {
		status.Ingress = []v1.LoadBalancerIngress{{Hostname: hostname}}
	}

	return status
}
