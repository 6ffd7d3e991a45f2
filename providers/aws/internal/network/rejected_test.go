package network

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// noCertificate is the ARN of a certificate that does not exist.
const noCertificate = "arn:aws:acm:us-west-2:123456789012:certificate"

// listener returns the listener on a port, which must be there.
func (b *fixture) listener(port int32) sim.NetworkListener {
	b.t.Helper()
	for _, listener := range b.network().Listeners {
		if listener.Port == port {
			return listener
		}
	}
	b.t.Fatalf("there is no listener on port %d", port)

	return sim.NetworkListener{}
}

// behind returns the IDs of the targets behind a listener, sorted.
func (b *fixture) behind(port int32) []string {
	b.t.Helper()
	arn, ids := b.listener(port).TargetGroup, []string{}
	for _, group := range b.TargetGroups() {
		if group.ARN != arn && group.Name != arn {
			continue
		}
		for _, target := range group.Targets {
			ids = append(ids, target.ID)
		}
	}
	slices.Sort(ids)

	return ids
}

func TestBadCertificateKeepsTheListenerServing(t *testing.T) {
	t.Parallel()
	tls := func(certificate string) kubetest.ServiceOption {
		return annotated(request.AnnotationSSLCert, certificate)
	}
	only443 := annotated(request.AnnotationSSLPorts, "443")
	for name, c := range map[string]struct {
		reason string
		before *v1.Service
		want   string
	}{
		"TCP to TLS":   {reason: "the protocol stays", before: web(), want: "TCP"},
		"TLS to TLS":   {reason: "the certificate stays", before: web(tls(certificate), only443), want: "TLS"},
		"new port":     {reason: "another port is served", before: web(kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 8080))},
		"from nothing": {reason: "another port is served"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			if c.before != nil {
				b.ensure(c.before)
			}
			b.Interceptor().Reset()
			after := web(tls(noCertificate), only443)
			after.Spec.Ports[0].NodePort = 31080
			_, err := b.tryEnsure(after)
			if !errors.Is(err, apierr.ErrNotFound) || !strings.Contains(err.Error(), "443/TLS") || strings.Contains(err.Error(), "not known yet") {
				t.Errorf("the certificate is the only error: %v", err)
			}
			if b.Interceptor().Count("elbv2.DeleteListener") > 0 {
				t.Error("a listener was deleted")
			}
			if c.want != "" {
				if got := b.listener(443); got.Protocol != c.want || len(b.behind(443)) != len(b.nodes) {
					t.Errorf("%s: got %+v with targets %v", c.reason, got, b.behind(443))
				}
			}
			group := b.observe(after).TargetGroups
			if i := slices.IndexFunc(group, func(g GroupState) bool { return g.Port == 31080 }); i < 0 || !group[i].Attached {
				t.Errorf("%s: port 80 is not served from its new node port: %+v", c.reason, group)
			}

			good := web(tls(certificate), only443)
			good.Spec.Ports[0].NodePort = 31080
			b.ensure(good)
			b.upToDate(good)
		})
	}
}

// TestProtocolChangeModifiesInPlace shows AWS-NLB-4.
func TestProtocolChangeModifiesInPlace(t *testing.T) {
	t.Parallel()
	tls := []kubetest.ServiceOption{
		kubetest.Port(v1.ProtocolTCP, 53), annotated(request.AnnotationSSLCert, certificate),
		annotated(request.AnnotationSSLPolicy, "ELBSecurityPolicy-TLS13-1-3-2021-06"),
	}
	services := map[string]*v1.Service{
		"TCP": web(kubetest.Port(v1.ProtocolTCP, 53)), "UDP": web(kubetest.Port(v1.ProtocolUDP, 53)), "TLS": web(tls...),
	}
	for from, before := range services {
		for to, after := range services {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				b := newFixture(t, sim.Options{})
				b.ensure(before)
				arn := b.listener(53).ARN
				b.Interceptor().Reset()
				b.ensure(after)
				b.upToDate(after)
				got := b.listener(53)
				if got.ARN != arn || got.Protocol != to || (len(got.Certificates) > 0) != (to == "TLS") || (got.Policy != "") != (to == "TLS") {
					t.Errorf("listener is %+v", got)
				}
				want := 1
				if from == to {
					want = 0
				}
				if got := b.Interceptor().Count("elbv2.ModifyListener"); got != want || b.Interceptor().Count("elbv2.DeleteListener") > 0 {
					t.Errorf("%d calls modify it, want %d: %v", got, want, b.Writes())
				}
			})
		}
	}
}

// TestAdoptedListenerIsGone has a listener be gone when it is looked for.
func TestAdoptedListenerIsGone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	b.ensure(web(kubetest.Port(v1.ProtocolTCP, 443)))
	b.Interceptor().Inject("elbv2.CreateListener", simserver.Always(), sim.Error(http.StatusBadRequest, "DuplicateListener", "a listener exists"))
	step := createListener(connected{
		Listener: Listener{Port: 80, Protocol: "TCP"},
		balancer: named{lbName, plan.Ref{ID: b.network().ARN}}, group: named{"web", plan.Ref{ID: b.TargetGroups()[0].ARN}},
	}, nil)
	if err := step.Do(t.Context(), &change.Env{ELBV2: b.shared()}); !errors.Is(err, apierr.ErrConflict) {
		t.Errorf("error is %v, want a conflict that the next run solves", err)
	}
}

// FW-LB-5: targets that serve stay while their replacements are not accepted.
func TestTargetsStayWhileRegisteringFails(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.ensure(svc)
	served := b.TargetGroups()[0].Targets
	b.nodes = b.Cluster.AddNodes(3)
	rule := b.Interceptor().Inject("elbv2.RegisterTargets", simserver.Always(), sim.Denied())
	model, _ := b.model(svc)
	if err := planFor(model, b.observe(svc)).Apply(t.Context(), &change.Env{ELBV2: b.shared()}, nil); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(served, b.TargetGroups()[0].Targets); diff != "" {
		t.Errorf("targets were lost: -want +got:\n%s", diff)
	}
	rule.Remove()
	b.ensure(svc)
	if diff := cmp.Diff(len(b.nodes), len(b.TargetGroups()[0].Targets)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// FW-LB-7: a setting that AWS rejects keeps neither targets nor listeners from
// being as wanted.
func TestRejectedSettingFailsAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web(kubetest.Port(v1.ProtocolTCP, 443), annotated(request.AnnotationCrossZone, "true"))
	b.Interceptor().Inject("elbv2.ModifyLoadBalancerAttributes", simserver.Always(),
		sim.Error(400, "InvalidConfigurationRequest", "Access Denied for bucket: logs"))
	model, _ := b.model(svc)
	steps := append(planFor(model, b.observe(svc)), change.Step{Kind: "After", Text: "after", Do: func(context.Context, *change.Env) error {
		b.nodes = nil

		return nil
	}})
	if err := steps.Apply(t.Context(), &change.Env{ELBV2: b.shared()}, nil); err == nil {
		t.Error("the rejection must be an error")
	}
	if b.nodes != nil {
		t.Error("the steps that follow did not run")
	}
}
