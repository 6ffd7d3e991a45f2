package service

import (
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Port is a port of a Service.
type Port struct {
	// Name is empty if the Service has only one port.
	Name     string
	Protocol v1.Protocol
	Port     int32
	// NodePort is 0 if the Service does not allocate node ports.
	NodePort int32
}

// Ports returns the ports of a Service in the same order, each with a protocol. A
// Service without ports is an error that means apierr.ErrInvalid.
func Ports(svc *v1.Service) ([]Port, error) {
	if len(svc.Spec.Ports) == 0 {
		return nil, apierr.Mark(apierr.ErrInvalid, errors.New("the service has no ports"))
	}
	ports := make([]Port, 0, len(svc.Spec.Ports))
	for _, p := range svc.Spec.Ports {
		port := Port{Name: p.Name, Protocol: p.Protocol, Port: p.Port, NodePort: p.NodePort}
		if port.Protocol == "" {
			port.Protocol = v1.ProtocolTCP
		}
		ports = append(ports, port)
	}

	return ports, nil
}
