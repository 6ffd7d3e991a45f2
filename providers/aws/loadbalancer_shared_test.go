package aws

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// describes is the operation that IAM policies made for others do not allow.
const describes = "UpdateSecurityGroupRuleDescriptionsIngress"

// sharedPort has network load balancers probe nodes on the same port.
func sharedPort() []kubetest.ServiceOption {
	return []kubetest.ServiceOption{nlb(), annotate(request.AnnotationHealthCheckPort, "10256")}
}

// A node pool with a security group of its own is scaled to zero: load balancers
// that share a health check port do not hand its rules to each other, but remove
// them with the next sync of each.
func TestRulesOfAnEmptyNodePoolAreRemovedOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		// fresh is set if a new process syncs, refused if it never finishes.
		fresh, refused bool
	}{
		"same process":   {reason: "the groups of the other load balancer are known"},
		"fresh process":  {reason: "the groups of the other load balancer are not known yet", fresh: true},
		"refused target": {reason: "no load balancer is ever up to date", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			pool := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
			pooled := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}})
			rest := b.nodes
			if test.refused {
				rest = append(rest, nodesOf(b.seed.AddNode(sim.InstanceSpec{Type: "t1.micro"}))...)
			}
			first, second := two(sharedPort()...)
			b.nodes = append(nodesOf(pooled), rest...)
			b.ensure(first)
			b.ensure(second)
			if len(b.rules(pool)) == 0 {
				t.Fatal("the pool allows no load balancer")
			}
			b.nodes = rest
			if test.fresh {
				b.lb = b.controller()
			}
			b.ensure(first)
			b.ensure(second)
			if rules := b.rules(pool); len(rules) > 0 {
				t.Errorf("%s: rules stay where no node is: %v", test.reason, rules)
			}
			for range 2 {
				for _, svc := range []*v1.Service{first, second} {
					calls := b.writes(func() { b.ensure(svc) })
					delete(calls, "elbv2.RegisterTargets") // of the refused target
					if len(calls) > 0 {
						t.Errorf("%s: a sync without a change writes %v", test.reason, calls)
					}
				}
			}
			b.reachable(webName)
			b.reachable(apiName)
		})
	}
}

// A rule that is removed while another Service begins to need it is kept, or
// added again: AWS does not show yet that the Service needs it.
func TestRuleIsKeptForAServiceThatIsBeingCreated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		search string // the operation that finds users of the rule
	}{
		"classic": {search: "elb.DescribeLoadBalancers"},
		"network": {search: "elbv2.DescribeTargetGroups"},
	} {
		for _, when := range []string{"after the search", "during the removal"} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				b := balance(t)
				options := sharedPort()
				if name == "classic" {
					id := b.group("brought", nil)
					b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
					options = []kubetest.ServiceOption{annotate(request.AnnotationSecurityGroups, id)}
				}
				before := b.Leaks()
				first, second := two(options...)
				b.ensure(first)
				searches := b.calls(func() { b.remove(first) })[test.search]
				b.lb = b.controller() // which has not read anything yet, as before
				b.ensure(first)

				hold := simserver.NewHold()
				op, fault, nth := test.search, hold.After, searches
				if when == "during the removal" {
					op, fault, nth = "RevokeSecurityGroupIngress", hold.Before, 1
				}
				b.Interceptor().Reset()
				b.Interceptor().Inject(op, simserver.Nth(nth), fault)
				var wg sync.WaitGroup
				wg.Go(func() { b.remove(first) })
				if err := b.Interceptor().WaitFor(t.Context(), op, nth); err != nil {
					t.Fatal(err)
				}
				created := make(chan struct{})
				wg.Go(func() { b.ensure(second); close(created) })
				if when == "after the search" {
					<-created
				} else if err := b.Interceptor().WaitFor(t.Context(), map[string]string{
					"classic": "elb.RegisterInstancesWithLoadBalancer", "network": "elbv2.RegisterTargets",
				}[name], 1); err != nil {
					t.Fatal(err)
				}
				hold.Release()
				wg.Wait()
				b.reachable(apiName)
				b.unchanged(second)
				b.remove(second)
				b.same(before)
			})
		}
	}
}

// The rules of nodes are written while the other users of rules are looked for on
// behalf of another Service.
func TestNodeRulesDoNotWaitForSearches(t *testing.T) {
	t.Parallel()
	b := balance(t)
	id := b.group("brought", nil)
	b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
	first, second := two(annotate(request.AnnotationSecurityGroups, id))
	other := kubetest.Service("default", "other", kubetest.ServiceUID("bbbbbbbb-1111-2222-3333-444455556666"), kubetest.Port(v1.ProtocolTCP, 81))
	b.ensure(first)
	b.ensure(second)
	searches := b.calls(func() { b.remove(first) })["elb.DescribeLoadBalancers"]
	b.lb = b.controller() // which has not read anything yet, as before
	b.ensure(first)
	b.ensure(second)
	hold := simserver.NewHold()
	b.Interceptor().Reset()
	b.Interceptor().Inject("elb.DescribeLoadBalancers", simserver.Nth(searches), hold.Before)
	var wg sync.WaitGroup
	wg.Go(func() { b.remove(first) })
	if err := b.Interceptor().WaitFor(t.Context(), "elb.DescribeLoadBalancers", searches); err != nil {
		t.Fatal(err)
	}
	b.ensure(other)
	b.reachable(b.lb.GetLoadBalancerName(t.Context(), flagged, other))
	hold.Release()
	wg.Wait()
	b.reachable(apiName)
}

// Where descriptions cannot be changed, a rule that another load balancer needs
// is removed and added again. It is not lost if adding it fails at first.
func TestSharedRuleSurvivesAFailedHandover(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		breaks func(b *balanced, cancel func())
	}{
		"error": {
			reason: "adding it is repeated",
			breaks: func(b *balanced, _ func()) {
				b.Interceptor().Inject("AuthorizeSecurityGroupIngress", simserver.First(1), sim.Error(400, "IncorrectState", "try again"))
			},
		},
		"caller is gone": {
			reason: "adding it does not depend on the caller",
			breaks: func(b *balanced, cancel func()) {
				b.Interceptor().Inject("RevokeSecurityGroupIngress", simserver.First(1), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
					apply.ServeHTTP(w, r)
					cancel()
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, longWaits)
			before := b.Leaks()
			first, second := two(sharedPort()...)
			b.ensure(first)
			b.ensure(second)
			b.Interceptor().Inject(describes, simserver.Always(), sim.Denied())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			test.breaks(b, cancel)
			if err := b.lb.EnsureLoadBalancerDeleted(ctx, flagged, first); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", test.reason, err)
			}
			b.reachable(apiName)
			b.remove(first)
			b.reachable(apiName)
			b.remove(second)
			b.same(before)
		})
	}
}

// A rule that was removed and could not be added again is added by the next run
// of the same Service, which has something left until then.
func TestLostRuleIsAddedByTheNextRun(t *testing.T) {
	t.Parallel()
	for _, moves := range []bool{false, true} {
		name := "deletion"
		if moves {
			name = "change of the port"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			before := b.Leaks()
			first, second := two(sharedPort()...)
			b.ensure(first)
			b.ensure(second)
			run := func() error { return b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, first) }
			if moves {
				first.Annotations[string(request.AnnotationHealthCheckPort)] = request.TrafficPort
				run = func() error {
					_, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, first, b.nodes)

					return err
				}
			}
			b.Interceptor().Inject(describes, simserver.Always(), sim.Denied())
			denied := b.Interceptor().Inject("AuthorizeSecurityGroupIngress", simserver.Always(), sim.Denied())
			for range 2 {
				if err := run(); !errors.Is(err, apierr.ErrDenied) {
					t.Errorf("got %v", err)
				}
				if len(b.BlockedTraffic(apiName)) == 0 || !b.exists(first) {
					t.Error("the rule is missing, and Get reports nothing to do")
				}
			}
			denied.Remove()
			if err := run(); err != nil {
				t.Error(err)
			}
			b.reachable(apiName)
			if !moves && b.exists(first) {
				t.Error("Get reports that something is left")
			}
			b.remove(second)
			if moves {
				b.ensure(first)
				b.unchanged(first)
				b.remove(first)
			}
			b.same(before)
		})
	}
}

// A lost rule is not added when the load balancer that needed it is gone.
func TestLostRuleIsDroppedWithItsUser(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	first, second := two(sharedPort()...)
	b.ensure(first)
	b.ensure(second)
	b.Interceptor().Inject(describes, simserver.Always(), sim.Denied())
	denied := b.Interceptor().Inject("AuthorizeSecurityGroupIngress", simserver.Always(), sim.Denied())
	if err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, first); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("got %v", err)
	}
	denied.Remove()
	b.remove(second)
	b.remove(first)
	if b.exists(first) {
		t.Error("Get reports that something is left")
	}
	b.same(before)
}

// A security group that the same run has created is unknown to Elastic Load
// Balancing for a moment: the load balancer is created all the same.
func TestLoadBalancerIsCreatedWithItsNewGroup(t *testing.T) {
	t.Parallel()
	patient := func(c *loadBalancerConfig) {
		c.Tuning.Wait = change.Wait{Interval: time.Millisecond, Limit: 10 * time.Second}
	}
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		create := map[string]string{"classic": "elb.CreateLoadBalancer", "network": "elbv2.CreateLoadBalancer"}[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testingclock.NewFakePassiveClock(time.Now())
			delays := &sim.Delays{SecurityGroups: 3 * time.Second}
			b := balanceIn(newRegion(t, sim.Options{DisableThrottling: true, Delays: delays, Clock: clock}), managedGroups, patient)
			svc := web(options...)
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := b.Interceptor().WaitFor(t.Context(), create, 2); err != nil {
					t.Error(err)
				}
				clock.SetTime(clock.Now().Add(3 * time.Second))
			})
			calls := b.calls(func() { b.ensure(svc) })
			wg.Wait()
			if calls[create] < 2 || calls["CreateSecurityGroup"] != 1 {
				t.Errorf("got %v", calls)
			}
			b.reachable(webName)

			// A group of users that does not exist is an error at once.
			svc = apiService(append(options, annotate(request.AnnotationSecurityGroups, "sg-0123456789abcdef0"))...)
			calls = b.calls(func() {
				_, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
				if !errors.Is(err, apierr.ErrInvalid) || !strings.Contains(err.Error(), "sg-0123456789abcdef0") {
					t.Errorf("got %v", err)
				}
			})
			if calls[create] != 1 {
				t.Errorf("a group of users: got %v", calls)
			}
		})
	}
}

// A Service whose load balancer was never created keeps no rule of others.
func TestServiceWithoutLoadBalancerKeepsNoRules(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"first", "last"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			before := b.Leaks()
			first, second := two(sharedPort()...)
			b.ensure(first)
			b.SetDenied("elasticloadbalancing:CreateLoadBalancer")
			if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, second, b.nodes); !errors.Is(err, apierr.ErrDenied) {
				t.Errorf("got %v", err)
			}
			if order == "first" && b.exists(second) {
				t.Error("Get reports that something is left")
			}
			b.remove(first)
			if order == "last" && b.exists(second) {
				b.remove(second)
			}
			b.same(before)
		})
	}
}
