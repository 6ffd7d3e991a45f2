package classic

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// removal reports whether a call removes a setting or resource.
func removal(call string) bool {
	for _, verb := range []string{"Delete", "Deregister", "Detach"} {
		if strings.HasPrefix(call, "elb."+verb) {
			return true
		}
	}

	return false
}

// TestAdditionsTakeNothingAway applies the additions of a plan that changes
// everything: AWS accepts them, and what there was stays.
func TestAdditionsTakeNothingAway(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	subnets := b.subnets
	b.subnets = subnets[:1]
	first := b.groups[0]
	b.groups = append(b.groups, plan.Ref{ID: b.group("extra")})
	b.ensure(everything())
	b.resolveGroups()
	before := b.observe()

	b.subnets = subnets[1:]
	b.groups = []plan.Ref{{ID: b.groupIDs[first.Key]}}
	b.nodes = append(b.nodes[1:], b.Cluster.AddNodes(1)...)
	after := web(kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolTCP, 8443),
		annotated(request.AnnotationInternal, "true"), annotated(request.AnnotationSSLCert, certificate),
		annotated(request.AnnotationSSLPorts, "443,8443"), annotated(request.AnnotationAdditionalTags, "team=core"))
	after.Spec.Ports[0].NodePort = 31080
	steps := Diff(b.model(after), before)
	b.Interceptor().Reset()
	if err := steps.Additions().Apply(t.Context(), b.env(), nil); err != nil {
		t.Fatalf("the additions of\n%s: %v", steps, err)
	}
	for call := range b.Writes() {
		if removal(call) {
			t.Errorf("%s was called", call)
		}
	}

	seen := b.observe()
	for what, lost := range map[string][]string{
		"instances":       lists.Without(before.Instances, seen.Instances),
		"subnets":         lists.Without(before.Subnets, seen.Subnets),
		"security groups": lists.Without(before.SecurityGroups, seen.SecurityGroups),
		"policies":        lists.Without(before.BackendPolicies[30443], seen.BackendPolicies[30443]),
	} {
		if len(lost) > 0 {
			t.Errorf("%s %v were lost", what, lost)
		}
	}
	for _, listener := range before.Listeners {
		found := false
		for _, other := range seen.Listeners {
			found = found || listener.same(other) && len(lists.Without(listener.Policies, other.Policies)) == 0
		}
		if !found {
			t.Errorf("listener %s was lost", listener)
		}
	}
	if len(seen.Instances) != len(before.Instances)+1 || seen.Tags["team"] != "core" || len(seen.Subnets) == len(before.Subnets) {
		t.Errorf("what is missing was not added: %+v", seen)
	}
	b.ensure(after)
	b.upToDate(after)
}

// TestDependentStepsAreNoAdditions checks that a step which AWS rejects until
// another one has removed something is not run without that one.
func TestDependentStepsAreNoAdditions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason     string
		have, want []Listener
		proxy      bool
		additions  string
	}{
		"replaced": {
			reason:    "a port has one listener at a time, and its policy needs it",
			have:      []Listener{{Port: 443, Protocol: "TCP"}},
			want:      []Listener{{Port: 443, Protocol: "SSL", Policies: []string{negotiationPrefix + tlsPolicy}}},
			additions: "create policy " + negotiationPrefix + tlsPolicy + " of load balancer web: Reference-Security-Policy=" + tlsPolicy + "\n",
		},
		"replaced, with proxy": {
			reason:    "the policy of an instance port needs a listener that sends to it",
			have:      []Listener{{Port: 443, Protocol: "TCP", InstancePort: 30443}},
			want:      []Listener{{Port: 443, Protocol: "TCP", InstancePort: 31443}},
			proxy:     true,
			additions: "create policy k8s-proxyprotocol-enabled of load balancer web: ProxyProtocol=true\n",
		},
		"added": {
			reason:    "a listener on a port of its own",
			want:      []Listener{{Port: 80, Protocol: "TCP", InstancePort: 30080, InstanceProtocol: "TCP"}},
			additions: "create listeners of load balancer web: " + Listener{Port: 80, Protocol: "TCP", InstancePort: 30080, InstanceProtocol: "TCP"}.String() + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := Diff(&Model{Name: "web", Listeners: c.want, ProxyProtocol: c.proxy}, &LoadBalancer{Name: "web", Listeners: c.have})
			if got := steps.Additions().String(); got != c.additions {
				t.Errorf("%s: got %q of\n%s", c.reason, got, steps)
			}
		})
	}
}
