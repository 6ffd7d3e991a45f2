package loadbalancers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// operationTimeout bounds each operation on the load balancer of a Service.
const operationTimeout = 5 * time.Minute

// Config is what load balancers depend on.
type Config struct {
	// Settings are those of the cloud-config. The name of the cluster comes with each call.
	Settings request.Config
	// Step counts the writes of plans; nil counts nothing.
	Step   func(kind string, err error)
	Tuning Tuning
}

// Tuning has the times that tests shorten. The zero value is that of production.
type Tuning struct {
	// Wait is how operations wait for states of NSX-T.
	Wait plan.Wait
	// SearchAge is how old a search may be, and IndexLag how long it may show what was before
	// an own write.
	SearchAge, IndexLag time.Duration
}

// API are the calls in use for load balancers.
type API interface {
	Search(ctx context.Context, query string, each func(json.RawMessage) error) error
	List(ctx context.Context, path string) ([]nsx.Object, error)
	Get(ctx context.Context, path string) (nsx.Object, error)
	Put(ctx context.Context, path string, o nsx.Object) (nsx.Object, error)
	Delete(ctx context.Context, path string) error
	Realization(ctx context.Context, path string) (nsx.Realization, error)
}

// state is what is kept of the load balancer of a Service.
type state struct {
	// unrealized means that it is not known to be realized, which is looked at again.
	unrealized bool
	// since is when this process has first synced the load balancer.
	since time.Time
}

// LoadBalancers implements the load balancers of Services. Every operation may be interrupted
// at any call, and is safe to repeat.
type LoadBalancers struct {
	config   Config
	api      API
	services *service.Reconciler[state]
	snapshot snapshot
	names    *names
	// checked are the LBServices that can be used, realized those that are realized.
	checked, realized sync.Map
	// gateways are the paths of the tier-1 gateways of LBServices of others, by their own.
	gateways sync.Map
	// ensuring is how many Services may be about to get a virtual server.
	ensuring atomic.Int32
	// sweeper is nil until SetInformers.
	sweeper atomic.Pointer[sweeper]
}

var (
	_ cloudprovider.LoadBalancer = (*LoadBalancers)(nil)
	_ API                        = (*nsx.Client)(nil)
)

// New calls nothing yet.
func New(config Config, api API) *LoadBalancers {
	l := &LoadBalancers{
		config: config, api: api, services: service.NewReconciler[state](operationTimeout), names: newNames(api, config.Settings.Classes),
	}
	l.snapshot = snapshot{api: api, owner: config.Settings.Owner, pools: l.names.configured, lag: config.Tuning.IndexLag}
	l.snapshot.start(config.Tuning.SearchAge)

	return l
}

// Services returns what runs the operations, to be connected to the Kubernetes API.
func (l *LoadBalancers) Services() *service.Reconciler[state] { return l.services }

// GetLoadBalancerName implements cloudprovider.LoadBalancer: the display name of its objects.
func (l *LoadBalancers) GetLoadBalancerName(_ context.Context, clusterName string, svc *v1.Service) string {
	return l.config.Settings.NamesOf(clusterName, svc).DisplayName()
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. There is a load balancer as long as
// any object of it is left, since deletion ends when there is none.
func (l *LoadBalancers) GetLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service) (status *v1.LoadBalancerStatus, exists bool, err error) {
	err = l.services.Read(ctx, svc, func(ctx context.Context, _ *state) error {
		o, err := l.observe(ctx, clusterName, svc)
		if err != nil {
			return err
		}
		for _, path := range pathsOf(o.objects) { // the search may show what was deleted
			if err = l.read(ctx, o, []string{path}); err != nil || o.has(path) {
				break
			}
		}
		if err == nil && o.isEmpty() {
			err = l.probe(ctx, o, svc)
		}
		if err != nil {
			return err
		}
		if err := o.checkPlace(); err != nil {
			return err
		}
		if exists = !o.isEmpty(); exists {
			status = statusOf(o)
		} else {
			l.services.Forget(svc) // the Service may be deleted without another call
		}

		return nil
	})

	return status, exists && err == nil, err
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer. A load balancer that is not realized
// yet is a RetryError.
func (l *LoadBalancers) EnsureLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	status, err := l.sync(ctx, clusterName, svc, nodes, true)

	return l.services.Publish(svc, status, err)
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer. It creates no load balancer: it is
// an error if there is none.
func (l *LoadBalancers) UpdateLoadBalancer(ctx context.Context, clusterName string, svc *v1.Service, nodes []*v1.Node) error {
	_, err := l.sync(ctx, clusterName, svc, nodes, false)

	return err
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer. It depends neither on the
// class nor on anything else that the Service requests.
func (l *LoadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string, svc *v1.Service) error {
	return l.services.Run(ctx, svc, func(ctx context.Context, _ *state) error { return l.remove(ctx, clusterName, svc) })
}

var errNoLoadBalancer = apierr.Mark(apierr.ErrNotFound, errors.New("there is no load balancer"))

// sync turns the load balancer of a Service into the one that is wanted.
func (l *LoadBalancers) sync(ctx context.Context, cluster string, svc *v1.Service, nodes []*v1.Node, create bool) (status *v1.LoadBalancerStatus, err error) {
	status = &v1.LoadBalancerStatus{}
	err = l.services.Run(ctx, svc, func(ctx context.Context, known *state) error {
		r, warnings := l.config.Settings.New(cluster, svc, nodes)
		if known.since.IsZero() {
			known.since = time.Now()
		}
		subset, err := targets.New(svc, nodes, l.config.Settings.MaxTargets, known.since, time.Now())
		r.Refused = errors.Join(r.Refused, err)
		l.ensuring.Add(1)
		defer l.ensuring.Add(-1)
		o, err := l.observe(ctx, cluster, svc)
		if err != nil {
			return err
		}
		if !o.isPublished() {
			known.unrealized = true
			err = l.read(ctx, o, pathsOf(o.objects)) // they may be those of a former Service with this name
		}
		if err == nil && !create && len(o.parts().own[policy.VirtualServers]) == 0 {
			err = errNoLoadBalancer
		}
		if err != nil {
			return err
		}
		op := service.Operation{Service: svc, LoadBalancer: r.Names.DisplayName(), Ensures: create}
		if err = l.ensure(ctx, op, o, r, subset, warnings, known); err == nil {
			l.services.CountTargets(svc, subset)
		}
		if err == nil || apierr.Has[*service.IncompleteError](err) {
			status = statusOf(o)
		}

		return err
	})

	return status, err
}

// ensure makes and applies the plan, and waits until an address that is not published yet is
// realized.
func (l *LoadBalancers) ensure(ctx context.Context, op service.Operation, o *observed, r *request.Request, subset *targets.Subset, warnings []service.Warning, known *state) error {
	in := l.resolve(ctx, o, r)
	in.subset = subset
	in.operation = op
	d, created, err := l.settle(ctx, in, o)
	if d != nil {
		warnings = append(warnings, d.warnings...)
	}
	l.services.Report(op.Service, warnings)
	var gaps []service.Gap
	known.unrealized = known.unrealized || len(created) > 0
	if err == nil && known.unrealized {
		err = l.waitRealized(ctx, o.lbService, serversOf(o.parts()))
		known.unrealized = err != nil
		if err != nil && !errors.Is(err, errUnrealized) && ctx.Err() == nil {
			gaps, err = awaited(err), nil // it may serve, as the upstream controller manager assumes
		}
	}
	if errors.Is(err, errPending) {
		gaps, err = awaited(err), nil
	}

	return l.services.Incomplete(op, gaps, err)
}

// awaited returns the gap of what is not known to be realized.
func awaited(err error) []service.Gap {
	return []service.Gap{{Key: "realization", Text: err.Error(), Soon: true}}
}

// remove deletes all objects of a Service.
func (l *LoadBalancers) remove(ctx context.Context, cluster string, svc *v1.Service) error {
	o, err := l.observe(ctx, cluster, svc)
	if err != nil {
		return err
	}
	if err := cmp.Or(l.probe(ctx, o, svc), o.checkPlace()); err != nil {
		return err
	}
	in := input{settings: &l.config.Settings, operation: service.Operation{Service: svc, LoadBalancer: o.names.DisplayName()}}
	d, _, err := l.settle(ctx, in, o)
	if d != nil {
		l.services.Report(svc, d.warnings)
	}
	if err == nil {
		l.services.Forget(svc)
	}

	return err
}

// statusOf returns the status of a Service.
func statusOf(o *observed) *v1.LoadBalancerStatus {
	return &v1.LoadBalancerStatus{Ingress: lists.Map(o.parts().addresses(), func(ip string) v1.LoadBalancerIngress {
		return v1.LoadBalancerIngress{IP: ip}
	})}
}
