package aws

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// loadBalancerConfig is what load balancers are made with.
type loadBalancerConfig struct {
	// Settings are those of the cloud-config. The name of the cluster comes with
	// each call.
	Settings request.Config
	// Subnet is the one to take where the cluster may use none. It can be empty.
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

// loadBalancerTuning are the times that tests shorten. The zero value is what
// production uses.
type loadBalancerTuning struct {
	// Wait is how steps wait for a state.
	Wait change.Wait
}

// loadBalancer is the load balancers of Services, classic and network ones.
//
// Every change is made the same way: observe, plan, apply, and then the same once
// more for the security groups of the nodes, which Services share. All of it may
// end at any point and be begun anew.
type loadBalancer struct {
	loadBalancerConfig
	reporter *service.Reporter
	// services has a lock for each Service, vpcs one for each VPC, which is for
	// the rules of nodes and is taken second.
	services, vpcs service.Locks
	leaving        leaving
}

var _ cloudprovider.LoadBalancer = (*loadBalancer)(nil)

// newLoadBalancer talks to nobody yet.
func newLoadBalancer(c loadBalancerConfig) *loadBalancer {
	return &loadBalancer{
		loadBalancerConfig: c,
		reporter:           service.NewReporter(),
		leaving:            leaving{names: sets.New[string]()},
	}
}

// serveServices makes the part that serves Services of type LoadBalancer.
func (c *cloud) serveServices() {
	c.loadBalancer = newLoadBalancer(loadBalancerConfig{
		Settings:  c.config.balancing(c.identity),
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

// setRecorder gives what Events are recorded with.
func (l *loadBalancer) setRecorder(recorder record.EventRecorder) { l.reporter.SetRecorder(recorder) }

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (l *loadBalancer) GetLoadBalancerName(_ context.Context, _ string, svc *v1.Service) string {
	return lbname.ByUID(svc)
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. There is a load balancer
// as long as any piece of it is there, since deleting ends when there is none.
func (l *loadBalancer) GetLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	if request.KindOf(svc) == request.Elsewhere {
		return nil, false, nil
	}
	hostname, exists, err := l.look(ctx, l.outline(clusterName, svc))
	if err != nil || !exists {
		return nil, false, err
	}
	return statusOf(hostname), true, nil
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (l *loadBalancer) EnsureLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	if request.KindOf(svc) == request.Elsewhere {
		return nil, cloudprovider.ImplementedElsewhere
	}
	hostname, err := l.sync(ctx, order{cluster: clusterName, service: svc, nodes: nodes, create: true})
	if err != nil {
		return nil, err
	}
	return statusOf(hostname), nil
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer. It makes no load
// balancer: that there is none is an error.
func (l *loadBalancer) UpdateLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service, nodes []*v1.Node) error {
	if request.KindOf(svc) == request.Elsewhere {
		return cloudprovider.ImplementedElsewhere
	}
	_, err := l.sync(ctx, order{cluster: clusterName, service: svc, nodes: nodes})
	return err
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (l *loadBalancer) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string, svc *v1.Service) error {
	if request.KindOf(svc) == request.Elsewhere {
		return nil
	}
	return l.remove(ctx, clusterName, svc)
}

// statusOf is the status of a Service. A load balancer that does not work has no
// hostname.
func statusOf(hostname string) *v1.LoadBalancerStatus {
	status := &v1.LoadBalancerStatus{}
	if hostname != "" {
		status.Ingress = []v1.LoadBalancerIngress{{Hostname: hostname}}
	}
	return status
}
