package conformance

import (
	"context"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// eachListener changes every listener that is wanted.
func eachListener(change func(l *simListener)) simBuild {
	return wanting(func(w *simWanted) {
		for port, l := range w.listeners {
			change(&l)
			w.listeners[port] = l
		}
	})
}

// without drops the listeners of some ports.
func without(drop func(port simPort) bool) simBuild {
	return wanting(func(w *simWanted) {
		for port := range w.listeners {
			if drop(port) {
				delete(w.listeners, port)
			}
		}
	})
}

// telling builds a provider whose EnsureLoadBalancer gives another status.
func telling(status *v1.LoadBalancerStatus) simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			_, err := whole.EnsureLoadBalancer(ctx, cluster, service, nodes)

			return status, err
		}
	})
}

// getting builds a provider whose GetLoadBalancer gives another answer.
func getting(answer func(status *v1.LoadBalancerStatus, exists bool) (*v1.LoadBalancerStatus, bool)) simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
		w.get = func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
			status, exists, err := whole.GetLoadBalancer(ctx, cluster, service)
			if err == nil {
				status, exists = answer(status, exists)
			}

			return status, exists, err
		}
	})
}

func createFlaws() map[string]flaw {
	const (
		exactly = "a created load balancer has exactly the ports and targets of its Service"
		tells   = "the status tells the address"
		knows   = "GetLoadBalancer knows what is there"
		name    = "the name of a load balancer never changes and costs nothing"
		again   = "a load balancer removed by a user is made again"
	)
	nowhere := &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: "elsewhere.example"}}}

	return map[string]flaw{
		"misses a port": {without(func(p simPort) bool { return p.port == 443 }), "not as wanted", []string{exactly}},
		"one port more": {
			wanting(func(w *simWanted) { w.listeners[simPort{v1.ProtocolTCP, 22}] = simListener{nodePort: 30022} }), "not as wanted", []string{exactly},
		},
		"targets of another port": {eachListener(func(l *simListener) { l.nodePort++ }), "not as wanted", []string{exactly}},
		"misses a target":         {eachListener(func(l *simListener) { l.targets = l.targets[1:] }), "not as wanted", []string{exactly}},
		"opens nothing":           {wanting(func(w *simWanted) { w.rules = nil }), "reaches []", []string{exactly}},
		"asks for health with HTTP": {
			eachListener(func(l *simListener) { l.health = 10256 }), "not as wanted", []string{exactly},
		},
		"no status":       {telling(nil), "neither a status nor an error", []string{exactly}},
		"empty status":    {telling(&v1.LoadBalancerStatus{}), "tells no address", []string{tells, exactly}},
		"another address": {telling(nowhere), "elsewhere.example", []string{tells, exactly}},
		"Get tells another address": {
			getting(func(_ *v1.LoadBalancerStatus, exists bool) (*v1.LoadBalancerStatus, bool) { return nowhere, exists }),
			"tells another status",
			[]string{tells},
		},
		"Get knows nothing": {
			getting(func(*v1.LoadBalancerStatus, bool) (*v1.LoadBalancerStatus, bool) { return nil, false }),
			"",
			[]string{knows, tells, "deleting one of two Services leaves the other reachable"},
		},
		"Get knows everything": {
			getting(func(status *v1.LoadBalancerStatus, _ bool) (*v1.LoadBalancerStatus, bool) { return status, true }),
			"knows a Service that never was",
			[]string{knows},
		},
		"Get writes": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.get = func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
				_ = whole.cloud.changeRules(ctx, nil, nil)

				return whole.GetLoadBalancer(ctx, cluster, service)
			}
		}), "GetLoadBalancer makes", []string{knows}},
		"one name for all":   {naming(func(*v1.Service) string { return "lb" }), "the names are", []string{name}},
		"name of the ports":  {naming(func(s *v1.Service) string { return strings.Repeat("p", len(s.Spec.Ports)) + string(s.UID) }), "name", []string{name}},
		"writes every time":  {sloppily(func(s *simBalancers) { s.rewrites = true }), "writes", []string{"an unchanged resync writes nothing"}},
		"order of the nodes": {keepsOrder(), "writes", []string{"an unchanged resync writes nothing"}},
		"keeps the first nodes": {keepsNodes(), "not as wanted", []string{
			"a Service without nodes gets them later", "EnsureLoadBalancer follows the nodes",
		}},
		"Update makes it": {
			sloppily(func(s *simBalancers) { s.adopts = true }), "UpdateLoadBalancer",
			[]string{again, "UpdateLoadBalancer of what is not there is an error and makes nothing"},
		},
		"never looks again": {sloppily(func(s *simBalancers) { s.forgetful = true }), "not there", []string{again}},
	}
}

// naming builds a provider with other names.
func naming(name func(service *v1.Service) string) simBuild {
	return balancing(func(w *balancersWith, _ *simBalancers) { w.name = name })
}

// keepsOrder builds a provider that writes when the nodes come in another order.
func keepsOrder() simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
		var last []*v1.Node
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			if len(nodes) > 0 && len(last) > 0 && nodes[0].Name != last[0].Name {
				_ = whole.cloud.changeRules(ctx, nil, nil)
			}
			last = nodes

			return whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
		}
	})
}

// keepsNodes builds a provider whose EnsureLoadBalancer goes on with the nodes
// of its first call.
func keepsNodes() simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
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

			return whole.EnsureLoadBalancer(ctx, cluster, service, kept)
		}
	})
}

// objectChangeFlaws are about what belongs to the caller.
func objectChangeFlaws() map[string]flaw {
	spoiling := func(spoil func(service *v1.Service, nodes []*v1.Node)) simBuild {
		return balancing(func(w *balancersWith, whole *simBalancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				status, err := whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
				spoil(service, nodes)

				return status, err
			}
		})
	}
	exactly := []string{"a created load balancer has exactly the ports and targets of its Service"}

	return map[string]flaw{
		"writes into the Service": {
			spoiling(func(s *v1.Service, _ []*v1.Node) { s.Annotations["mine"] = "too" }), "changed the Service", exactly,
		},
		"writes into the Nodes": {
			spoiling(func(_ *v1.Service, nodes []*v1.Node) { nodes[0].Labels["mine"] = "too" }), "changed the Nodes", exactly,
		},
		"sorts the Nodes": {spoiling(func(_ *v1.Service, nodes []*v1.Node) { slices.Reverse(nodes) }), "changed the Nodes", exactly},
		"Update writes into the Nodes": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.update = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
				for _, node := range nodes {
					node.Labels["mine"] = "too"
				}

				return whole.UpdateLoadBalancer(ctx, cluster, service, nodes)
			}
		}), "changed the Nodes", []string{"UpdateLoadBalancer follows the nodes"}},
	}
}

func kindFlaws() map[string]flaw {
	const respects, annotated = "source ranges are respected", "source ranges in the annotation are respected"
	everyone := wanting(func(w *simWanted) {
		for i := range w.rules {
			w.rules[i].from = "0.0.0.0/0"
		}
		w.rules = slices.Compact(w.rules)
	})

	return map[string]flaw{
		"never internal": {
			wanting(func(w *simWanted) { w.internal = false }), "not as wanted", []string{"an internal Service gets an internal load balancer"},
		},
		"TCP alone": {
			without(func(p simPort) bool { return p.protocol != v1.ProtocolTCP }), "not as wanted",
			[]string{"ports of several protocols are balanced", "UDP is balanced", "SCTP is balanced"},
		},
		"no affinity": {wanting(func(w *simWanted) { w.affinity = false }), "not as wanted", []string{"clients are kept at their node"}},
		"never asks for local health": {
			eachListener(func(l *simListener) { l.health = 0 }), "not as wanted",
			[]string{"the healthCheckNodePort is asked when traffic is local"},
		},
		"lets in everyone": {everyone, "reaches", []string{respects, annotated, "source ranges of one Service open nothing for another"}},
		"keeps old ranges": {sloppily(func(s *simBalancers) { s.keepsRules = true }), "reaches", []string{respects, annotated}},
		"does not read the annotation": {
			seeing(func(s *v1.Service) { delete(s.Annotations, v1.AnnotationLoadBalancerSourceRangesKey) }), "reaches", []string{annotated},
		},
		"one owner for all rules": {
			sloppily(func(s *simBalancers) { s.shared = true }), "reaches",
			[]string{"source ranges of one Service open nothing for another", "deleting one of two Services leaves the other reachable"},
		},
	}
}
