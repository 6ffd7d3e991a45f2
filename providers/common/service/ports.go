package service

import (
	"cmp"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
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

	return lists.Map(svc.Spec.Ports, func(p v1.ServicePort) Port {
		return Port{Name: p.Name, Protocol: cmp.Or(p.Protocol, v1.ProtocolTCP), Port: p.Port, NodePort: p.NodePort}
	}), nil
}
