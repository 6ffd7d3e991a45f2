package loadbalancers

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// cloud is the in-memory cloud with load balancers. Firewall rules are those of all
// machines.
type cloud struct {
	*sim.Cloud
	build     build
	balancers []*balancer
	rules     []rule
	notes     map[string]string
	stored    map[string]*v1.Service // by cluster and name
}

var _ Cloud = (*cloud)(nil)

func (c *cloud) Connect(t testing.TB) cloudprovider.Interface { return c.ConnectAs(t, ourCluster) }

func (c *cloud) ConnectAs(testing.TB, string) cloudprovider.Interface { return c.build.connect(c) }

func (c *cloud) Resources() []string {
	c.Lock()
	defer c.Unlock()

	return c.describe(false)
}

// describe lists the decoys, or all other resources. The cloud is locked.
func (c *cloud) describe(decoys bool) []string {
	return c.Describe(decoys, func(add func(owner string, resource fmt.Stringer)) {
		for _, lb := range c.balancers {
			add(lb.name, lb)
		}
		for _, r := range c.rules {
			add(r.owner, r)
		}
	})
}

// balancer is a load balancer of the cloud.
type balancer struct {
	name, cluster, address string
	internal, affinity     bool
	dual                   bool
	listeners              map[portKey]listener
}

// portKey identifies a listener.
type portKey struct {
	protocol v1.Protocol
	port     int32
}

// listener sends traffic to machines.
type listener struct {
	nodePort, health int32
	targets          []string
}

// rule allows traffic from a range to a node port of all machines.
type rule struct {
	owner    string
	protocol v1.Protocol
	nodePort int32
	from     string
}

func (lb *balancer) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "load balancer %s of %s, internal %t, affinity %t, dual %t:", lb.name, lb.cluster, lb.internal, lb.affinity, lb.dual)
	for _, key := range sortedPorts(lb.listeners) {
		fmt.Fprintf(&text, " %s %d %+v", key.protocol, key.port, lb.listeners[key])
	}

	return text.String()
}

func (r rule) String() string {
	return fmt.Sprintf("rule of %s: %s %d from %s", r.owner, r.protocol, r.nodePort, r.from)
}

// sortedPorts are the ports of listeners in order.
func sortedPorts(listeners map[portKey]listener) []portKey {
	return slices.SortedFunc(maps.Keys(listeners), func(x, y portKey) int {
		return strings.Compare(fmt.Sprintf("%s %05d", x.protocol, x.port), fmt.Sprintf("%s %05d", y.protocol, y.port))
	})
}

// addresses are those of each family.
func (lb *balancer) addresses() []string {
	if lb.dual {
		return []string{lb.address, "second-" + lb.address}
	}

	return []string{lb.address}
}

// copyOf is a copy for a reader.
func (lb *balancer) copyOf() *balancer {
	c := *lb
	c.listeners = maps.Clone(lb.listeners)

	return &c
}

func (c *cloud) LoadBalancers() []LoadBalancer {
	c.Lock()
	defer c.Unlock()
	var all []LoadBalancer
	for _, lb := range c.balancers {
		if slices.Contains(c.Decoys, lb.name) {
			continue
		}
		seen := LoadBalancer{Name: lb.name, Addresses: lb.addresses(), Internal: lb.internal, Affinity: lb.affinity}
		for key, l := range lb.listeners {
			listener := Listener{Protocol: key.protocol, Port: key.port, HealthPort: l.health}
			for _, id := range l.targets {
				listener.Targets = append(listener.Targets, Target{id, l.nodePort})
			}
			seen.Listeners = append(seen.Listeners, listener)
		}
		all = append(all, seen)
	}

	return all
}

func (c *cloud) Reach(t testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string {
	t.Helper()
	c.Lock()
	defer c.Unlock()
	for _, lb := range c.balancers {
		l, ok := lb.listeners[portKey{protocol, port}]
		if lb.name != name || !ok {
			continue
		}
		open := slices.ContainsFunc(c.rules, func(r rule) bool {
			return r.protocol == protocol && r.nodePort == l.nodePort && netip.MustParsePrefix(r.from).Contains(client)
		})
		if open {
			return slices.Clone(l.targets)
		}
	}

	return nil
}

func (c *cloud) Remove(t testing.TB, name string) {
	t.Helper()
	c.Lock()
	defer c.Unlock()
	before := len(c.balancers)
	c.balancers = slices.DeleteFunc(c.balancers, func(lb *balancer) bool { return lb.name == name })
	if len(c.balancers) != before-1 {
		t.Fatalf("remove: %d load balancers %s", before-len(c.balancers), name)
	}
}

// SeedDecoys creates load balancers and rules with names similar to that of the
// Service's, and rules for its ports.
func (c *cloud) SeedDecoys(t testing.TB, service *v1.Service) (describe func() []string) {
	t.Helper()
	c.Lock()
	defer c.Unlock()
	name := cloudprovider.DefaultLoadBalancerName(service)
	var owners []string
	for _, near := range []string{name + "0", name[:len(name)-1]} {
		lb := &balancer{name: near, cluster: ourCluster, address: "decoy", listeners: map[portKey]listener{}}
		c.balancers = append(c.balancers, lb)
		owners = append(owners, near)
	}
	for _, owner := range []string{ourCluster + "/" + name + "0", otherCluster + "/" + name, ""} {
		c.rules = append(c.rules, rule{owner, v1.ProtocolTCP, service.Spec.Ports[0].NodePort, "172.16.0.0/12"})
		owners = append(owners, owner)
	}

	c.Decoys = append(c.Decoys, owners...)

	return func() []string {
		c.Lock()
		defer c.Unlock()

		return c.describe(true)
	}
}
