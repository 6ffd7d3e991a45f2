package aws

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// uncached has every call read instances again.
func uncached(c *loadBalancerConfig) {
	c.Instances = inventory.New(c.EC2, inventory.Config{
		Cluster: c.Settings.Cluster, VPC: c.Settings.VPC,
		Window: time.Nanosecond, MaxAge: time.Nanosecond, MissingAge: time.Nanosecond,
	})
}

// removing returns the calls of f that remove something.
func (b *balanced) removing(f func()) map[string]int {
	b.t.Helper()
	calls := map[string]int{}
	for op, n := range b.writes(f) {
		for _, word := range []string{"Revoke", "Deregister", "Delete", "Detach", "UpdateSecurityGroupRuleDescriptions"} {
			if strings.Contains(op, word) {
				calls[op] = n
			}
		}
	}

	return calls
}

// registered returns the instances behind the load balancer of a name.
func (b *balanced) registered(name string) []string {
	if classic, ok := b.Classic(name); ok {
		return classic.Instances
	}
	var ids []string
	network, _ := b.Network(name)
	for _, group := range network.TargetGroups {
		for _, target := range group.Targets {
			ids = append(ids, target.ID)
		}
	}
	slices.Sort(ids)

	return slices.Compact(ids)
}

// kinds are Services of both kinds of load balancers.
func kinds() map[string][]kubetest.ServiceOption {
	return map[string][]kubetest.ServiceOption{
		"classic":              nil,
		"network":              {nlb()},
		"network, shared port": {nlb(), annotate(request.AnnotationHealthCheckPort, "10256")},
	}
}

// A second security group of the instances gets the tag of the cluster while load
// balancers serve: they go on serving all nodes, nodes of other groups join, and
// everything converges when the tag is gone.
func TestAmbiguousNodeGroupsKeepLoadBalancersServing(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		for _, fresh := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, first sync %t", kind, fresh), func(t *testing.T) {
				t.Parallel()
				testAmbiguousNodeGroups(t, fresh, options)
			})
		}
	}
}

func testAmbiguousNodeGroups(t *testing.T, fresh bool, options []kubetest.ServiceOption) {
	b := balance(t, uncached)
	other, pool := b.group("other", nil), b.group("pool", nil)
	joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}})
	before := b.Leaks()
	first, second := two(options...)
	b.ensure(first)
	b.ensure(second)
	rules := b.rules(b.seed.NodeGroup)

	// The other group is ambiguous, and a node joins that is in a third one alone.
	for _, id := range []string{other, pool} {
		b.SetTags(id, map[string]string{sim.ClusterTag(demo): "owned"})
	}
	for _, id := range b.ids {
		b.SetInstanceGroups(id, b.seed.NodeGroup, other)
	}
	if fresh {
		b.lb = b.controller(uncached)
	}
	b.lb.Groups.Written() // as after the age at which groups are read again
	b.nodes = nodesOf(append(b.ids[1:], joined)...)
	b.drainEvents()
	removing := b.removing(func() {
		for _, svc := range []*v1.Service{first, second} {
			_, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
			if !errors.Is(err, apierr.ErrInvalid) || !strings.Contains(err.Error(), b.ids[1]) {
				t.Errorf("Ensure returns %v", err)
			}
			if err := b.lb.UpdateLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, apierr.ErrInvalid) {
				t.Errorf("Update returns %v", err)
			}
		}
	})
	if len(removing) > 0 {
		t.Errorf("something was removed: %v", removing)
	}
	if events := strings.Join(b.drainEvents(), "\n"); strings.Count(events, "Warning AmbiguousNodeSecurityGroup ") != 2 {
		t.Errorf("want an Event for each Service, got %s", events)
	}
	if diff := cmp.Diff(rules, b.rules(b.seed.NodeGroup)); diff != "" {
		t.Errorf("the rules of the nodes: -before +after\n%s", diff)
	}
	for _, name := range []string{webName, apiName} {
		b.reachable(name)
		if ids := b.registered(name); len(ids) != 4 {
			t.Errorf("want the three nodes of before and the new one behind %s, got %v", name, ids)
		}
	}

	b.SetTags(other, map[string]string{})
	b.lb.Groups.Written()
	for _, svc := range []*v1.Service{first, second} {
		b.ensure(svc)
		b.reachable(b.lb.GetLoadBalancerName(t.Context(), flagged, svc))
		if diff := cmp.Diff(slices.Sorted(slices.Values(append(b.ids[1:], joined))), b.registered(b.lb.GetLoadBalancerName(t.Context(), flagged, svc))); diff != "" {
			t.Errorf("the node that left: -want +got\n%s", diff)
		}
	}
	// Without nodes in the third group its rules go.
	b.nodes = nodesOf(b.ids...)
	for range 2 {
		b.ensure(first)
		b.ensure(second)
	}
	if rules := b.rules(pool); len(rules) > 0 {
		t.Errorf("rules stay where no node is: %v", rules)
	}
	b.remove(first)
	b.remove(second)
	b.SetTags(pool, map[string]string{})
	b.same(before)
}

// FW-LB-5: instances that EC2 does not return for some time, or returns without a
// security group, cost no rule of the nodes: neither theirs nor those for other
// ports, and not the group of a classic load balancer that the rules name. They
// also stay registered, unless the Service was changed.
func TestUnknownInstancesKeepTheRulesOfNodes(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		for name, lose := range map[string]func(b *balanced){
			"one is unknown":   func(b *balanced) { b.hide(b.ids[0]) },
			"all are unknown":  func(b *balanced) { b.hide(b.ids...) },
			"one has no group": func(b *balanced) { b.SetInstanceGroups(b.ids[0]) },
			"none of them has groups": func(b *balanced) {
				for _, id := range b.ids {
					b.SetInstanceGroups(id)
				}
			},
		} {
			for _, changed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, changed Service %t", kind, name, changed), func(t *testing.T) {
					t.Parallel()
					testUnknownInstances(t, options, lose, changed)
				})
			}
		}
	}
}

func testUnknownInstances(t *testing.T, options []kubetest.ServiceOption, lose func(*balanced), changed bool) {
	b := balance(t, uncached)
	pool, byo := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"}), b.group("byo", nil)
	b.AddRule(byo, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
	b.SetInstanceGroups(b.ids[0], pool)
	before := b.Leaks()
	svc := web(options...)
	b.ensure(svc)
	rules := append(b.rules(pool), b.rules(b.seed.NodeGroup)...)

	lose(b)
	if changed {
		svc.Spec.Ports[0].NodePort++
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		svc.Annotations[string(request.AnnotationSecurityGroups)] = byo
	}
	removing := b.removing(func() {
		b.ensure(svc)
		if err := b.lb.UpdateLoadBalancer(t.Context(), flagged, svc, b.nodes); err != nil {
			t.Error(err)
		}
	})
	for op, n := range removing {
		// The load balancer itself is no matter of the nodes.
		if strings.Contains(op, "SecurityGroup") || !changed {
			t.Errorf("%d calls of %s", n, op)
		}
	}
	left := append(b.rules(pool), b.rules(b.seed.NodeGroup)...)
	for _, rule := range rules {
		if !slices.Contains(left, rule) {
			t.Errorf("%s was removed", rule)
		}
	}
	if !changed && len(b.registered(webName)) != 3 {
		t.Errorf("registered are %v", b.registered(webName))
	}

	b.Interceptor().Clear()
	b.SetInstanceGroups(b.ids[0], pool)
	for _, id := range b.ids[1:] {
		b.SetInstanceGroups(id, b.seed.NodeGroup)
	}
	b.ensure(svc)
	b.ensure(svc) // deletes the former group of a classic load balancer
	b.reachable(webName)
	b.unchanged(svc)
	b.remove(svc)
	b.same(before)
}

// hide makes EC2 omit instances, until the faults are cleared.
func (b *balanced) hide(ids ...string) {
	b.Interceptor().Inject("DescribeInstances", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		response := httptest.NewRecorder()
		apply.ServeHTTP(response, r)
		body := response.Body.String()
		for _, id := range ids {
			body = strings.ReplaceAll(body, "<instanceId>"+id+"</instanceId>", "<instanceId>i-0000000000000dead</instanceId>")
		}
		response.Body.Reset()
		response.Body.WriteString(body)
		response.Header().Del("Content-Length")
		simserver.Replay(w, response)
	})
}

// AWS-DELETE-2: a load balancer that cannot be deleted keeps serving, and the
// error describes what to do.
func TestLoadBalancerThatCannotBeDeletedKeepsServing(t *testing.T) {
	t.Parallel()
	brought := func(name string) func(*balanced, *v1.Service) {
		return func(b *balanced, svc *v1.Service) {
			id := b.group("brought", nil)
			b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
			if name == "" {
				b.lb = b.controller(configuredGroup(id))
			} else {
				svc.Annotations[name] = id
			}
		}
	}
	for name, test := range map[string]struct {
		options  []kubetest.ServiceOption
		settings []func(*loadBalancerConfig)
		prepare  func(*balanced, *v1.Service)
	}{
		"classic":                   {},
		"classic, annotated group":  {prepare: brought(string(request.AnnotationSecurityGroups))},
		"classic, configured group": {prepare: brought("")},
		"classic, extra group":      {prepare: brought(string(request.AnnotationExtraSecurityGroups))},
		"network":                   {options: []kubetest.ServiceOption{nlb()}},
		"network, managed group":    {options: []kubetest.ServiceOption{nlb()}, settings: []func(*loadBalancerConfig){managedGroups}},
		"network, local traffic":    {options: []kubetest.ServiceOption{nlb(), kubetest.LocalTraffic(32000)}},
	} {
		for cause, by := range deletionErrors() {
			if by.network && len(test.options) == 0 {
				continue
			}
			t.Run(name+", "+cause, func(t *testing.T) {
				t.Parallel()
				b := balance(t, test.settings...)
				svc := web(test.options...)
				if svc.Annotations == nil {
					svc.Annotations = map[string]string{}
				}
				before := b.Leaks()
				if test.prepare != nil {
					test.prepare(b, svc)
					before = b.Leaks()
				}
				b.ensure(svc)
				serving := b.Dump()
				allow := by.refuse(b)
				serving = by.dump(b, serving)
				err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc)
				if !errors.Is(err, by.class) || !strings.Contains(err.Error(), by.text) {
					t.Errorf("want an error about %q, got %v", by.text, err)
				}
				if diff := cmp.Diff(serving, b.Dump()); diff != "" {
					t.Errorf("-before +after\n%s", diff)
				}
				b.reachable(webName)
				allow()
				b.remove(svc)
				b.same(before)
			})
		}
	}
}

// deletionError is why a load balancer cannot be deleted.
type deletionError struct {
	refuse func(*balanced) (allow func())
	// network is set if only network load balancers have it.
	network bool
	class   error
	text    string
}

// dump returns what there is before the deletion.
func (r deletionError) dump(b *balanced, before string) string {
	if r.network {
		return b.Dump() // with the attribute
	}

	return before
}

func deletionErrors() map[string]deletionError {
	return map[string]deletionError{
		"protected": {
			network: true, class: apierr.ErrConflict, text: "deletion_protection.enabled is set to false",
			refuse: func(b *balanced) func() {
				b.Protect(webName, true)

				return func() { b.Protect(webName, false) }
			},
		},
		"denied": {
			class: apierr.ErrDenied, text: "elasticloadbalancing:DeleteLoadBalancer is allowed",
			refuse: func(b *balanced) func() {
				b.SetDenied("elasticloadbalancing:DeleteLoadBalancer")

				return func() { b.SetDenied() }
			},
		},
		"unavailable": {
			class: apierr.ErrUnavailable, text: "delete ",
			refuse: func(b *balanced) func() {
				var rules []interface{ Remove() }
				for _, op := range []string{"elb.DeleteLoadBalancer", "elbv2.DeleteLoadBalancer"} {
					rules = append(rules, b.Interceptor().Inject(op, simserver.Always(), sim.Error(503, "ServiceUnavailable", "try again")))
				}

				return func() {
					for _, rule := range rules {
						rule.Remove()
					}
				}
			},
		},
	}
}
