package service

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

func TestPorts(t *testing.T) {
	t.Parallel()
	svc := kubetest.Service("default", "web", kubetest.Port(v1.ProtocolUDP, 53), kubetest.Port(v1.ProtocolTCP, 80))
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Port: 443})
	got, err := Ports(svc)
	want := []Port{
		{Name: "udp-53", Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053},
		{Name: "tcp-80", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
		{Protocol: v1.ProtocolTCP, Port: 443},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("in order, by default TCP, without a node port too: %v, %s", err, diff)
	}
	svc.Spec.Ports = nil
	if _, err := Ports(svc); !errors.Is(err, apierr.ErrInvalid) || err.Error() != "the service has no ports" {
		t.Errorf("without ports: got %v", err)
	}
}
