package loadbalancers

import (
	"context"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// eachListener changes every listener that is wanted.
func eachListener(change func(l *listener)) build {
	return wanting(func(w *model) {
		for port, l := range w.listeners {
			change(&l)
			w.listeners[port] = l
		}
	})
}

// without drops the listeners of some ports.
func without(drop func(port portKey) bool) build {
	return wanting(func(w *model) {
		for port := range w.listeners {
			if drop(port) {
				delete(w.listeners, port)
			}
		}
	})
}

// withStatus builds a provider whose EnsureLoadBalancer returns another status.
func withStatus(status *v1.LoadBalancerStatus) build {
	return replacing(func(w *balancersWith, correct *balancers) {
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			_, err := correct.EnsureLoadBalancer(ctx, cluster, service, nodes)

			return status, err
		}
	})
}

// getting builds a provider whose GetLoadBalancer returns another result.
func getting(result func(status *v1.LoadBalancerStatus, exists bool) (*v1.LoadBalancerStatus, bool)) build {
	return replacing(func(w *balancersWith, correct *balancers) {
		w.get = func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
			status, exists, err := correct.GetLoadBalancer(ctx, cluster, service)
			if err == nil {
				status, exists = result(status, exists)
			}

			return status, exists, err
		}
	})
}

func createMutants() map[string]mutant {
	const (
		exactly = "a created load balancer has exactly the ports and targets of its Service"
		tells   = "the status has the address"
		knows   = "GetLoadBalancer finds what exists"
		name    = "the name of a load balancer never changes and costs nothing"
		again   = "a load balancer deleted by a user is created again"
	)
	nowhere := &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: "other.example"}}}

	return map[string]mutant{
		"opens nothing":   {wanting(func(w *model) { w.rules = nil }), "reaches []", []string{exactly}},
		"no status":       {withStatus(nil), "neither a status nor an error", []string{exactly}},
		"another address": {withStatus(nowhere), "other.example", []string{tells, exactly}},
		"Get finds nothing": {
			getting(func(*v1.LoadBalancerStatus, bool) (*v1.LoadBalancerStatus, bool) { return nil, false }),
			"",
			[]string{knows, tells, "deleting one of two Services leaves the other reachable"},
		},
		"Get finds everything": {
			getting(func(status *v1.LoadBalancerStatus, _ bool) (*v1.LoadBalancerStatus, bool) { return status, true }),
			"finds a Service that never was",
			[]string{knows},
		},
		"Get writes": {replacing(func(w *balancersWith, correct *balancers) {
			w.get = func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
				_ = correct.cloud.changeRules(ctx, nil, nil)

				return correct.GetLoadBalancer(ctx, cluster, service)
			}
		}), "GetLoadBalancer makes", []string{knows}},
		"one name for all":  {naming(func(*v1.Service) string { return "lb" }), "the names are", []string{name}},
		"name of the ports": {naming(func(s *v1.Service) string { return strings.Repeat("p", len(s.Spec.Ports)) + string(s.UID) }), "name", []string{name}},
		"writes every time": {faulty(func(s *balancers) { s.rewrites = true }), "writes", []string{"an unchanged resync writes nothing"}},
		"keeps the first nodes": {keepsNodes(), "not as wanted", []string{
			"a Service without nodes gets them later", "EnsureLoadBalancer follows the nodes",
		}},
		"Update makes it": {
			faulty(func(s *balancers) { s.upserts = true }), "UpdateLoadBalancer",
			[]string{again, "UpdateLoadBalancer of what is not there is an error and creates nothing"},
		},
	}
}

// naming builds a provider with other names.
func naming(name func(service *v1.Service) string) build {
	return replacing(func(w *balancersWith, _ *balancers) { w.name = name })
}

// keepsNodes builds a provider whose EnsureLoadBalancer goes on with the nodes
// of its first call.
func keepsNodes() build {
	return replacing(func(w *balancersWith, correct *balancers) {
		var mu sync.Mutex
		first := map[string][]*v1.Node{}
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			mu.Lock()
			kept, ok := first[service.Name]
			if !ok {
				kept = slices.Clone(nodes)
				first[service.Name] = kept
			}
			mu.Unlock()

			return correct.EnsureLoadBalancer(ctx, cluster, service, kept)
		}
	})
}

// objectMutants are about what belongs to the caller.
func objectMutants() map[string]mutant {
	changing := func(change func(service *v1.Service, nodes []*v1.Node)) build {
		return replacing(func(w *balancersWith, correct *balancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				status, err := correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
				change(service, nodes)

				return status, err
			}
		})
	}
	exactly := []string{"a created load balancer has exactly the ports and targets of its Service"}

	return map[string]mutant{
		"writes into the Service": {
			changing(func(s *v1.Service, _ []*v1.Node) { s.Annotations["mine"] = "too" }), "changed the Service", exactly,
		},
		"writes into the Nodes": {
			changing(func(_ *v1.Service, nodes []*v1.Node) { nodes[0].Labels["mine"] = "too" }), "changed the Nodes", exactly,
		},
	}
}

func kindMutants() map[string]mutant {
	const respects, annotated = "source ranges are respected", "source ranges in the annotation are respected"
	everyone := wanting(func(w *model) {
		for i := range w.rules {
			w.rules[i].from = "0.0.0.0/0"
		}
		w.rules = slices.Compact(w.rules)
	})

	return map[string]mutant{
		"never internal": {
			wanting(func(w *model) { w.internal = false }), "not as wanted", []string{"an internal Service gets an internal load balancer"},
		},
		"TCP alone": {
			without(func(p portKey) bool { return p.protocol != v1.ProtocolTCP }), "not as wanted",
			[]string{"ports of several protocols are balanced", "UDP is balanced", "SCTP is balanced"},
		},
		"no affinity": {wanting(func(w *model) { w.affinity = false }), "not as wanted", []string{"clients are kept at their node"}},
		"one family":  {wanting(func(w *model) { w.dual = false }), "addresses", []string{"a Service of two IP families has an address of each"}},
		"keeps a family": {
			faulty(func(s *balancers) { s.keepsFamily = true }), "addresses", []string{"an IP family more or less leaves the other address"},
		},
		"never checks local health": {
			eachListener(func(l *listener) { l.health = 0 }), "not as wanted",
			[]string{"the healthCheckNodePort is checked when traffic is local"},
		},
		"allows everyone": {everyone, "reaches", []string{respects, annotated, "source ranges of one Service open nothing for another"}},
		"one owner for all rules": {
			faulty(func(s *balancers) { s.shared = true }), "reaches",
			[]string{"source ranges of one Service open nothing for another", "deleting one of two Services leaves the other reachable"},
		},
	}
}
