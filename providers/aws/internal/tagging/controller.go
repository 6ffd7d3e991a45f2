package tagging

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/keylock"
)

const (
	// Label is set on Nodes whose instance has the tags; its value identifies
	// them.
	Label = "k8s.io/cloud-provider-aws"

	maxRequeues  = 9
	firstBackoff = 5 * time.Millisecond
	maxBackoff   = 1000 * time.Second
	// undecidedBackoff is the backoff of an instance whose failure may be due
	// to another one.
	undecidedBackoff = time.Second
	// young is the age up to which an instance that EC2 does not find may still
	// become visible.
	young = 5 * time.Minute
)

// Config contains the settings and dependencies of a Controller.
type Config struct {
	Options Options
	EC2     client.Tags
	Client  kubernetes.Interface
	Nodes   coreinformers.NodeInformer
	// InstanceID returns the EC2 instance of a provider ID, or false if it has
	// none, such as a Fargate node.
	InstanceID func(providerID string) (string, bool)
	Metrics    *Metrics
	// Events records Events on Nodes; nil records none.
	Events record.EventRecorder
	// Clock is the source of time; by default it is the real one.
	Clock clock.PassiveClock
}

// action is what to do with an instance.
type action string

const (
	tag   action = "tag"
	untag action = "untag"
)

// item is an item of the work queue. Equal items are merged.
type item struct {
	node       string
	providerID string
	action     action
}

// Controller tags the instances of Nodes.
type Controller struct {
	config   Config
	writer   writer
	expected string
	limiter  *rate.Limiter
	queue    workqueue.TypedRateLimitingInterface[item]
	handler  cache.ResourceEventHandlerRegistration
	// busy has a lock for each instance that is being processed.
	busy             keylock.Set
	undecidedBackoff time.Duration
	refusals         *refusals

	// created has the creation times of the Nodes that wait for their first
	// tags, by item.
	created sync.Map
}

// New creates a controller and registers it for the Nodes. Run starts it.
func New(config Config) (*Controller, error) {
	if err := config.Options.validate(); err != nil {
		return nil, err
	}
	config.Clock = cmp.Or[clock.PassiveClock](config.Clock, clock.RealClock{})
	c := &Controller{
		config:   config,
		writer:   newWriter(config.EC2, config.Options, batches()),
		expected: fingerprint(config.Options.Tags),
		limiter:  limiter(&config.Options),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[item](firstBackoff, maxBackoff),
			workqueue.TypedRateLimitingQueueConfig[item]{Name: Name}),
		undecidedBackoff: undecidedBackoff,
	}
	c.refusals = newRefusals(c.queue.AddAfter)
	var err error
	c.handler, err = config.Nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.present(obj) },
		UpdateFunc: func(_, obj any) { c.present(obj) },
		DeleteFunc: func(obj any) { c.deleted(obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}

	return c, nil
}

// limiter returns the rate limiter of the queue, if there is a limit.
func limiter(o *Options) *rate.Limiter {
	if o.RateLimit > 0 && o.BurstLimit > 0 {
		return rate.NewLimiter(rate.Limit(o.RateLimit), o.BurstLimit)
	}

	return rate.NewLimiter(rate.Inf, 0)
}

// Run processes the queue until the context ends.
func (c *Controller) Run(ctx context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	defer c.queue.ShutDown()
	defer func() { _ = c.config.Nodes.Informer().RemoveEventHandler(c.handler) }()
	if !cache.WaitForNamedCacheSyncWithContext(ctx, c.handler.HasSynced) {
		return
	}
	for range c.config.Options.ConcurrentNodeSyncs {
		workers.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
}

// present is called for every existing Node, and for each of its changes.
func (c *Controller) present(obj any) {
	node, ok := obj.(*v1.Node)
	if !ok || node.Labels[Label] == c.expected || !c.hasInstance(node) {
		return
	}
	work := item{node.Name, node.Spec.ProviderID, tag}
	if _, tagged := node.Labels[Label]; !tagged {
		c.created.Store(work, node.CreationTimestamp.Time)
	}
	c.queue.Add(work)
}

// deleted is called for every deleted Node, late if the watch was interrupted.
func (c *Controller) deleted(obj any) {
	if late, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = late.Obj
	}
	node, ok := obj.(*v1.Node)
	if !ok || !c.hasInstance(node) {
		return
	}
	c.created.Delete(item{node.Name, node.Spec.ProviderID, tag})
	c.refusals.forget(item{node.Name, node.Spec.ProviderID, tag})
	c.queue.Add(item{node.Name, node.Spec.ProviderID, untag})
}

// hasInstance reports whether a Node has an EC2 instance. A Node without a
// provider ID is queued again when it has one.
func (c *Controller) hasInstance(node *v1.Node) bool {
	_, ok := c.config.InstanceID(node.Spec.ProviderID)
	if !ok {
		klog.V(4).InfoS("Node has no EC2 instance to tag", "node", klog.KObj(node), "providerID", node.Spec.ProviderID)
	}

	return ok
}
