package loadbalancers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

const (
	// sweepDelay is the time between the start and the first look for objects of Services that
	// no longer exist, sweepPeriod that between two looks.
	sweepDelay  = time.Second
	sweepPeriod = 30 * time.Minute
	// sweepAge is how old objects must be.
	sweepAge = 10 * time.Minute
	// sweepLimit is for how many Services objects are deleted after a look.
	sweepLimit = 50
	// defaultClusterName is that of all clusters without the flag --cluster-name.
	defaultClusterName = "kubernetes"
)

// sweeper deletes what is left of Services that no longer exist: those that were deleted while no
// controller ran.
type sweeper struct {
	*LoadBalancers

	cluster  string
	services corelisters.ServiceLister
	synced   cache.InformerSynced
	// missing are the Services that did not exist in the last look, and the LBServices without
	// virtual servers.
	missing sets.Set[string]
}

// SetInformers has the Services looked up that exist.
func (l *LoadBalancers) SetInformers(factory informers.SharedInformerFactory) {
	informer := factory.Core().V1().Services()
	l.sweeper.Store(&sweeper{LoadBalancers: l, services: informer.Lister(), synced: informer.Informer().HasSynced})
}

// RunSweep deletes objects of Services that no longer exist, until ctx ends. Clusters with the
// default name cannot be told apart: for them, it has to be allowed.
func (l *LoadBalancers) RunSweep(ctx context.Context, cluster string, allowDefaultName bool) {
	switch {
	case cluster == "" || cluster == defaultClusterName && !allowDefaultName:
		klog.FromContext(ctx).Info("Objects in NSX-T of Services that no longer exist are not deleted: set --cluster-name to a name that no other cluster at this manager has",
			"clusterName", cluster)

		return
	case wait.PollUntilContextCancel(ctx, sweepDelay, false, func(context.Context) (bool, error) {
		s := l.sweeper.Load()

		return s != nil && s.synced(), nil
	}) != nil:
		return
	}
	s := l.sweeper.Load()
	s.cluster = cluster
	wait.UntilWithContext(ctx, s.look, sweepPeriod)
}

// look deletes the objects of the Services that did not exist in the last look either.
func (s *sweeper) look(ctx context.Context) {
	logger := klog.FromContext(ctx)
	names, unused, err := s.snapshot.all(ctx, s.config.Settings.Owner(s.cluster))
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		logger.Error(err, "Looking for objects of Services that no longer exist failed, trying again later")

		return
	}
	before := s.missing
	s.missing = sets.New(unused...)
	s.missing.Insert(slices.DeleteFunc(names, s.exists)...)
	swept := 0
	for _, name := range sets.List(s.missing.Intersection(before)) {
		if swept == sweepLimit {
			s.warnAboutLimit(ctx, name, s.missing.Len()-swept)

			return
		}
		switch err := s.sweep(ctx, name); {
		case err == nil:
			swept++
		case ctx.Err() == nil:
			logger.Error(err, "Deleting objects of a Service that no longer exists failed, trying again later", "service", name)
		}
	}
}

// exists reports whether a Service has a load balancer, of any class, or one that is being
// deleted.
func (s *sweeper) exists(name string) bool {
	namespace, name, ok := strings.Cut(name, "/")
	if !ok {
		return true // the tag is of others
	}
	svc, err := s.services.Services(namespace).Get(name)

	return err == nil && (svc.Spec.Type == v1.ServiceTypeLoadBalancer || helpers.HasLBFinalizer(svc))
}

// sweep deletes the objects of a Service, or an LBService without virtual servers. Each is read
// before.
func (s *sweeper) sweep(ctx context.Context, name string) error {
	svc := &v1.Service{}
	svc.Namespace, svc.Name, _ = strings.Cut(name, "/") // a path has no namespace

	return s.LoadBalancers.services.Read(ctx, svc, func(ctx context.Context, _ *state) error {
		o, err := s.observe(ctx, s.cluster, svc)
		if err != nil || svc.Namespace != "" && s.exists(name) || o.isYoung(time.Now()) {
			return err
		}
		op := service.Operation{Service: svc, LoadBalancer: o.names.DisplayName()}
		_, _, err = s.settle(ctx, input{settings: &s.config.Settings, operation: op}, o)

		return err
	})
}

// isYoung reports whether an object was created a short time ago.
func (o *observed) isYoung(now time.Time) bool {
	for _, object := range o.objects {
		if now.Sub(object.Created()) < sweepAge {
			return true
		}
	}

	return o.lbServices[o.lbService] != nil && now.Sub(o.lbServices[o.lbService].Created()) < sweepAge
}

// warnAboutLimit records an Event about the Services whose objects are deleted later.
func (s *sweeper) warnAboutLimit(ctx context.Context, name string, left int) {
	svc := &v1.Service{}
	svc.Namespace, svc.Name, _ = strings.Cut(name, "/")
	text := fmt.Sprintf("Objects of %d Services that no longer exist are in NSX-T. Those of %d are deleted later, %d every %s", left+sweepLimit, left, sweepLimit, sweepPeriod)
	klog.FromContext(ctx).Info("Objects of more Services that no longer exist are in NSX-T than are deleted at once", "left", left)
	s.LoadBalancers.services.Report(svc, []service.Warning{service.Warn(SweepLimited, "%s", text)})
}
