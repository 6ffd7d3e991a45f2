package network

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws/faulttest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestCrashes interrupts operations at every one of their calls, before it is
// applied and after. The next run has to reach the same end as without faults,
// and deleting has to leave nothing.
func TestCrashes(t *testing.T) {
	t.Parallel()
	ensure := func(b *fixture, svc *v1.Service) error {
		_, err := b.tryEnsure(svc)

		return err
	}
	recovered := func(b *fixture, svc *v1.Service) {
		b.ensure(svc)
		b.upToDate(svc)
	}
	for name, c := range map[string]struct {
		reason        string
		before, after *v1.Service
		operate       func(b *fixture, svc *v1.Service) error
		recover       func(b *fixture, svc *v1.Service)
	}{
		"create": {
			reason: "AWS-TG-3: a creation is completed",
			after: web(annotated(request.AnnotationCrossZone, "true"),
				annotated(request.AnnotationTargetGroupAttributes, "proxy_protocol_v2.enabled=true")),
			operate: ensure, recover: recovered,
		},
		"change": {
			reason: "another target group, a port of another protocol, one port less",
			before: web(kubetest.Port(v1.ProtocolTCP, 53), kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolTCP, 8080)),
			after: web(kubetest.Port(v1.ProtocolTCP, 53), kubetest.Port(v1.ProtocolTCP, 443), kubetest.LocalTraffic(32000),
				annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationSSLPorts, "443")),
			operate: ensure, recover: recovered,
		},
		"protocol": {
			reason: "neither the listener nor the target group can stay",
			before: web(kubetest.Port(v1.ProtocolTCP, 53)), after: web(kubetest.Port(v1.ProtocolUDP, 53)),
			operate: ensure, recover: recovered,
		},
		"delete": {
			reason: "a load balancer exists as long as something is left",
			before: web(), after: web(),
			operate: (*fixture).tryRemove,
			recover: func(b *fixture, svc *v1.Service) {
				left := len(b.TargetGroups()) > 0
				if got := b.observe(svc).Left(); got != left {
					b.t.Errorf("AWS-DELETE-1: something left is %v, want %v", got, left)
				}
				b.remove(svc)
				if b.observe(svc).Left() {
					b.t.Error("AWS-DELETE-1: something is left of nothing")
				}
			},
		},
		"create, then delete": {
			reason: "a creation is cleaned up without another creation",
			after:  web(), operate: ensure, recover: (*fixture).remove,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var baseline []simserver.Call
			explorer := explore.Explorer{Strict: true, Begin: func(t testing.TB, call int) explore.Run {
				b := newFixture(t, sim.Options{})
				if c.before != nil {
					b.ensure(c.before)
				}
				b.Interceptor().Reset()
				t.Cleanup(func() {
					b.remove(c.after)
					b.empty()
				})

				return explore.Run{
					Cloud: faulttest.New(b.Cloud),
					Operate: func(context.Context) error {
						err := c.operate(b, c.after)
						if call == 0 {
							baseline = b.Interceptor().History()
						}

						return err
					},
					Next: []explore.Process{{Recover: func() { c.recover(b, c.after) }}},
				}
			}}
			explorer.Writes = func(call int) bool { return sim.Mutating(baseline[call-1].Op) }
			for _, fault := range []explore.Fault{explore.Dropped, explore.Lost} {
				explorer.Sweep(t, explore.Injection{Fault: fault}, explore.Spread{})
			}
			t.Logf("%s: %d outcomes", c.reason, explorer.Outcomes())
		})
	}
}

// withoutFaults is the state after a run, and which of its calls are writes.
func withoutFaults(t *testing.T, svc *v1.Service) (state string, writes []int) {
	t.Helper()
	b := newFixture(t, sim.Options{})
	b.Interceptor().Reset()
	b.ensure(svc)
	for i, call := range b.Interceptor().History() {
		if sim.Mutating(call.Op) {
			writes = append(writes, i+1)
		}
	}

	return b.Dump(), writes
}

// TestHidden delays the visibility of new resources, as AWS does, while the
// process ends.
func TestHidden(t *testing.T) {
	t.Parallel()
	want, writes := withoutFaults(t, web())
	for _, n := range writes {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			b.SetConsistency(sim.Consistency{Reads: 2})
			b.Interceptor().Inject(simserver.Any, simserver.From(n), simserver.DropResponse())
			if _, err := b.tryEnsure(web()); err == nil {
				t.Fatal("no call failed")
			}
			b.Interceptor().Clear()
			b.SetConsistency(sim.Consistency{})
			model, _ := b.model(web())
			for try := 0; len(planFor(model, b.observe(web()))) > 0; try++ {
				if _, err := b.tryEnsure(web()); try == 10 {
					t.Fatalf("after %d tries: error %v, state\n%s", try, err, b.Dump())
				}
			}
			if diff := cmp.Diff(want, b.Dump()); diff != "" {
				t.Errorf("-without faults +with faults:\n%s", diff)
			}
			b.remove(web())
			b.empty()
		})
	}
}
