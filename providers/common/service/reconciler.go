package service

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/keylock"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Reconciler runs the operations on load balancers. S is what a provider keeps of the operations on
// the load balancer of one Service, and begins with its zero value. It is safe for concurrent use.
type Reconciler[S any] struct {
	*Reporter
	timeout time.Duration
	locks   keylock.Set
	states  states[S]
	retries retries
	failing failures
	targets targetCounts
	// builder is nil until SetClients.
	builder cloudprovider.ControllerClientBuilder
}

// NewReconciler returns a Reconciler whose operations end after the timeout. It
// records no Events and writes no status until SetRecorder and SetClients.
func NewReconciler[S any](timeout time.Duration) *Reconciler[S] {
	return &Reconciler[S]{Reporter: NewReporter(), timeout: timeout}
}

// SetClients sets where the client comes from that writes the status of Services,
// nil for none. It must be called before any operation.
func (r *Reconciler[S]) SetClients(builder cloudprovider.ControllerClientBuilder) {
	r.builder = builder
}

// Measure reports from now on how many Services have a load balancer on which the last operation failed, and how many
// targets load balancers have. The leader alone calls it, before any operation.
func (r *Reconciler[S]) Measure(recorder *metrics.Recorder) {
	r.targets.recorder, r.targets.all = recorder, map[types.UID]targetCount{}
	recorder.ServicesFailing(func() ([]time.Time, bool) { return r.failing.since(time.Now()), true })
}

// Run calls do with the state of the Service once no other operation on the Service is running, and
// returns its error. The timeout includes the wait.
func (r *Reconciler[S]) Run(ctx context.Context, svc *v1.Service, do func(context.Context, *S) error) error {
	err := r.Read(ctx, svc, do)
	r.failing.note(svc.UID, err, time.Now())

	return err
}

// Read is Run for a call that changes nothing: its result shows nothing about the load balancer.
func (r *Reconciler[S]) Read(ctx context.Context, svc *v1.Service, do func(context.Context, *S) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	unlock, err := r.locks.Lock(ctx, klog.KObj(svc).String())
	if err != nil {
		return err
	}
	defer unlock()

	return do(ctx, r.states.of(svc.UID, time.Now()))
}

// Forget drops the state, the retries and the failures of a load balancer that no longer exists. Its
// Events are those of its Service, and are dropped by the next Report.
func (r *Reconciler[S]) Forget(svc *v1.Service) {
	r.states.forget(svc.UID)
	r.retries.forget(svc.UID)
	r.failing.note(svc.UID, nil, time.Now())
	r.targets.put(svc.UID, nil)
}

// Operation is a call of the service controller.
type Operation struct {
	Service *v1.Service
	// LoadBalancer is the name of its load balancer.
	LoadBalancer string
	// Ensures reports whether it is EnsureLoadBalancer, which alone the service
	// controller calls again at the time of a RetryError.
	Ensures bool
}

// Apply logs the plan of an operation and applies it. Observe is called as
// [plan.Plan.Apply] does.
func Apply[E any](ctx context.Context, op Operation, steps plan.Plan[E], env E, observe func(kind string, err error)) error {
	logger := klog.FromContext(ctx).WithValues("service", klog.KObj(op.Service), "loadBalancer", op.LoadBalancer)
	if len(steps) == 0 {
		logger.V(4).Info("Load balancer is up to date")

		return nil
	}
	logger.V(2).Info("Changing load balancer", "plan", steps.String())

	return steps.Apply(ctx, env, observe)
}
