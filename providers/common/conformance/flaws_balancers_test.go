package conformance

import (
	"context"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// balancersWith makes some calls by itself; a nil function leaves the call to
// the whole provider.
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

// balancing builds a provider with other calls; whole is the right one.
func balancing(change func(w *balancersWith, whole *simBalancers)) simBuild {
	return simBuild{balancers: func(whole *simBalancers) cloudprovider.LoadBalancer {
		w := &balancersWith{LoadBalancer: whole}
		change(w, whole)

		return w
	}}
}

// sloppily builds a provider that works in another way.
func sloppily(change func(s *simBalancers)) simBuild { return simBuild{sloppy: change} }

// wanting builds a provider that wants something else.
func wanting(change func(w *simWanted)) simBuild {
	return sloppily(func(s *simBalancers) { s.want = change })
}

// seeing builds a provider that ensures another Service in the place of the
// Service.
func seeing(change func(service *v1.Service)) simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			service = service.DeepCopy()
			change(service)

			return whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
		}
	})
}

// sparsely builds a provider that serves little.
func sparsely(build simBuild) simBuild {
	build.sparse = true

	return build
}

// balancerNames are the names of the cases that contain all the parts.
func balancerNames(cases []balancerCase, parts ...string) []string {
	var names []string
	for _, c := range cases {
		fits := true
		for _, part := range parts {
			fits = fits && strings.Contains(c.name, part)
		}
		if fits {
			names = append(names, c.name)
		}
	}

	return names
}

// balancerFlaws are all of them, by name.
func balancerFlaws() map[string]flaw {
	all := map[string]flaw{}
	for _, group := range []map[string]flaw{
		createFlaws(), objectChangeFlaws(), kindFlaws(), editFlaws(), balancerNodeFlaws(), deleteFlaws(),
		refusalFlaws(), balancerOwnerFlaws(), balancerLoadFlaws(), balancerOutageFlaws(), disturbedFlaws(),
	} {
		maps.Copy(all, group)
	}

	return all
}
