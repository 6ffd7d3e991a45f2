package classic

import (
	"strings"
	"testing"
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
