package openstack

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// ported returns a Service with these ports only.
func ported(ports ...kubetest.ServiceOption) kubetest.ServiceOption {
	return func(svc *v1.Service) {
		svc.Spec.Ports = nil
		for _, port := range ports {
			port(svc)
		}
	}
}

// TestLoadBalancerKinds (OS-LB-7, OS-LB-22): whatever settings a Service has, a sync after a
// restart and an update with the same Nodes write nothing.
func TestLoadBalancerKinds(t *testing.T) {
	t.Parallel()
	const managed = "[LoadBalancer]\nmanage-security-groups = true\n"
	cases := map[string]struct {
		reason  string
		options openstack.Options
		config  func(*balanced) string
		service []kubetest.ServiceOption
	}{
		"one port with two protocols": {
			reason: "HTTP is for TCP ports only",
			service: []kubetest.ServiceOption{
				ported(kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolUDP, 443), kubetest.Port(v1.ProtocolSCTP, 443)),
				annotate(request.AnnotationXForwardedFor, "true"),
			},
		},
		"PROXY protocol beside UDP": {
			reason: "the PROXY protocol is for TCP ports only",
			service: []kubetest.ServiceOption{
				ported(kubetest.Port(v1.ProtocolTCP, 53), kubetest.Port(v1.ProtocolUDP, 53)), annotate(request.AnnotationProxyProtocol, "v2"),
			},
		},
		"local traffic of OVN": {
			reason: "OVN has no ports for health checks", options: openstack.Options{Profile: openstack.OVN},
			config: func(*balanced) string { return "[LoadBalancer]\nlb-provider = ovn\ncreate-monitor = true\n" },
			service: []kubetest.ServiceOption{
				ported(kubetest.Port(v1.ProtocolTCP, 53), kubetest.Port(v1.ProtocolUDP, 53)), kubetest.LocalTraffic(32000),
			},
		},
		"local traffic of UDP": {
			reason: "members have a port for health checks", options: openstack.Options{OctaviaMinor: 15},
			config:  func(*balanced) string { return "[LoadBalancer]\ncreate-monitor = true\n" },
			service: []kubetest.ServiceOption{ported(kubetest.Port(v1.ProtocolUDP, 53)), kubetest.LocalTraffic(32000)},
		},
		"class without subnet": {
			reason: "the subnet of the members is found by the Nodes",
			config: func(b *balanced) string {
				return managed + fmt.Sprintf("[LoadBalancerClass \"gold\"]\nfloating-network-id = %s\n", b.external)
			},
			service: []kubetest.ServiceOption{annotate(request.AnnotationClass, "gold")},
		},
		"network alone": {
			reason: "members have no subnet, and the group allows that of the VIP",
			config: func(b *balanced) string { return managed + "network-id = " + b.network + "\n" },
		},
		"serial, local traffic": {
			reason: "members that are written alone have a port for health checks",
			config: func(b *balanced) string {
				return "[LoadBalancer]\ncreate-monitor = true\nprovider-requires-serial-api-calls = true\nmember-subnet-id = " + b.subnet + "\n"
			},
			service: []kubetest.ServiceOption{kubetest.LocalTraffic(32000)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.options.StaleReads = new(openstack.StaleReads) // writes are counted
			b := balanceIn(t, tc.options, "")
			config := ""
			if tc.config != nil {
				config = tc.config(b)
			}
			b.start(config)
			svc := b.create(web(tc.service...))
			if err := b.sync(svc); err != nil && again(err) < minRetryAfter {
				t.Errorf("%s: sync: %v", tc.reason, err)
			}
			svc = b.ensure(svc)
			for _, port := range svc.Spec.Ports {
				if got := b.ServedBy(b.address(svc), string(port.Protocol), int(port.Port)); len(got) != len(b.nodes) {
					t.Errorf("%s: %s port %d is served by %v", tc.reason, port.Protocol, port.Port, got)
				}
			}
			b.untouched(tc.reason, func() {
				b.ensure(svc)
				b.start(config)
				b.ensure(svc)
				if err := b.update(svc, b.nodes...); err != nil {
					t.Errorf("update: %v", err)
				}
			})
			must(t, b.remove(svc))
			b.nothingLeft()
		})
	}
}
