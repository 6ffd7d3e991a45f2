package network

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// The ways in which a call can fail for good: before it does anything, and after.
var crashes = map[string]func() front.Effect{
	"before": front.Drop,
	"after":  front.DropAnswer,
}

// TestCrashes ends a run at every one of its writes, in both ways. The next run
// has to come to the same end as one that had no faults, and deleting has to
// leave nothing.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason        string
		before, after *v1.Service
	}{
		"create": {
			reason: "AWS-TG-3: creating",
			after: web(annotated(request.AnnotationCrossZone, "true"),
				annotated(request.AnnotationTargetGroupAttributes, "proxy_protocol_v2.enabled=true")),
		},
		"change": {
			reason: "another target group, a port that changes hands, one port less",
			before: web(kubetest.Port(v1.ProtocolTCP, 53), kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolTCP, 8080)),
			after: web(kubetest.Port(v1.ProtocolTCP, 53), kubetest.Port(v1.ProtocolTCP, 443), kubetest.LocalTraffic(32000),
				annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationSSLPorts, "443")),
		},
		"protocol": {
			reason: "neither the listener nor the target group can stay",
			before: web(kubetest.Port(v1.ProtocolTCP, 53)), after: web(kubetest.Port(v1.ProtocolUDP, 53)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, writes := withoutFaults(t, c.before, c.after)
			for kind, crash := range crashes {
				for _, n := range writes {
					t.Run(fmt.Sprintf("%s call %d", kind, n), func(t *testing.T) {
						t.Parallel()
						b := newFixture(t, sim.Options{})
						if c.before != nil {
							b.ensure(c.before)
						}
						b.Gate().Break(front.Any, front.From(n), crash())
						if _, err := b.tryEnsure(c.after); err == nil {
							t.Fatal("nothing broke")
						}
						b.Gate().Mend()
						b.ensure(c.after)
						b.settled(c.after)
						if diff := cmp.Diff(want, b.Dump()); diff != "" {
							t.Errorf("%s: -without faults +with faults:\n%s", c.reason, diff)
						}
						b.remove(c.after)
						b.empty()
					})
				}
			}
		})
	}
}

// withoutFaults is the state after a run, and which of its calls are writes.
func withoutFaults(t *testing.T, before, after *v1.Service) (state string, writes []int) {
	t.Helper()
	b := newFixture(t, sim.Options{})
	if before != nil {
		b.ensure(before)
	}
	b.Gate().Reset()
	b.ensure(after)
	for i, call := range b.Gate().History() {
		if sim.Mutating(call.Op) {
			writes = append(writes, i+1)
		}
	}
	return b.Dump(), writes
}

// TestCrashedDelete ends a deletion at every one of its calls. Something is left
// as long as not all is done, and the next deletion leaves nothing.
func TestCrashedDelete(t *testing.T) {
	t.Parallel()
	for kind, crash := range crashes {
		for n := 1; n <= 6; n++ {
			t.Run(fmt.Sprintf("%s call %d", kind, n), func(t *testing.T) {
				t.Parallel()
				b := newFixture(t, sim.Options{})
				svc := web()
				b.ensure(svc)
				b.Gate().Break(front.Any, front.From(n), crash())
				if err := b.tryRemove(svc); err == nil {
					t.Fatal("nothing broke")
				}
				b.Gate().Mend()
				left := len(b.TargetGroups()) > 0
				if got := b.observe(svc).Left(); got != left {
					t.Errorf("AWS-DELETE-1: something left is %v, want %v", got, left)
				}
				b.remove(svc)
				b.empty()
				if b.observe(svc).Left() {
					t.Error("AWS-DELETE-1: something is left of nothing")
				}
			})
		}
	}
}

// TestCrashThenDelete ends a creation at every one of its calls. Deleting then
// leaves nothing, without another creation.
func TestCrashThenDelete(t *testing.T) {
	t.Parallel()
	for kind, crash := range crashes {
		for n := 3; n <= 9; n++ {
			t.Run(fmt.Sprintf("%s call %d", kind, n), func(t *testing.T) {
				t.Parallel()
				b := newFixture(t, sim.Options{})
				svc := web()
				b.Gate().Break(front.Any, front.From(n), crash())
				if _, err := b.tryEnsure(svc); err == nil {
					t.Fatal("nothing broke")
				}
				b.Gate().Mend()
				b.remove(svc)
				b.empty()
			})
		}
	}
}

// TestHidden has new things stay unseen for a while, as AWS does, and the process
// die meanwhile.
func TestHidden(t *testing.T) {
	t.Parallel()
	want, writes := withoutFaults(t, nil, web())
	for _, n := range writes {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			b.SetConsistency(sim.Consistency{Reads: 2})
			b.Gate().Break(front.Any, front.From(n), front.DropAnswer())
			if _, err := b.tryEnsure(web()); err == nil {
				t.Fatal("nothing broke")
			}
			b.Gate().Mend()
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
