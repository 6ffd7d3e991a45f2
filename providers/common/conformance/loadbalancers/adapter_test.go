package loadbalancers

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// TestLeftOut proves that a case is left out only for what is declared, and that a
// a refusal case replaces it where there is one.
func TestLeftOut(t *testing.T) {
	t.Parallel()

	without := func(c Capabilities) func(*Adapter) {
		return func(s *Adapter) { s.Without = c }
	}
	want := map[string]struct {
		change func(*Adapter)
		names  []string // cases left out now
		comes  []string // cases that are not left out any more
	}{
		"Affinity": {
			without(Capabilities{Affinity: true, RequestedIP: true}),
			[]string{"clients are kept at their node"},
			[]string{"refused: session affinity"},
		},
		"MixedProtocols": {
			without(Capabilities{MixedProtocols: true, RequestedIP: true}),
			[]string{"ports of several protocols are balanced"},
			[]string{"refused: ports of several protocols"},
		},
		"RequestedIP": {without(Capabilities{}), []string{"refused: a requested address"}, nil},
		"SourceRanges": {
			without(Capabilities{SourceRanges: true, RequestedIP: true}),
			harness.Select(kindCases(), "source ranges"), nil,
		},
		"LocalTraffic": {
			without(Capabilities{LocalTraffic: true, RequestedIP: true}),
			[]string{"the healthCheckNodePort is checked when traffic is local"},
			nil,
		},
		"ColdStart": {
			without(Capabilities{ColdStart: true, RequestedIP: true}), harness.Select(failureCases(), "from the start"), nil,
		},
		"Throttling": {
			without(Capabilities{Throttling: true, RequestedIP: true}), harness.Select(suite().Cases, "throttl"), nil,
		},
		"FaultInjection": {
			without(Capabilities{FaultInjection: true, RequestedIP: true}), harness.Select(faultCases()), nil,
		},
		"Internal":  {func(s *Adapter) { s.Internal = nil }, []string{"an internal Service gets an internal load balancer"}, nil},
		"Edited":    {func(s *Adapter) { s.Edited = nil }, []string{"annotations edited before the deletion leave nothing"}, nil},
		"Refused":   {func(s *Adapter) { s.Refused = nil }, []string{"refused: invalid annotations"}, nil},
		"Unmanaged": {func(s *Adapter) { s.Unmanaged = nil }, []string{"a Service left to another controller is left alone"}, nil},
		"SCTP": {
			func(s *Adapter) { s.Protocols = []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP} },
			[]string{"SCTP is balanced"},
			[]string{"refused: ports of protocol SCTP"},
		},
	}
	left := func(s Adapter) map[string]bool {
		names := map[string]bool{}
		for _, c := range suite().Cases {
			if c.LeftOut != nil && c.LeftOut(s) {
				names[c.Name] = true
			}
		}

		return names
	}
	complete := build{}.adapter()
	before := left(complete)
	for name, tc := range want {
		suite := complete
		tc.change(&suite)
		after := left(suite)
		for _, gone := range tc.names {
			if before[gone] || !after[gone] {
				t.Errorf("%s: %q is left out: %t, without it %t", name, gone, before[gone], after[gone])
			}
		}
		for _, come := range tc.comes {
			if !before[come] || after[come] {
				t.Errorf("%s: %q is left out: %t, without it %t", name, come, before[come], after[come])
			}
		}
		if len(tc.names) == 0 || len(after)-len(before) != len(tc.names)-len(tc.comes) {
			t.Errorf("%s: %d cases are left out, %d without it", name, len(before), len(after))
		}
	}
}
