package network

import (
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// drawn is how many Services are drawn: each is a lot of calls.
const drawn = 24

// TestAlwaysConverges changes a Service again and again. After each run there is
// nothing left to do, and after deleting nothing is left (AWS-LB-14, FW-LB-4).
func TestAlwaysConverges(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	services := rapid.Custom(drawService)
	for seed := range drawn {
		svc := services.Example(seed)
		b.ensure(svc)
		b.upToDate(svc)
		if len(b.TargetGroups()) != len(svc.Spec.Ports) || len(b.network().Listeners) != len(svc.Spec.Ports) {
			t.Errorf("%d ports have the listeners %v and the target groups %v",
				len(svc.Spec.Ports), b.network().Listeners, b.TargetGroups())
		}
		if t.Failed() {
			t.Fatalf("Service %d: %+v, annotations %v", seed, svc.Spec, svc.Annotations)
		}
	}
	b.remove(web())
	b.empty()
}

// drawService draws a Service with one to three ports.
func drawService(r *rapid.T) *v1.Service {
	protocol := rapid.SampledFrom([]v1.Protocol{v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolUDP}).Draw(r, "protocol")
	var options []kubetest.ServiceOption
	for _, port := range rapid.SliceOfNDistinct(rapid.Int32Range(443, 446), 1, 3, rapid.ID).Draw(r, "ports") {
		options = append(options, kubetest.Port(protocol, port))
	}
	maybe := func(name string, option kubetest.ServiceOption) {
		if rapid.Bool().Draw(r, name) {
			options = append(options, option)
		}
	}
	maybe("local", kubetest.LocalTraffic(32000))
	maybe("tls", annotated(request.AnnotationSSLCert, certificate))
	maybe("tls port", annotated(request.AnnotationSSLPorts, "443,445"))
	maybe("ssl", annotated(request.AnnotationBackendProtocol, "ssl"))
	maybe("interval", annotated(request.AnnotationHealthCheckInterval, strconv.Itoa(rapid.IntRange(10, 12).Draw(r, "seconds"))))
	maybe("http", annotated(request.AnnotationHealthCheckProtocol, "http"))
	maybe("timeout", annotated(request.AnnotationHealthCheckTimeout, "6"))
	maybe("cross zone", annotated(request.AnnotationCrossZone, "true"))
	maybe("proxy", annotated(request.AnnotationTargetGroupAttributes, "proxy_protocol_v2.enabled=true"))
	svc := web(options...)
	// Node ports move between the ports.
	shift := rapid.Int32Range(0, 2).Draw(r, "shift")
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].NodePort = 30443 + (svc.Spec.Ports[i].Port-443+shift)%4
	}

	return svc
}
