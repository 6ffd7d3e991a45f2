package aws

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// The rules of groups that a classic load balancer has, and its Service no longer
// names, go with it; a group that was added to the usual ones keeps its rules.
func TestRulesOfFormerGroupsGoWithTheLoadBalancer(t *testing.T) {
	t.Parallel()
	groups, extra := string(request.AnnotationSecurityGroups), string(request.AnnotationExtraSecurityGroups)
	for name, test := range map[string]struct {
		had, has map[string]string // annotations, with the names of groups
		kept     string            // the source of a rule that stays
	}{
		"changed": {had: map[string]string{groups: "one"}, has: map[string]string{groups: "two"}},
		"removed": {had: map[string]string{groups: "one"}},
		"added":   {has: map[string]string{groups: "one"}},
		"extra": {
			had: map[string]string{groups: "one", extra: "two"}, has: map[string]string{extra: "two"}, kept: "two",
		},
	} {
		for _, denied := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", denied at first"}[denied], func(t *testing.T) {
				t.Parallel()
				b := balance(t)
				ids := map[string]string{"one": b.group("one", nil), "two": b.group("two", nil)}
				for _, id := range ids {
					b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
				}
				if test.kept != "" {
					b.AddRule(b.seed.NodeGroup, sim.Rule{Protocol: "-1", From: -1, To: -1, Source: ids[test.kept]})
				}
				before := b.Leaks()
				annotated := func(names map[string]string) (options []kubetest.ServiceOption) {
					for key, name := range names {
						options = append(options, kubetest.ServiceAnnotated(key, ids[name]))
					}

					return options
				}
				svc := web(annotated(test.had)...)
				b.ensure(svc)
				status := svc.Status
				svc = web(annotated(test.has)...)
				svc.Status = status
				if denied {
					b.SetDenied("elasticloadbalancing:DeleteLoadBalancer")
					if err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc); !errors.Is(err, apierr.ErrDenied) {
						t.Errorf("got %v", err)
					}
					b.reachable(webName)
					b.SetDenied()
				}
				b.remove(svc)
				b.same(before)
			})
		}
	}
}

// A rule of a user that names the security group of a load balancer delays the
// deletion of the Service for ten minutes, not forever. Each attempt costs one
// call to delete the group.
func TestRuleOfAUserEndsWithAnEvent(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, managedGroups)
			svc := web(options...)
			b.ensure(svc)
			own := slices.Concat(b.SecurityGroupIDs("k8s-elb-"+webName), b.SecurityGroupIDs(webNLB))[0]
			database := b.group("database", nil)
			b.AddRule(database, sim.Rule{Protocol: "tcp", From: 5432, To: 5432, Source: own})
			before := b.rules(database)

			for _, age := range []time.Duration{0, 9 * time.Minute} {
				svc.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(-age)}
				calls := b.calls(func() {
					err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc)
					if !errors.Is(err, apierr.ErrConflict) || !strings.Contains(err.Error(), database) || !b.exists(svc) {
						t.Errorf("after %s: got %v", age, err)
					}
				})
				if calls["DeleteSecurityGroup"] != 1 {
					t.Errorf("after %s: got %v", age, calls)
				}
			}
			// The service controller removes the finalizer when this succeeds; it
			// does not call Get again.
			b.drainEvents()
			svc.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(-11 * time.Minute)}
			b.remove(svc)
			events := b.drainEvents()
			if len(events) != 1 || !strings.HasPrefix(events[0], "Warning SecurityGroupLeft ") || !strings.Contains(events[0], own) {
				t.Errorf("want one Event, got %v", events)
			}
			if after := b.rules(database); !slices.Equal(before, after) {
				t.Errorf("the rules of the user: %v", after)
			}
		})
	}
}

// A security group that a load balancer has lost, and that rules of users name,
// is left with an Event: the Service works. A later sync deletes it, or the
// deletion of the Service, also after a restart.
func TestLostGroupThatUsersReferToIsLeft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options []kubetest.ServiceOption
		deleted bool // the Service is deleted before the rule
	}{
		"classic":                {},
		"network":                {options: []kubetest.ServiceOption{nlb()}},
		"network, then deletion": {options: []kubetest.ServiceOption{nlb()}, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, managedGroups)
			byo, database := b.group("byo", nil), b.group("database", nil)
			b.AddRule(byo, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
			before := b.Leaks()
			svc := web(append(test.options, from("0.0.0.0/0"))...)
			b.ensure(svc)
			own := b.ownGroup()
			rule := sim.Rule{Protocol: "tcp", From: 5432, To: 5432, Source: own}
			b.AddRule(database, rule)
			if svc.Annotations == nil {
				svc.Annotations = map[string]string{}
			}
			svc.Annotations[string(request.AnnotationSecurityGroups)] = byo
			b.drainEvents()
			for range 2 {
				calls := b.calls(func() { b.ensure(svc) })
				if calls["DeleteSecurityGroup"] != 1 {
					t.Errorf("want one attempt in each sync, got %v", calls)
				}
				b.lb = b.controller(managedGroups)
			}
			b.reachable(webName)
			for _, event := range b.drainEvents() {
				for _, part := range []string{"Warning SecurityGroupLeft ", own, database} {
					if !strings.Contains(event, part) {
						t.Errorf("the Event lacks %q: %s", part, event)
					}
				}
			}
			if test.deleted {
				svc.DeletionTimestamp = &metav1.Time{Time: time.Now()}
				if err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc); !errors.Is(err, apierr.ErrConflict) || !b.exists(svc) {
					t.Errorf("got %v", err)
				}
			}
			b.RemoveRule(database, rule)
			if !test.deleted {
				b.ensure(svc)
				b.unchanged(svc)
			}
			b.remove(svc)
			b.same(before)
		})
	}
}

// ownGroup returns the security group that was created for a load balancer.
func (b *balanced) ownGroup() string {
	b.t.Helper()
	for _, balancer := range []func(string) ([]string, bool){
		func(name string) ([]string, bool) {
			lb, ok := b.Classic(name)

			return lb.SecurityGroups, ok
		},
		func(name string) ([]string, bool) {
			lb, ok := b.Network(name)

			return lb.SecurityGroups, ok
		},
	} {
		if groups, ok := balancer(webName); ok && len(groups) == 1 {
			return groups[0]
		}
	}
	b.t.Fatal("the load balancer has not one security group")

	return ""
}

// otherARNs has the API write load balancers as another implementation does: its
// ARNs have the type app, whatever the type.
func otherARNs(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	replace := strings.NewReplacer(":loadbalancer/app/", ":loadbalancer/net/", ":listener/app/", ":listener/net/")
	for _, values := range r.Form {
		for i := range values {
			values[i] = replace.Replace(values[i])
		}
	}
	response := httptest.NewRecorder()
	apply.ServeHTTP(response, r)
	body := strings.NewReplacer(":loadbalancer/net/", ":loadbalancer/app/", ":listener/net/", ":listener/app/").Replace(response.Body.String())
	response.Body.Reset()
	response.Body.WriteString(body)
	response.Header().Del("Content-Length")
	simserver.Replay(w, response)
}

// Where the ARNs of network load balancers have another type, those that share a
// health check port are found all the same.
func TestSharedHealthRuleWithOtherARNs(t *testing.T) {
	t.Parallel()
	b := balance(t)
	b.Interceptor().Inject("elbv2", simserver.Always(), otherARNs)
	before := b.Leaks()
	first, second := two(sharedPort()...)
	b.ensure(first)
	b.ensure(second)
	b.lb = b.controller()
	b.remove(first)
	b.reachable(apiName)
	b.unchanged(second)
	b.remove(second)
	b.same(before)
}

// A listener that AWS rejects keeps the rules of its old node port, and nothing
// keeps those of the other ports from being added.
func TestRefusedListenerKeepsTheRulesOfItsOldPort(t *testing.T) {
	t.Parallel()
	const certificate = "arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012"
	b := balance(t)
	before := b.Leaks()
	svc := web(nlb())
	b.ensure(svc)
	b.SetCertificates()
	svc.Annotations[string(request.AnnotationSSLCert)] = certificate
	svc.Annotations[string(request.AnnotationSSLPorts)] = "443"
	svc.Spec.Ports[0].NodePort, svc.Spec.Ports[1].NodePort = 31080, 31443
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); err == nil || !strings.Contains(err.Error(), certificate) {
		t.Errorf("got %v", err)
	}
	b.reachable(webName)
	rules := strings.Join(b.rules(b.seed.NodeGroup), "\n")
	for _, port := range []string{"tcp 30443-30443 0.0.0.0/0", "tcp 31080-31080 0.0.0.0/0"} {
		if !strings.Contains(rules, port) {
			t.Errorf("%s is missing in\n%s", port, rules)
		}
	}
	b.SetCertificates(certificate)
	b.ensure(svc)
	b.reachable(webName)
	if rules := strings.Join(b.rules(b.seed.NodeGroup), "\n"); strings.Contains(rules, "tcp 30") {
		t.Errorf("rules of old ports stay:\n%s", rules)
	}
	b.unchanged(svc)
	b.remove(svc)
	b.same(before)
}
