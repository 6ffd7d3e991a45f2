package loadbalancers

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// balancersWith replaces some methods; a nil function leaves the method to the
// correct provider.
type balancersWith struct {
	cloudprovider.LoadBalancer
	name   func(service *v1.Service) string
	get    func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error)
	ensure func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error)
	update func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error
	remove func(ctx context.Context, cluster string, service *v1.Service) error
}

func (w *balancersWith) GetLoadBalancerName(ctx context.Context, cluster string, service *v1.Service) string {
	if w.name != nil {
		return w.name(service)
	}

	return w.LoadBalancer.GetLoadBalancerName(ctx, cluster, service)
}

func (w *balancersWith) GetLoadBalancer(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	if w.get != nil {
		return w.get(ctx, cluster, service)
	}

	return w.LoadBalancer.GetLoadBalancer(ctx, cluster, service)
}

func (w *balancersWith) EnsureLoadBalancer(
	ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	if w.ensure != nil {
		return w.ensure(ctx, cluster, service, nodes)
	}

	return w.LoadBalancer.EnsureLoadBalancer(ctx, cluster, service, nodes)
}

func (w *balancersWith) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
	if w.update != nil {
		return w.update(ctx, cluster, service, nodes)
	}

	return w.LoadBalancer.UpdateLoadBalancer(ctx, cluster, service, nodes)
}

func (w *balancersWith) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	if w.remove != nil {
		return w.remove(ctx, cluster, service)
	}

	return w.LoadBalancer.EnsureLoadBalancerDeleted(ctx, cluster, service)
}

// replacing builds a provider with other methods than those of the correct one.
func replacing(change func(w *balancersWith, correct *balancers)) build {
	return build{balancers: func(correct *balancers) cloudprovider.LoadBalancer {
		w := &balancersWith{LoadBalancer: correct}
		change(w, correct)

		return w
	}}
}

// faulty builds a provider with other settings.
func faulty(change func(s *balancers)) build { return build{faulty: change} }

// wanting builds a provider that wants something else.
func wanting(change func(w *model)) build {
	return faulty(func(s *balancers) { s.want = change })
}

// sparsely builds a provider that supports little.
func sparsely(build build) build {
	build.sparse = true

	return build
}

// mutant is a provider that is wrong in one way.
type mutant struct {
	build build
	// message is part of the failure of a case that catches it.
	message string
	// caughtBy are the cases that must catch it.
	caughtBy []string
}

// allMutants returns all of them by name.
func allMutants() map[string]mutant {
	all := map[string]mutant{}
	for _, group := range []map[string]mutant{
		createMutants(), objectMutants(), kindMutants(), editMutants(), nodeMutants(), deleteMutants(),
		refusalMutants(), ownerMutants(), loadMutants(), failureMutants(), pageMutants(), faultMutants(),
	} {
		maps.Copy(all, group)
	}

	return all
}
