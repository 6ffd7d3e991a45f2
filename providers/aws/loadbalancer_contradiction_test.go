package aws

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// The list of target groups shows a load balancer that is being deleted, the
// list of load balancers does not: both are read again instead of an error.
func TestUserOfARuleThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	first, second := two(sharedPort()...)
	b.ensure(first)
	b.ensure(second)
	b.lb.NLB.Refresh()
	if _, err := b.lb.NLB.TargetGroups(t.Context()); err != nil {
		t.Fatal(err)
	}
	hold := simserver.NewHold()
	const deletes = "elbv2.DeleteLoadBalancer"
	b.Interceptor().Reset()
	b.Interceptor().Inject(deletes, simserver.Nth(1), hold.After)
	var wg sync.WaitGroup
	wg.Go(func() { b.remove(second) })
	if err := b.Interceptor().WaitFor(t.Context(), deletes, 1); err != nil {
		t.Fatal(err)
	}
	b.remove(first)
	hold.Release()
	wg.Wait()
	b.same(before)
}

// Nothing is concluded from tags of a load balancer that AWS does not find: it
// may have been created a moment ago.
func TestRuleIsKeptWithoutTagsOfItsUser(t *testing.T) {
	t.Parallel()
	for name, api := range map[string]string{"classic": "elb", "network": "elbv2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			options := sharedPort()
			if name == "classic" {
				options = []kubetest.ServiceOption{annotate(request.AnnotationSecurityGroups, b.openGroup("brought"))}
			}
			before := b.Leaks()
			first, second := two(options...)
			b.ensure(first)
			b.ensure(second)
			b.lb = b.controller()
			unknown := b.Interceptor().Inject(api+".DescribeTags", simserver.Always(), withoutLoadBalancer(apiName))
			if err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, first); !errors.Is(err, apierr.ErrConflict) {
				t.Errorf("got %v, want a conflict", err)
			}
			b.reachable(apiName)
			unknown.Remove()
			b.remove(first)
			b.reachable(apiName)
			b.remove(second)
			b.same(before)
		})
	}
}

// A load balancer that AWS lists, but whose tags it does not find, may exist: a
// process that has not synced its Service reports an error, and the next attempt
// deletes everything.
func TestClassicLoadBalancerWithoutTagsIsNotGone(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]func(*loadBalancerConfig){
		"rules of nodes": nil, "nodes left alone": {leaveNodes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			settings := append(settings, configuredGroup(b.openGroup("elb")))
			before := b.Leaks()
			b.lb = b.controller(settings...)
			svc := web()
			b.ensure(svc)
			rules := b.rules(b.seed.NodeGroup)
			b.lb = b.controller(settings...)
			b.Interceptor().Inject("elb.DescribeTags", simserver.Always(), withoutLoadBalancer(webName))
			if _, exists, err := b.lb.GetLoadBalancer(t.Context(), flagged, svc); !errors.Is(err, apierr.ErrConflict) {
				t.Errorf("got %t, %v, want a conflict", exists, err)
			}
			if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, apierr.ErrConflict) {
				t.Errorf("got %v, want a conflict", err)
			}
			if err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc); !errors.Is(err, apierr.ErrConflict) {
				t.Errorf("got %v, want a conflict", err)
			}
			if diff := cmp.Diff(rules, b.rules(b.seed.NodeGroup)); diff != "" {
				t.Errorf("rules of nodes: -before +after\n%s", diff)
			}
			b.Interceptor().Clear()
			b.remove(svc)
			b.same(before)
		})
	}
}

// withoutLoadBalancer is the effect that a load balancer is not found.
func withoutLoadBalancer(name string) simserver.Fault {
	refuse := sim.Error(http.StatusBadRequest, "LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '"+name+"'")

	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if strings.Contains(r.Form.Encode(), name) {
			refuse(w, r, apply)

			return
		}
		apply.ServeHTTP(w, r)
	}
}
