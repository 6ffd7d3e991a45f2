package classic

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestStepsThatRemoveAreMarked runs steps of every kind, also those that find
// something else than what was observed, and those that are not allowed to do it
// in place.
func TestStepsThatRemoveAreMarked(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	b := newFixture(t)
	run := func(steps change.Plan, tolerant bool) {
		t.Helper()
		env := b.env()
		for _, step := range steps {
			b.Interceptor().Reset()
			if err := step.Do(t.Context(), env); err != nil && !tolerant {
				t.Errorf("%s: %v", step, err)
			}
			covered[step.Kind] = true
			for call := range b.Writes() {
				if removal(call) && !step.Removes {
					t.Errorf("%s is made by a step that is not marked as one that removes: %s", call, step)
				}
			}
		}
	}
	subnets := b.subnets
	b.subnets = subnets[:1]
	first := b.groups[0]
	b.groups = append(b.groups, plan.Ref{ID: b.group("extra")})
	run(Diff(b.model(everything()), nil), false)
	b.resolveGroups()

	b.subnets = subnets[1:]
	b.groups = []plan.Ref{{ID: b.groupIDs[first.Key]}}
	b.nodes = append(b.nodes[1:], b.Cluster.AddNodes(1)...)
	after := web(kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolTCP, 8443),
		annotated(request.AnnotationSSLCert, certificate2), annotated(request.AnnotationSSLPorts, "443,8443"), annotated(request.AnnotationAdditionalTags, "team=core"))
	run(Diff(b.model(after), b.observe()), false)

	inPlace := web(kubetest.Port(v1.ProtocolTCP, 443), tls(certificate), annotated(request.AnnotationSSLPorts, "443"))
	denied := b.Interceptor().Inject("elb.SetLoadBalancerListenerSSLCertificate", simserver.Always(), sim.Denied())
	run(Diff(b.model(inPlace), b.observe()), false)
	denied.Remove()

	changed := web(kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolTCP, 9443))
	changed.Spec.Ports[0].NodePort = 31080
	run(Diff(b.model(changed), b.observe()), false)

	b.nodes = b.nodes[:2]
	run(Diff(b.model(web()), nil), true) // as if nothing existed
	run(Diff(nil, b.observe()), false)

	for _, kind := range awstest.StepKinds(t) {
		if !covered[kind] {
			t.Errorf("no step of kind %s ran", kind)
		}
	}
}

// The certificate of a listener is set in place even if nothing may be removed. A
// listener that would have to be replaced stays.
func TestCertificateIsOnlySetInPlaceIfNothingMayBeRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		denied bool
		want   string
	}{
		"allowed": {reason: "the certificate is set", want: certificate2},
		"denied":  {reason: "the listener is not replaced", denied: true, want: certificate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			b.ensure(web(tls(certificate)))
			b.resolveGroups()
			if c.denied {
				b.Interceptor().Inject("elb.SetLoadBalancerListenerSSLCertificate", simserver.Always(), sim.Denied())
			}
			b.Interceptor().Reset()
			after := web(tls(certificate2))
			err := Diff(b.model(after), b.observe()).Additions().Apply(t.Context(), b.env(), nil)
			if (err != nil) != c.denied {
				t.Errorf("error is %v", err)
			}
			if got := b.listener(443); got.Certificate != c.want || b.Interceptor().Count("elb.DeleteLoadBalancerListeners") > 0 {
				t.Errorf("%s, but it is %+v", c.reason, got)
			}
			b.ensure(after)
			b.upToDate(after)
		})
	}
}
