package request

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// readPorts reads the ports, which must be of the same protocol.
func (r *Request) readPorts(svc *v1.Service) error {
	var err error
	if r.Ports, err = service.Ports(svc); err != nil {
		return err
	}
	for _, port := range r.Ports[1:] {
		if port.Protocol != r.Ports[0].Protocol {
			return invalid("ports of different protocols (%s, %s) cannot share a load balancer", r.Ports[0].Protocol, port.Protocol)
		}
	}

	return nil
}

// servePorts returns the ports that can be served. A port without a node port
// cannot, and causes a warning.
func (r *Request) servePorts() ([]service.Warning, error) {
	var warnings []service.Warning
	var served []service.Port
	for _, port := range r.Ports {
		if !slices.Contains(r.protocols(), port.Protocol) {
			return nil, invalid("port %d: protocol %s is not supported by a %s load balancer", port.Port, port.Protocol, r.Kind)
		}
		if port.NodePort == 0 {
			warnings = append(warnings, service.Warn(PortSkipped, "Port %d is not served: it has no node port", port.Port))

			continue
		}
		served = append(served, port)
	}
	r.Ports = served

	return warnings, nil
}

// protocols returns the protocols that the kind of load balancer can serve.
func (r *Request) protocols() []v1.Protocol {
	if r.Kind == Network {
		return []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}
	}

	return []v1.Protocol{v1.ProtocolTCP}
}
