package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
)

// simBalancer is a load balancer of the cloud in memory.
type simBalancer struct {
	name, cluster, address string
	internal, affinity     bool
	listeners              map[simPort]simListener
}

// simPort is what tells listeners apart.
type simPort struct {
	protocol v1.Protocol
	port     int32
}

// simListener sends traffic to machines.
type simListener struct {
	nodePort, health int32
	targets          []string
}

// simRule lets traffic from a range come to a node port of all machines.
type simRule struct {
	owner    string
	protocol v1.Protocol
	nodePort int32
	from     string
}

func (lb *simBalancer) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "load balancer %s of %s, internal %t, affinity %t:", lb.name, lb.cluster, lb.internal, lb.affinity)
	for _, key := range sortedPorts(lb.listeners) {
		fmt.Fprintf(&text, " %s %d %+v", key.protocol, key.port, lb.listeners[key])
	}

	return text.String()
}

func (r simRule) String() string {
	return fmt.Sprintf("rule of %s: %s %d from %s", r.owner, r.protocol, r.nodePort, r.from)
}

// sortedPorts are the ports of listeners in order.
func sortedPorts(listeners map[simPort]simListener) []simPort {
	return slices.SortedFunc(maps.Keys(listeners), func(x, y simPort) int {
		return strings.Compare(fmt.Sprintf("%s %05d", x.protocol, x.port), fmt.Sprintf("%s %05d", y.protocol, y.port))
	})
}

// copyOf is a copy for a reader.
func (lb *simBalancer) copyOf() *simBalancer {
	c := *lb
	c.listeners = maps.Clone(lb.listeners)

	return &c
}

func (c *simCloud) LoadBalancers() []LoadBalancer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []LoadBalancer
	for _, lb := range c.balancers {
		if slices.Contains(c.planted, lb.name) {
			continue
		}
		seen := LoadBalancer{Name: lb.name, Address: lb.address, Internal: lb.internal, Affinity: lb.affinity}
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

func (c *simCloud) Reach(t testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, lb := range c.balancers {
		l, ok := lb.listeners[simPort{protocol, port}]
		if lb.name != name || !ok {
			continue
		}
		open := slices.ContainsFunc(c.rules, func(r simRule) bool {
			return r.protocol == protocol && r.nodePort == l.nodePort && netip.MustParsePrefix(r.from).Contains(client)
		})
		if open {
			return slices.Clone(l.targets)
		}
	}

	return nil
}

func (c *simCloud) Remove(t testing.TB, name string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.balancers)
	c.balancers = slices.DeleteFunc(c.balancers, func(lb *simBalancer) bool { return lb.name == name })
	if len(c.balancers) != before-1 {
		t.Fatalf("remove: %d load balancers %s", before-len(c.balancers), name)
	}
}

// Plant makes a load balancer and rules with names around that of the Service's,
// and rules for its ports.
func (c *simBalancerCloud) Plant(t testing.TB, service *v1.Service) (describe func() []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	name := lbname.ByUID(service)
	var owners []string
	for _, near := range []string{name + "0", name[:len(name)-1]} {
		lb := &simBalancer{name: near, cluster: ourCluster, address: "planted", listeners: map[simPort]simListener{}}
		c.balancers = append(c.balancers, lb)
		owners = append(owners, near)
	}
	for _, owner := range []string{ourCluster + "/" + name + "0", otherCluster + "/" + name, ""} {
		c.rules = append(c.rules, simRule{owner, v1.ProtocolTCP, service.Spec.Ports[0].NodePort, "172.16.0.0/12"})
		owners = append(owners, owner)
	}

	return c.plant(owners...)
}

// balancer reads the load balancer of a name, nil if there is none.
func (c *simCloud) balancer(ctx context.Context, name string) (found *simBalancer, err error) {
	err = c.call(ctx, false, func() error {
		for _, lb := range c.balancers {
			if lb.name == name {
				found = lb.copyOf()
			}
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read load balancer: %w", err)
	}

	return found, nil
}

// createBalancer makes a load balancer without ports. The name may be there
// already only if twins are allowed.
func (c *simCloud) createBalancer(ctx context.Context, lb simBalancer, twins bool) error {
	err := c.call(ctx, true, func() error {
		for _, other := range c.balancers {
			if other.name == lb.name && !twins {
				return apierr.Mark(apierr.ErrConflict, errConflict)
			}
		}
		c.made++
		lb.address, lb.listeners = fmt.Sprintf("lb-%d.sim.example", c.made), map[simPort]simListener{}
		c.balancers = append(c.balancers, &lb)

		return nil
	})
	if err != nil {
		return fmt.Errorf("create load balancer: %w", err)
	}

	return nil
}

// deleteBalancer removes a load balancer with its ports.
func (c *simCloud) deleteBalancer(ctx context.Context, name string) error {
	err := c.call(ctx, true, func() error {
		for i, lb := range c.balancers {
			if lb.name == name {
				c.balancers = slices.Delete(c.balancers, i, i+1)

				return nil
			}
		}

		return apierr.Mark(apierr.ErrNotFound, errMissing)
	})
	if err != nil {
		return fmt.Errorf("delete load balancer: %w", err)
	}

	return nil
}

// changeBalancer changes a load balancer.
func (c *simCloud) changeBalancer(ctx context.Context, name string, change func(*simBalancer) error) error {
	err := c.call(ctx, true, func() error {
		for _, lb := range c.balancers {
			if lb.name == name {
				return change(lb)
			}
		}

		return apierr.Mark(apierr.ErrNotFound, errMissing)
	})
	if err != nil {
		return fmt.Errorf("change load balancer: %w", err)
	}

	return nil
}

// putListener makes or replaces a listener. A target that is no machine has the
// whole call refused.
func (c *simCloud) putListener(ctx context.Context, name string, port simPort, l simListener) error {
	return c.changeBalancer(ctx, name, func(lb *simBalancer) error {
		for _, id := range l.targets {
			if m := c.machineOf(id); m == nil || m.power != On && !slices.Contains(lb.listeners[port].targets, id) {
				return apierr.Mark(apierr.ErrInvalid, fmt.Errorf("target %q is no machine that runs", id))
			}
		}
		lb.listeners[port] = l

		return nil
	})
}

// ruleList reads all rules, and the machines that can be targets.
func (c *simCloud) ruleList(ctx context.Context) (rules []simRule, running []string, err error) {
	err = c.call(ctx, false, func() error {
		rules = slices.Clone(c.rules)
		for _, m := range c.machines {
			if m.power == On {
				running = append(running, m.ref.ProviderID)
			}
		}

		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list rules: %w", err)
	}

	return rules, running, nil
}

// changeRules adds and removes rules in one call. One that is there cannot be
// added.
func (c *simCloud) changeRules(ctx context.Context, add, drop []simRule) error {
	err := c.call(ctx, true, func() error {
		for _, rule := range add {
			if slices.Contains(c.rules, rule) {
				return apierr.Mark(apierr.ErrConflict, errConflict)
			}
		}
		c.rules = slices.DeleteFunc(c.rules, func(r simRule) bool { return slices.Contains(drop, r) })
		c.rules = append(c.rules, add...)

		return nil
	})
	if err != nil {
		return fmt.Errorf("change rules: %w", err)
	}

	return nil
}
