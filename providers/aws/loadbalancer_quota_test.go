package aws

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// quota is how many inbound rules of each family a security group can have.
const quota = 60

// ranges returns so many IPv4 source ranges, those of each network different from
// those of others.
func ranges(network, count int) []string {
	list := make([]string, 0, count)
	for i := range count {
		list = append(list, fmt.Sprintf("10.%d.%d.0/24", network, i))
	}

	return list
}

// fill adds rules of users to a security group until so many are there.
func (b *balanced) fill(group string, until int) {
	for i := len(b.Rules(group)); i < until; i++ {
		b.AddRule(group, userRule(i))
	}
}

// userRule is the rule of users with a number.
func userRule(i int) sim.Rule {
	return sim.Rule{Protocol: "tcp", From: int32(1000 + i), To: int32(1000 + i), Source: "192.0.2.0/24"}
}

// openNodes allows all traffic to the nodes, as users do who leave their security
// groups alone.
func (b *balanced) openNodes(open bool) {
	if open {
		b.AddRule(b.seed.NodeGroup, sim.Rule{Protocol: "-1", From: -1, To: -1, Source: "0.0.0.0/0"})
	}
}

// about returns the Events with a reason since the last call.
func (b *balanced) about(reason string) []string {
	return slices.DeleteFunc(b.drainEvents(), func(event string) bool { return !strings.HasPrefix(event, "Warning "+reason+" ") })
}

// atQuota fails the test unless there was one Event about a security group that
// has no room for so many rules.
func (b *balanced) atQuota(group string, left int) {
	b.t.Helper()
	events := b.about(string(securitygroup.RulesLeftOut))
	if len(events) != 1 {
		b.t.Fatalf("want one Event, got %q", events)
	}
	for _, part := range []string{group, fmt.Sprintf(" %d rules", left), "L-0EA8095F", "source range"} {
		if !strings.Contains(events[0], part) {
			b.t.Errorf("the Event lacks %q: %s", part, events[0])
		}
	}
}

// A security group at its quota has rules of a Service replaced by others in one
// round.
func TestRulesAreReplacedInAFullSecurityGroup(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{
		"group of nodes":                   {nlb()},
		"managed group, classic":           nil,
		"managed group, network":           {nlb()},
		"health checks from another port":  {nlb(), annotate("service.beta.kubernetes.io/aws-load-balancer-healthcheck-port", "10256")},
		"IPv6 and IPv4, each at its quota": {nlb()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var settings []func(*loadBalancerConfig)
			if strings.HasPrefix(name, "managed") {
				settings = append(settings, managedGroups, leaveNodes)
			}
			b := balance(t, settings...)
			b.openNodes(len(settings) > 0)
			before := b.Leaks()
			svc := web(append(slices.Clone(options), from(ranges(1, 15)...))...)
			if strings.HasPrefix(name, "IPv6") {
				svc.Spec.LoadBalancerSourceRanges = append(ranges(1, 15), ranges6(1, 15)...)
			}
			b.ensure(svc)
			b.reachable(webName, svc.Spec.LoadBalancerSourceRanges...)
			svc.Spec.LoadBalancerSourceRanges = ranges(2, 15)
			if strings.HasPrefix(name, "IPv6") {
				svc.Spec.LoadBalancerSourceRanges = append(ranges(2, 15), ranges6(2, 15)...)
			}
			b.ensure(svc)
			b.reachable(webName, svc.Spec.LoadBalancerSourceRanges...)
			if events := b.about(string(securitygroup.RulesLeftOut)); len(events) > 0 {
				t.Errorf("got %q", events)
			}
			b.unchanged(svc)
			b.remove(svc)
			b.same(before)
		})
	}
}

// ranges6 returns so many IPv6 source ranges.
func ranges6(network, count int) []string {
	list := make([]string, 0, count)
	for i := range count {
		list = append(list, fmt.Sprintf("2001:db8:%d:%x::/64", network, i))
	}

	return list
}

// A Service that needs more rules than fit gets those that do, its health checks
// first, and all else of its load balancer. Each round makes few calls.
func TestRulesFillASecurityGroupUpToItsQuota(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason   string
		options  []kubetest.ServiceOption
		settings []func(*loadBalancerConfig)
		managed  string // the name of the group in question; that of the nodes by default
		left     int    // how many rules do not fit
	}{
		"network": {
			reason:  "the group of the nodes has a rule of its own, the Service needs 3 for health checks and 3 for each range",
			options: []kubetest.ServiceOption{nlb(), annotate("service.beta.kubernetes.io/aws-load-balancer-healthcheck-port", "10256")},
			left:    1 + 3 + 3*40 - quota,
		},
		"managed, network": {
			reason: "a rule for each port and one for path MTU discovery for each range", options: []kubetest.ServiceOption{nlb()},
			settings: []func(*loadBalancerConfig){managedGroups, leaveNodes}, managed: webNLB, left: 3*40 - quota,
		},
		"managed, classic": {reason: "as for a network load balancer", settings: []func(*loadBalancerConfig){managedGroups, leaveNodes}, managed: "k8s-elb-" + webName, left: 3*40 - quota},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, test.settings...)
			b.openNodes(len(test.settings) > 0)
			before := b.Leaks()
			svc := web(append(test.options, from(ranges(1, 40)...))...)
			const most = 20 // 2 steps of halving 123 rules, and all else
			for round := range 3 {
				calls := b.calls(func() { b.ensure(svc) })
				if n := calls["AuthorizeSecurityGroupIngress"]; n > most {
					t.Errorf("%s: round %d adds rules with %d calls", test.reason, round, n)
				}
				if n := calls["RevokeSecurityGroupIngress"]; n > 0 {
					t.Errorf("%s: round %d removes rules with %d calls", test.reason, round, n)
				}
			}
			group := b.seed.NodeGroup
			if test.managed != "" {
				group = b.SecurityGroupIDs(test.managed)[0]
			}
			b.atQuota(group, test.left)
			if n := len(b.Rules(group)); n != quota {
				t.Errorf("%s: %d rules, want %d", test.reason, n, quota)
			}
			for _, missing := range b.BlockedTraffic(webName, ranges(1, 1)...) {
				t.Errorf("%s: the first range and health checks are kept out: %s", test.reason, missing)
			}
			if ids := b.registered(webName); len(ids) != 3 {
				t.Errorf("%s: %v are registered", test.reason, ids)
			}
			svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
			b.ensure(svc)
			b.reachable(webName, "10.0.0.0/8")
			b.unchanged(svc)
			b.remove(svc)
			b.same(before)
		})
	}
}

// Where users have filled the security group of the nodes, a load balancer is
// created without its rules there, and gets them when there is room again.
func TestLoadBalancerBehindAFullSecurityGroup(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			b.fill(b.seed.NodeGroup, quota)
			svc := web(options...)
			b.ensure(svc)
			want := map[string]int{"classic": 1, "network": 3}[name]
			b.atQuota(b.seed.NodeGroup, want)
			if ids := b.registered(webName); len(ids) != 3 {
				t.Errorf("%v are registered", ids)
			}
			b.unchanged(svc) // the group is not tried again for some minutes

			for i := range want {
				b.RemoveRule(b.seed.NodeGroup, userRule(quota-1-i))
			}
			b.lb.Groups.Written() // as after the age at which groups are read again
			b.ensure(svc)
			b.reachable(webName)
			b.unchanged(svc)
		})
	}
}

// In a round that does not know what all nodes need, no room is made in a full
// security group.
func TestNoRoomIsMadeWhileNodesAreAmbiguous(t *testing.T) {
	t.Parallel()
	b := balance(t, uncached)
	svc := web(nlb(), from(ranges(1, 15)...))
	b.ensure(svc)
	rules := b.rules(b.seed.NodeGroup)
	second := b.group("second", map[string]string{sim.ClusterTag(demo): "owned"})
	b.SetInstanceGroups(b.ids[0], b.seed.NodeGroup, second)
	b.lb.Groups.Written()
	b.drainEvents()
	svc.Spec.LoadBalancerSourceRanges = ranges(2, 15)
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, apierr.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	// The group has a rule of its own; health checks need one for each of two ports
	// and three subnets.
	b.atQuota(b.seed.NodeGroup, 45+45+6+1-quota)
	for _, rule := range rules {
		if !slices.Contains(b.rules(b.seed.NodeGroup), rule) {
			t.Errorf("%s was removed", rule)
		}
	}
}

// A security group that cannot be written costs its own rules alone: the other
// groups of nodes and the load balancer get what they are to have, and nothing is
// removed.
func TestRefusedSecurityGroupCostsItselfAlone(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, own group %t", name, own), func(t *testing.T) {
				t.Parallel()
				b := balance(t, managedGroups)
				second := b.group("second", map[string]string{sim.ClusterTag(demo): "owned"})
				b.nodes = append(b.nodes, nodesOf(b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{second}}}))...)
				svc := web(options...)
				rule := b.Interceptor().Inject("AuthorizeSecurityGroupIngress", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
					id := r.FormValue("GroupId")
					if id == b.seed.NodeGroup && !own || id != b.seed.NodeGroup && id != second && own {
						apply = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sim.Denied()(w, r, nil) })
					}
					apply.ServeHTTP(w, r)
				})
				if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, apierr.ErrDenied) {
					t.Errorf("got %v", err)
				}
				if len(b.rules(second)) == 0 || own && len(b.rules(b.seed.NodeGroup)) < 2 {
					t.Error("the other groups have no rules")
				}
				if ids := b.registered(webName); len(ids) != 4 {
					t.Errorf("%v are registered", ids)
				}
				rule.Remove()
				b.ensure(svc)
				b.reachable(webName)
				b.unchanged(svc)
			})
		}
	}
}

// Two Services that share a full security group: what the one needs is not
// removed to make room for the other.
func TestRoomIsNotMadeOfRulesThatOthersNeed(t *testing.T) {
	t.Parallel()
	b := balance(t)
	first, second := two(sharedPort()...)
	b.ensure(first)
	b.ensure(second)
	b.fill(b.seed.NodeGroup, quota)
	first.Annotations["service.beta.kubernetes.io/aws-load-balancer-healthcheck-port"] = "10257"
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, first, b.nodes); !errors.Is(err, change.ErrNoRoom) {
		t.Errorf("got %v", err)
	}
	b.reachable(webName)
	b.reachable(apiName)
	b.atQuota(b.seed.NodeGroup, 3)
	for _, svc := range []*v1.Service{first, second} {
		b.remove(svc)
	}
}

// A quota of targets that was reached is tried again with one call for each target group, and with all once
// targets have left.
func TestQuotaOfTargetsIsRemembered(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]struct {
		options  []kubetest.ServiceOption
		quotas   sim.Quotas
		register string
		groups   int
	}{
		"network": {[]kubetest.ServiceOption{nlb()}, sim.Quotas{Targets: 20}, "elbv2.RegisterTargets", 2},
		"classic": {nil, sim.Quotas{ClassicInstances: 20}, "elb.RegisterInstancesWithLoadBalancer", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			b.SetQuotas(kind.quotas)
			b.nodes = nodesOf(b.seed.AddNodes(40)...)
			svc := web(kind.options...)
			calls := func() int {
				b.Interceptor().Reset()
				if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); err == nil {
					t.Error("no error")
				}

				return b.Interceptor().Count(kind.register)
			}
			calls()
			if n := calls(); n != kind.groups || len(b.registered(webName)) != 20 {
				t.Errorf("%d registrations, and %d targets", n, len(b.registered(webName)))
			}
			b.nodes = b.nodes[5:]
			if calls(); len(b.registered(webName)) != 20 {
				t.Errorf("%d targets after others have left", len(b.registered(webName)))
			}
			b.SetQuotas(sim.Quotas{})
			if b.ensure(svc); len(b.registered(webName)) != 35 {
				t.Errorf("%d targets with another quota", len(b.registered(webName)))
			}
		})
	}
}
