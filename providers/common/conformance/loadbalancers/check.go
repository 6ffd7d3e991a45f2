package loadbalancers

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// clients are addresses from which traffic may come.
var clients = []netip.Addr{
	netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("192.0.2.7"),
}

// find returns the Service's load balancer. Two end the case.
func (f *fixture) find(service *v1.Service) (LoadBalancer, bool) {
	f.T.Helper()
	name := f.name(service)
	var found []LoadBalancer
	for _, lb := range f.Cloud.LoadBalancers() {
		if lb.Name == name {
			found = append(found, lb)
		}
	}
	switch len(found) {
	case 0:
		return LoadBalancer{}, false
	case 1:
		return sorted(found[0]), true
	}
	f.T.Fatalf("there are %d load balancers of the name %s", len(found), name)

	return LoadBalancer{}, false
}

// sorted sorts the parts of a load balancer.
func sorted(lb LoadBalancer) LoadBalancer {
	lb.Listeners = slices.Clone(lb.Listeners)
	slices.SortFunc(lb.Listeners, func(x, y Listener) int {
		return cmp.Or(cmp.Compare(x.Protocol, y.Protocol), cmp.Compare(x.Port, y.Port))
	})
	for i := range lb.Listeners {
		lb.Listeners[i].Targets = slices.Clone(lb.Listeners[i].Targets)
		slices.SortFunc(lb.Listeners[i].Targets, func(x, y Target) int {
			return cmp.Or(strings.Compare(x.ProviderID, y.ProviderID), cmp.Compare(x.Port, y.Port))
		})
	}

	return lb
}

// wanted is what the Service's load balancer must be.
func (f *fixture) wanted(service *v1.Service, machines []machine) LoadBalancer {
	f.T.Helper()
	lb := LoadBalancer{
		Name:     f.name(service),
		Internal: f.isInternal(service),
		Affinity: service.Spec.SessionAffinity == v1.ServiceAffinityClientIP,
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		lb.Addresses = append(lb.Addresses, cmp.Or(ingress.Hostname, ingress.IP))
	}
	for _, port := range service.Spec.Ports {
		listener := Listener{Protocol: port.Protocol, Port: port.Port}
		if !f.adapter.Without.LocalTraffic && service.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
			listener.HealthPort = service.Spec.HealthCheckNodePort
		}
		for _, m := range machines {
			listener.Targets = append(listener.Targets, Target{m.ProviderID, port.NodePort})
		}
		lb.Listeners = append(lb.Listeners, listener)
	}

	return sorted(lb)
}

// isInternal reports whether the Service requires an internal load balancer.
func (f *fixture) isInternal(service *v1.Service) bool {
	for key, value := range f.adapter.Internal {
		if service.Annotations[key] != value {
			return false
		}
	}

	return len(f.adapter.Internal) > 0
}

// check fails the case if the load balancer is not exactly as the Service and its
// nodes want it, or other clients reach the nodes.
func (f *fixture) check(service *v1.Service, machines []machine) {
	f.T.Helper()
	got, ok := f.find(service)
	if !ok {
		f.T.Errorf("there is no load balancer %s for %s in %v", f.name(service), service.Name, f.Cloud.LoadBalancers())

		return
	}
	want := f.wanted(service, machines)
	if diff := gocmp.Diff(want, got); diff != "" {
		f.T.Errorf("the load balancer of %s is not as wanted (-want +got):\n%s", service.Name, diff)
	}
	if len(want.Addresses) == 0 || slices.Contains(want.Addresses, "") {
		f.T.Errorf("the status of %s has no address: %v", service.Name, service.Status.LoadBalancer)
	}
	f.checkReach(service, machines)
}

// checkReach checks which clients reach the nodes.
func (f *fixture) checkReach(service *v1.Service, machines []machine) {
	f.T.Helper()
	var all []string
	for _, m := range machines {
		all = append(all, m.ProviderID)
	}
	slices.Sort(all)
	ranges := sourceRanges(f.T, service)
	for _, port := range service.Spec.Ports {
		for _, client := range clients {
			got := slices.Sorted(slices.Values(f.Cloud.Reach(f.T, f.name(service), port.Protocol, port.Port, client)))
			want := all
			if !allowed(ranges, client) {
				want = nil
			}
			if !slices.Equal(want, got) {
				f.T.Errorf("from %s to %s, %s %d: reaches %v, want %v", client, service.Name, port.Protocol, port.Port, got, want)
			}
		}
	}
}

// allowed reports whether a client is in one of the ranges.
func allowed(ranges []netip.Prefix, client netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(client) })
}

// fatal is the part of a test that ends it.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// sourceRanges are the ranges whose clients may use the Service.
func sourceRanges(t fatal, service *v1.Service) []netip.Prefix {
	t.Helper()
	texts := service.Spec.LoadBalancerSourceRanges
	if annotated := service.Annotations[v1.AnnotationLoadBalancerSourceRangesKey]; len(texts) == 0 && annotated != "" {
		texts = strings.Split(annotated, ",")
	}
	if len(texts) == 0 {
		texts = []string{"0.0.0.0/0"}
	}
	ranges := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			t.Fatalf("source range: %v", err)
		}
		ranges[i] = prefix
	}

	return ranges
}

// checkAbsent fails the case if there is still a load balancer, or GetLoadBalancer
// finds one.
func (f *fixture) checkAbsent(service *v1.Service) {
	f.T.Helper()
	if lb, ok := f.find(service); ok {
		f.T.Errorf("the load balancer of %s is there: %v", service.Name, lb)
	}
	if status, exists, err := f.get(service); exists || err != nil {
		f.T.Errorf("GetLoadBalancer of %s after it was deleted: %v, %t, %v", service.Name, status, exists, err)
	}
}

// resync ensures what exists already, which must not cost a write, whatever the
// order of the nodes.
func (f *fixture) resync(service *v1.Service, machines ...machine) {
	f.T.Helper()
	backwards := reverse(machines)
	f.CheckWritesNothing("a resync of "+service.Name, func() { f.mustEnsure(service.DeepCopy(), backwards...) })
}

// reverse returns the elements in reverse order.
func reverse[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)

	return list
}
