package loadbalancers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// model is what a Service requires.
type model struct {
	name, cluster, owner string
	internal, affinity   bool
	dual                 bool
	listeners            map[portKey]listener
	rules                []rule
}

// supports returns what is wrong with a Service.
func (s *balancers) supports(service *v1.Service) error {
	spec := service.Spec
	if len(spec.Ports) == 0 {
		return errors.New("the Service has no ports")
	}
	if service.Annotations[annotationRefused] != "" {
		return errors.New("the annotation is invalid")
	}
	for _, port := range spec.Ports {
		if port.Protocol != v1.ProtocolTCP && (s.sparse || port.Protocol != v1.ProtocolUDP && port.Protocol != v1.ProtocolSCTP) {
			return fmt.Errorf("protocol %s is not supported", port.Protocol)
		}
	}
	if spec.LoadBalancerIP != "" || s.sparse && spec.SessionAffinity != v1.ServiceAffinityNone {
		return errors.New("the Service requires too much")
	}

	return nil
}

// noFatal turns the end of a test into an error.
type noFatal struct{ err error }

func (n *noFatal) Helper() {}

func (n *noFatal) Fatalf(format string, args ...any) {
	n.err = fmt.Errorf(format, args...)
	panic(n)
}

// rangesOf reads the source ranges.
func rangesOf(service *v1.Service) (texts []string, err error) {
	var n noFatal
	defer func() {
		if recover() != nil {
			err = n.err
		}
	}()
	for _, prefix := range sourceRanges(&n, service) {
		texts = append(texts, prefix.Masked().String())
	}

	return texts, nil
}

// build returns what a Service wants, given the machines that can be targets.
func (s *balancers) build(cluster string, service *v1.Service, nodes []*v1.Node, seen observed) (*model, error) {
	ranges, err := rangesOf(service)
	if err == nil {
		err = s.supports(service)
	}
	subset, invalid := targets.New(service, nodes, nil, time.Now(), time.Now())
	err = errors.Join(err, invalid)
	if err != nil {
		return nil, fmt.Errorf("read service: %w", err)
	}
	w := &model{
		name: cloudprovider.DefaultLoadBalancerName(service), cluster: cluster, owner: s.owner(cluster, service),
		internal: service.Annotations[annotationInternal] != "", affinity: service.Spec.SessionAffinity == v1.ServiceAffinityClientIP,
		dual:      len(service.Spec.IPFamilies) > 1,
		listeners: map[portKey]listener{},
	}
	ids := map[string]string{}
	for _, node := range nodes {
		if slices.Contains(seen.running, node.Spec.ProviderID) {
			ids[node.Name] = node.Spec.ProviderID
		}
	}
	var chosen []string
	names, _ := targets.Choose(subset, slices.Collect(maps.Keys(ids)), func(name string) string { return name },
		func(name string) bool { return !s.forgets && seen.isTarget(ids[name]) }, targets.Limit{})
	for _, name := range names {
		chosen = append(chosen, ids[name])
	}
	if s.all {
		chosen = slices.Collect(maps.Values(ids))
	}
	slices.Sort(chosen)
	for _, port := range service.Spec.Ports {
		l := listener{nodePort: port.NodePort, targets: chosen}
		if service.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
			l.health = service.Spec.HealthCheckNodePort
		}
		w.listeners[portKey{port.Protocol, port.Port}] = l
		for _, from := range ranges {
			w.rules = append(w.rules, rule{w.owner, port.Protocol, port.NodePort, from})
		}
	}
	if s.want != nil {
		s.want(w)
	}

	return w, nil
}
