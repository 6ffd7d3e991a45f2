package aws

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// delayReads has all later reads return the present rules of security groups.
func (b *balanced) delayReads() { b.SetDelays(sim.Delays{SecurityGroupRules: time.Hour}) }

// While reads of rules are stale, load balancers are created and deleted, and
// nodes join, as if they did not: no rule is missing, and none is left.
func TestStaleReadsOfRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options  []kubetest.ServiceOption
		settings []func(*loadBalancerConfig)
		shared   bool // both load balancers have a security group of users
		untagged bool // the security group of the nodes is not tagged for the cluster
	}{
		"classic":                  {},
		"classic, shared group":    {shared: true},
		"network":                  {options: []kubetest.ServiceOption{nlb()}},
		"network, one range":       {options: []kubetest.ServiceOption{nlb(), from("192.0.2.0/24")}},
		"network, shared port":     {options: sharedPort()},
		"network, managed group":   {options: []kubetest.ServiceOption{nlb()}, settings: []func(*loadBalancerConfig){managedGroups}},
		"network, untagged group":  {options: []kubetest.ServiceOption{nlb()}, untagged: true},
		"classic, untagged group":  {untagged: true},
		"network, shared, no tags": {options: sharedPort(), untagged: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, test.settings...)
			pool := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
			if test.untagged {
				b.SetTags(b.seed.NodeGroup, nil)
				b.SetTags(pool, nil)
			}
			first, second := two(test.options...)
			if test.shared {
				id := b.group("byo", nil)
				b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
				first, second = two(annotate(request.AnnotationSecurityGroups, id))
			}
			before := b.Leaks()
			b.delayReads()
			services := map[string]*v1.Service{webName: first, apiName: second}
			b.serve(services)

			b.nodes = append(b.nodes, nodesOf(b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}}))...)
			b.serve(services)

			b.remove(first)
			delete(services, webName)
			b.serve(services)

			b.remove(second)
			if b.exists(second) {
				t.Error("something is left")
			}
			for _, group := range []string{pool, b.seed.NodeGroup} {
				if rules := strings.Join(b.rules(group), "\n"); strings.Contains(rules, "kubernetes.io/rule/nlb") {
					t.Errorf("rules are left in %s:\n%s", group, rules)
				}
			}
			// Reads still return the deleted rules.
			services = map[string]*v1.Service{webName: first}
			b.serve(services)
			b.remove(first)
			b.nodes = b.nodes[:3]
			b.same(before)
		})
	}
}

// serve makes load balancers, twice, and fails the test if their traffic does not
// get through, or the second round changes anything.
func (b *balanced) serve(services map[string]*v1.Service) {
	b.t.Helper()
	for _, svc := range services {
		b.ensure(svc)
	}
	for name, svc := range services {
		b.unchanged(svc)
		ranges := svc.Spec.LoadBalancerSourceRanges
		b.reachable(name, ranges...)
		if svc.Annotations[string(request.AnnotationType)] == "" {
			continue
		}
		source := strings.Join(append(ranges, "0.0.0.0/0")[:1], "")
		if rules := strings.Join(b.rules(b.seed.NodeGroup), "\n"); !strings.Contains(rules, "icmp 3-4 "+source) {
			b.t.Errorf("messages of path MTU discovery for %s are kept out:\n%s", name, rules)
		}
	}
}

// EC2 applies a write whose response is lost, and then reports to the retry that
// it has been done: for the minute in which own writes count, the rule is as in
// EC2.
func TestWritesOfRulesWithLostResponses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		loses  string
	}{
		"removed": {reason: "the next Service adds the rules", loses: "RevokeSecurityGroupIngress"},
		"added":   {reason: "the deletion removes the rules", loses: "AuthorizeSecurityGroupIngress"},
	} {
		for _, stale := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", stale reads"}[stale], func(t *testing.T) {
				t.Parallel()
				b := balance(t)
				before := b.Leaks()
				first, second := two(sharedPort()...)
				b.ensure(first)
				if stale {
					b.delayReads()
				}
				lost := b.Interceptor().Inject(test.loses, simserver.Always(), once(simserver.DropResponse()))
				b.remove(first)
				b.ensure(second)
				b.reachable(apiName)
				if rules := strings.Join(b.rules(b.seed.NodeGroup), "\n"); !strings.Contains(rules, "icmp 3-4 0.0.0.0/0") {
					t.Errorf("%s: messages of path MTU discovery are kept out:\n%s", test.reason, rules)
				}
				b.unchanged(second)
				b.remove(second)
				lost.Remove()
				b.same(before)
			})
		}
	}
}

// once is a fault on the first attempt at each call: the next one with the same
// content passes.
func once(fault simserver.Fault) simserver.Fault {
	var mu sync.Mutex
	seen := map[string]bool{}

	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		key := r.Form.Encode()
		mu.Lock()
		again := seen[key]
		seen[key] = !again
		mu.Unlock()
		if again {
			apply.ServeHTTP(w, r)

			return
		}
		fault(w, r, apply)
	}
}
