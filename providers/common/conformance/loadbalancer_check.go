package conformance

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

// find gives the Service's load balancer. Two are one too many.
func (b *balancerFixture) find(service *v1.Service) (LoadBalancer, bool) {
	b.t.Helper()
	name := b.name(service)
	var found []LoadBalancer
	for _, lb := range b.cloud.LoadBalancers() {
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
	b.t.Fatalf("there are %d load balancers of the name %s", len(found), name)

	return LoadBalancer{}, false
}

// sorted brings the parts of a load balancer into order.
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
func (b *balancerFixture) wanted(service *v1.Service, machines []machine) LoadBalancer {
	b.t.Helper()
	lb := LoadBalancer{
		Name:     b.name(service),
		Internal: b.isInternal(service),
		Affinity: service.Spec.SessionAffinity == v1.ServiceAffinityClientIP,
	}
	if len(service.Status.LoadBalancer.Ingress) > 0 {
		first := service.Status.LoadBalancer.Ingress[0]
		lb.Address = cmp.Or(first.Hostname, first.IP)
	}
	for _, port := range service.Spec.Ports {
		listener := Listener{Protocol: port.Protocol, Port: port.Port}
		if !b.suite.Without.LocalTraffic && service.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
			listener.HealthPort = service.Spec.HealthCheckNodePort
		}
		for _, m := range machines {
			listener.Targets = append(listener.Targets, Target{m.ProviderID, port.NodePort})
		}
		lb.Listeners = append(lb.Listeners, listener)
	}

	return sorted(lb)
}

// isInternal says that the Service asks for an internal load balancer.
func (b *balancerFixture) isInternal(service *v1.Service) bool {
	for key, value := range b.suite.Internal {
		if service.Annotations[key] != value {
			return false
		}
	}

	return len(b.suite.Internal) > 0
}

// check fails the case if the Service's load balancer is not exactly what the
// Service and its nodes want, or does not let in those that it should.
func (b *balancerFixture) check(service *v1.Service, machines []machine) {
	b.t.Helper()
	got, ok := b.find(service)
	if !ok {
		b.t.Errorf("there is no load balancer %s for %s in %v", b.name(service), service.Name, b.cloud.LoadBalancers())

		return
	}
	want := b.wanted(service, machines)
	if diff := gocmp.Diff(want, got); diff != "" {
		b.t.Errorf("the load balancer of %s is not as wanted (-want +got):\n%s", service.Name, diff)
	}
	if want.Address == "" {
		b.t.Errorf("the status of %s tells no address: %v", service.Name, service.Status.LoadBalancer)
	}
	b.checkReach(service, machines)
}

// checkReach looks which clients get to the nodes.
func (b *balancerFixture) checkReach(service *v1.Service, machines []machine) {
	b.t.Helper()
	var all []string
	for _, m := range machines {
		all = append(all, m.ProviderID)
	}
	slices.Sort(all)
	ranges := sourceRanges(b.t, service)
	for _, port := range service.Spec.Ports {
		for _, client := range clients {
			got := slices.Sorted(slices.Values(b.cloud.Reach(b.t, b.name(service), port.Protocol, port.Port, client)))
			want := all
			if !admitted(ranges, client) {
				want = nil
			}
			if !slices.Equal(want, got) {
				b.t.Errorf("from %s to %s, %s %d: reaches %v, want %v", client, service.Name, port.Protocol, port.Port, got, want)
			}
		}
	}
}

// admitted says that a client is in one of the ranges.
func admitted(ranges []netip.Prefix, client netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(client) })
}

// fatal is the part of a test that ends it.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// sourceRanges are the ranges that may use the Service.
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

// checkAbsent fails the case if there is still a load balancer, or if it is said
// that there is one.
func (b *balancerFixture) checkAbsent(service *v1.Service) {
	b.t.Helper()
	if lb, ok := b.find(service); ok {
		b.t.Errorf("the load balancer of %s is there: %v", service.Name, lb)
	}
	if status, exists, err := b.get(service); exists || err != nil {
		b.t.Errorf("GetLoadBalancer of %s after it was deleted: %v, %t, %v", service.Name, status, exists, err)
	}
}

// nothingLeft fails the case if anything is left of anybody.
func (b *balancerFixture) nothingLeft() {
	b.t.Helper()
	if left := b.cloud.Leftovers(); len(left) != 0 {
		b.t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

// unchanged fails the case if the lines are not what they were.
func (b *balancerFixture) unchanged(what string, before, after []string) {
	b.t.Helper()
	if !slices.Equal(before, after) {
		b.t.Errorf("%s changed (-before +after):\n%s", what, gocmp.Diff(before, after))
	}
}

// resync ensures what is there already, which must not cost a write, whatever
// the order of the nodes.
func (b *balancerFixture) resync(service *v1.Service, machines ...machine) {
	b.t.Helper()
	backwards := reverse(machines)
	b.writesNothing("a resync of "+service.Name, func() { b.mustEnsure(service.DeepCopy(), backwards...) })
}

// reverse gives the elements backwards.
func reverse[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)

	return list
}
