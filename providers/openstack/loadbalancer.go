package openstack

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/keylock"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/snapshot"
)

const (
	// operationTimeout bounds each operation on the load balancer of a Service.
	operationTimeout = 5 * time.Minute
	// listAge is how old the lists are that Services share. When a Node joins, a hundred
	// load balancers take a minute to change, and need no newer lists: only members are
	// added.
	listAge = 30 * time.Second
)

// loadBalancerConfig is the configuration of a loadBalancer.
type loadBalancerConfig struct {
	Config *Config
	Region string

	Octavia    *client.LoadBalancerService
	Network    *client.NetworkService
	KeyManager *client.KeyManagerService
	// Project returns the ID of the project that all logins lead to.
	Project   func(ctx context.Context) (string, error)
	Inventory *inventory.Inventory
	// Nodes returns the Nodes of the cluster, nil before there are informers. ServerOf
	// returns the ID of the server of a Node, none for a Node of another cloud.
	Nodes    func() *nodeindex.Index
	ServerOf func(*v1.Node) []string

	// Step counts the writes of plans, Reconcile operations; nil counts nothing.
	Step      func(kind string, err error)
	Reconcile func(operation string) func(error)
	Tuning    loadBalancerTuning
}

// loadBalancerTuning has the times that tests shorten. The zero value is that of
// production.
type loadBalancerTuning struct {
	// Waits is how steps wait for load balancers.
	Waits pending.Options
	// Lists is how old shared lists may be.
	Lists snapshot.Options
	// Networks is how long networks are kept.
	Networks networks.Options
	// Unclear is for how long reads may not show a load balancer that is there; default
	// [unclearAge].
	Unclear time.Duration
}

func (t loadBalancerTuning) unclear() time.Duration { return cmp.Or(t.Unclear, unclearAge) }

// loadBalancer implements the load balancers of Services in Octavia.
//
// Every operation has the same stages: find and observe read, build returns the desired
// state, diff plans, apply writes, publish writes to the Service. It may be interrupted at
// any call, and is safe to repeat. An operation for which shared lists show that nothing
// is to be done ends there.
type loadBalancer struct {
	loadBalancerConfig

	// services runs one operation at a time for each Service.
	services *service.Reconciler[state]
	// balancers has a lock for each load balancer, by its ID. It is acquired inside an
	// operation: Services that share a load balancer never change it at once.
	balancers keylock.Set
	publisher publisher

	waiter *pending.Waiter
	lists  *snapshot.Snapshot
	// listsFailed is when a list failed last.
	listsFailed lastTime
	networks    *networks.Finder
	refusals    *change.Refusals
	// ports has a lock for each port of a Node. It is acquired inside an operation.
	ports    keylock.Set
	prefixes prefixes
	// seen has when a load balancer was last there, by its ID.
	seen sync.Map
	// began is when the operations of this process began: another one made those before.
	began time.Time
	// stored is the request that was stored last in the state of a Service.
	stored atomic.Pointer[request.Request]
}

var _ cloudprovider.LoadBalancer = (*loadBalancer)(nil)

// LoadBalancer implements cloudprovider.Interface. It is offered unless the cloud-config
// disables it.
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	if c.loadBalancer == nil {
		return nil, false
	}

	return c.loadBalancer, true
}

// newLoadBalancer calls no API yet.
func newLoadBalancer(c loadBalancerConfig) *loadBalancer {
	if c.Reconcile == nil {
		c.Reconcile = func(string) func(error) { return func(error) {} }
	}

	c.Tuning.Lists.MaxAge = cmp.Or(c.Tuning.Lists.MaxAge, listAge)

	return &loadBalancer{
		loadBalancerConfig: c,
		services:           service.NewReconciler[state](operationTimeout),
		waiter:             pending.NewWaiter(c.Octavia, c.Tuning.Waits),
		lists:              snapshot.New(snapshot.API{Octavia: c.Octavia, Network: c.Network}, c.Tuning.Lists),
		networks:           networks.New(c.Network, c.Tuning.Networks),
		refusals:           new(change.Refusals),
	}
}

// setClients sets where the clients come from that write to Services. It must be called
// before any operation.
func (l *loadBalancer) setClients(builder cloudprovider.ControllerClientBuilder) {
	l.services.SetClients(builder)
	l.publisher.builder = builder
	l.began = time.Now()
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (l *loadBalancer) GetLoadBalancerName(_ context.Context, clusterName string, svc *v1.Service) string {
	return request.NewNames(clusterName, svc).LoadBalancer()
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. There is a load balancer as long
// as anything of it is left, since deletion ends when there is none.
func (l *loadBalancer) GetLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service) (status *v1.LoadBalancerStatus, exists bool, err error) {
	err = l.services.Read(ctx, svc, func(ctx context.Context, known *state) error {
		status, exists, err = l.look(ctx, l.identify(clusterName, svc, known))
		if err == nil && !exists {
			l.services.Forget(svc) // it may be deleted without another call
		}

		return err
	})
	if err != nil || !exists {
		return nil, false, err
	}

	return status, true, nil
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer. A load balancer that serves
// and is not complete is a RetryError; its address is in the status of the Service then.
func (l *loadBalancer) EnsureLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	done := l.Reconcile(client.ReconcileEnsure)
	status, err := l.sync(ctx, clusterName, svc, nodes, true)
	done(err)

	return l.services.Publish(svc, status, err)
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer. It changes nothing but the
// members of pools with their health monitors, and security groups: that anything else is
// missing is an error, after which the service controller calls EnsureLoadBalancer.
func (l *loadBalancer) UpdateLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service, nodes []*v1.Node) error {
	done := l.Reconcile(client.ReconcileUpdate)
	_, err := l.sync(ctx, clusterName, svc, nodes, false)
	done(err)

	return err
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (l *loadBalancer) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string, svc *v1.Service) error {
	done := l.Reconcile(client.ReconcileDelete)
	err := l.services.Run(ctx, svc, func(ctx context.Context, known *state) error {
		if err := l.remove(ctx, l.identify(clusterName, svc, known)); err != nil {
			return err
		}
		l.services.Forget(svc)

		return nil
	})
	done(err)

	return err
}

// sync turns the load balancer of a Service into the desired one, and returns the status.
func (l *loadBalancer) sync(ctx context.Context, cluster string, svc *v1.Service, nodes []*v1.Node, create bool) (*v1.LoadBalancerStatus, error) {
	status := &v1.LoadBalancerStatus{}
	err := l.services.Run(ctx, svc, func(ctx context.Context, known *state) error {
		parse := request.ForUpdate
		if create {
			parse = request.ForEnsure
		}
		r, warnings, err := parse(svc, nodes, l.Config.requestSettings(cluster))
		if err != nil {
			return err
		}
		if known.since.IsZero() {
			known.since = time.Now()
		}
		subset, err := targets.New(svc, nodes, l.Config.maxTargets, known.since, time.Now())
		if err != nil {
			return err
		}
		existing := request.ForDelete(svc, cluster)
		in := input{service: svc, state: known, names: r.Names, id: existing.InUse(), request: r, nodes: nodes, subset: subset, create: create, existing: existing, config: &l.Config.LoadBalancer}
		run := &run{loadBalancer: l, input: in, warnings: warnings, found: new(balancer), kept: in.existing.Kept}
		if err = run.sync(ctx); err == nil {
			l.services.CountTargets(svc, subset)
		}
		if noted, ok := errors.AsType[*notedError](err); ok {
			run.warnings = append(run.warnings, noted.warning)
		}
		if run.complete && create { // an update does not look at everything that there are warnings of
			l.services.Report(svc, slices.Clone(run.warnings))
		} else {
			l.services.Add(svc, slices.Clone(run.warnings))
		}
		status = statusOf(r, run.addr)

		return err
	})

	return status, err
}
