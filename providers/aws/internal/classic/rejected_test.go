package classic

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	// noCertificate is the ARN of a certificate that does not exist.
	noCertificate = "arn:aws:acm:us-west-2:123456789012:certificate"
	certificate2  = certificate + "-2"
)

// tls are the annotations for TLS on port 443.
func tls(certificate string) kubetest.ServiceOption {
	return func(svc *v1.Service) {
		annotated(request.AnnotationSSLCert, certificate)(svc)
		annotated(request.AnnotationSSLPorts, "443")(svc)
	}
}

// listener returns the listener on a port, which must be there.
func (b *fixture) listener(port int32) sim.ClassicListener {
	b.t.Helper()
	for _, listener := range b.classic().Listeners {
		if listener.Port == port {
			return listener
		}
	}
	b.t.Fatalf("there is no listener on port %d", port)

	return sim.ClassicListener{}
}

func TestBadCertificateKeepsTheListenerServing(t *testing.T) {
	t.Parallel()
	proxy := annotated(request.AnnotationProxyProtocol, "*")
	for name, c := range map[string]struct {
		reason string
		before *v1.Service
		// serves is whether port 443 serves before.
		serves bool
	}{
		"TCP to SSL":             {reason: "the old listener is restored", before: web(), serves: true},
		"TCP to SSL, with proxy": {reason: "the policies of its instance port are as before", before: web(proxy), serves: true},
		"SSL to SSL":             {reason: "the certificate stays", before: web(tls(certificate)), serves: true},
		"SSL to SSL, with policy": {
			reason: "the policy of the listener stays", serves: true,
			before: web(tls(certificate), annotated(request.AnnotationSSLPolicy, tlsPolicy)),
		},
		"new port":          {reason: "the other new port is served", before: web(kubetest.Port(v1.ProtocolTCP, 8080))},
		"new load balancer": {reason: "the other port is served"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			var before sim.ClassicListener
			var backend []string
			if c.before != nil {
				b.ensure(c.before)
				b.resolveGroups()
			}
			if c.serves {
				before, backend = b.listener(443), b.classic().BackendPolicies[30443]
			}
			b.nodes = append(b.nodes, b.Cluster.AddNodes(1)...)
			after := web(tls(noCertificate))
			if c.before != nil && c.before.Annotations[string(request.AnnotationProxyProtocol)] != "" {
				proxy(after)
			}
			after.Spec.Ports[0].NodePort = 31080
			_, err := b.try(t.Context(), after)
			if !errors.Is(err, apierr.ErrNotFound) || strings.Contains(err.Error(), "not known yet") || strings.Contains(err.Error(), "restore") {
				t.Errorf("the certificate is the only error: %v", err)
			}
			if c.serves {
				if diff := cmp.Diff(before, b.listener(443)); diff != "" {
					t.Errorf("%s: -want +got:\n%s", c.reason, diff)
				}
				if diff := cmp.Diff(backend, b.classic().BackendPolicies[30443]); diff != "" {
					t.Errorf("%s: -want +got:\n%s", c.reason, diff)
				}
			}
			if got := b.listener(80); got.InstancePort != 31080 {
				t.Errorf("%s: port 80 is %+v", c.reason, got)
			}
			if got := len(b.classic().Instances); got != len(b.nodes) {
				t.Errorf("%d instances, want %d", got, len(b.nodes))
			}
			b.resolveGroups()
			after.Annotations[string(request.AnnotationSSLCert)] = certificate2
			b.ensure(after)
			b.upToDate(after)
		})
	}
}

// TestAllListenersOfANewLoadBalancerAreRejected has AWS reject all listeners.
func TestAllListenersOfANewLoadBalancerAreRejected(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, err := b.try(t.Context(), web(annotated(request.AnnotationSSLCert, noCertificate)))
	if !errors.Is(err, apierr.ErrNotFound) || !strings.Contains(err.Error(), "80/SSL") || !strings.Contains(err.Error(), "443/SSL") {
		t.Errorf("error is %v, want one for each listener", err)
	}
	if writes := b.Writes(); len(writes) > 0 && writes["elb.CreateLoadBalancer"] != 3 {
		t.Errorf("calls after a load balancer could not be created: %v", writes)
	}
	b.empty()
}

// TestRestoringFails has AWS reject both listeners: the error names both.
func TestRestoringFails(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.ensure(web())
	b.resolveGroups()
	b.Interceptor().Inject("elb.CreateLoadBalancerListeners", simserver.Always(), sim.Denied())
	_, err := b.try(t.Context(), web(tls(certificate)))
	if !errors.Is(err, apierr.ErrDenied) || !strings.Contains(err.Error(), "restore listeners 443/TCP") {
		t.Errorf("error is %v", err)
	}
	b.Interceptor().Clear()
	b.ensure(web(tls(certificate)))
	b.upToDate(web(tls(certificate)))
}

// TestReplacementsAreIsolated has AWS reject one of two.
func TestReplacementsAreIsolated(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.ensure(web())
	b.resolveGroups()
	after := web(annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationSSLPolicy, tlsPolicy))
	b.Interceptor().Inject("elb.CreateLoadBalancerListeners", simserver.Nth(1), sim.Denied())
	_, err := b.try(t.Context(), after)
	if !errors.Is(err, apierr.ErrDenied) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v, want one", err)
	}
	if first, second := b.listener(80), b.listener(443); first.Protocol != "TCP" || second.Protocol != "SSL" ||
		!slices.Contains(second.Policies, negotiationPrefix+tlsPolicy) {
		t.Errorf("listeners are %+v and %+v", first, second)
	}
	b.ensure(after)
	b.upToDate(after)
}

// TestListenersThatExcludeEachOther changes which front port sends to an instance
// port, and whether it encrypts, at once.
func TestListenersThatExcludeEachOther(t *testing.T) {
	t.Parallel()
	encrypts := annotated(request.AnnotationBackendProtocol, "ssl")
	exchanged := web(tls(certificate), encrypts)
	exchanged.Spec.Ports[0].NodePort, exchanged.Spec.Ports[1].NodePort = 30443, 30080
	moved := web(kubetest.Port(v1.ProtocolTCP, 8443), annotated(request.AnnotationSSLCert, certificate), encrypts)
	moved.Spec.Ports[0].NodePort = 30443
	for name, c := range map[string]struct {
		reason        string
		before, after *v1.Service
		// fails means that the first sync fails.
		fails bool
	}{
		"exchanged": {reason: "both listeners are replaced in one step", before: web(tls(certificate), encrypts), after: exchanged},
		"moved":     {reason: "the one on another port goes first in the next sync", before: web(kubetest.Port(v1.ProtocolTCP, 443)), after: moved, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			b.ensure(c.before)
			b.resolveGroups()
			before := b.classic().Listeners
			b.Interceptor().Inject("elb.CreateLoadBalancerListeners", simserver.Nth(1), sim.Denied())
			if _, err := b.try(t.Context(), c.after); !errors.Is(err, apierr.ErrDenied) {
				t.Errorf("error is %v", err)
			}
			if diff := cmp.Diff(before, b.classic().Listeners); diff != "" {
				t.Errorf("%s: errors, -want +got:\n%s", c.reason, diff)
			}
			if c.fails {
				if _, err := b.try(t.Context(), c.after); err == nil {
					t.Errorf("%s: no error", c.reason)
				}
			}
			b.ensure(c.after)
			b.upToDate(c.after)
		})
	}
}

// listenerQuota is the default quota of listeners of a load balancer, see
// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-limits.html
const listenerQuota = 100

// TestPortsChangeWhenThereIsNoRoom (AWS-NLB-10) has more listeners than every account can
// have, before and after.
func TestPortsChangeWhenThereIsNoRoom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		quota  int
		writes []string
	}{
		"default quota": {
			reason: "once the new ones are refused, the old ones go first",
			writes: []string{"elb.DeleteLoadBalancerListeners", "elb.CreateLoadBalancerListeners"},
		},
		"raised quota": {
			reason: "the new ones are added first", quota: 2 * listenerQuota,
			writes: []string{"elb.CreateLoadBalancerListeners", "elb.DeleteLoadBalancerListeners", "elb.ConfigureHealthCheck"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			b.ensure(many(1000))
			b.resolveGroups()
			b.SetQuotas(sim.Quotas{ClassicListeners: c.quota})
			if c.quota == 0 {
				if _, err := b.try(t.Context(), many(2000)); err == nil {
					t.Errorf("%s: no error", c.reason)
				}
			}
			b.Interceptor().Reset()
			b.ensure(many(2000))
			var writes []string
			for _, call := range b.Interceptor().History() {
				if sim.Mutating(call.Op) {
					writes = append(writes, call.Op)
				}
			}
			if diff := cmp.Diff(c.writes, writes); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			b.upToDate(many(2000))
		})
	}
}

// many is a Service with as many ports as every account can have.
func many(first int32) *v1.Service {
	options := make([]kubetest.ServiceOption, 0, listenerQuota)
	for i := range int32(listenerQuota) {
		options = append(options, kubetest.Port(v1.ProtocolTCP, first+i))
	}

	return web(options...)
}
