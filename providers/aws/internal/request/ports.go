package request

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// oneProtocol demands ports, all of the same protocol.
func oneProtocol(ports []v1.ServicePort) error {
	if len(ports) == 0 {
		return invalid("the service has no ports")
	}
	for _, port := range ports[1:] {
		if protocolOf(port) != protocolOf(ports[0]) {
			return invalid("ports of different protocols (%s, %s) cannot share a load balancer", protocolOf(ports[0]), protocolOf(port))
		}
	}
	return nil
}

// readPorts takes the ports that can be served. One without a node port cannot,
// and is a warning.
func (r *Request) readPorts(ports []v1.ServicePort) ([]service.Warning, error) {
	var warnings []service.Warning
	for _, port := range ports {
		if !slices.Contains(r.protocols(), protocolOf(port)) {
			return nil, invalid("port %d: protocol %s cannot be had with a %s load balancer", port.Port, protocolOf(port), r.Kind)
		}
		if port.NodePort == 0 {
			warnings = append(warnings, service.Warn(PortSkipped, "Port %d is not served: it has no node port", port.Port))
			continue
		}
		r.Ports = append(r.Ports, Port{Name: port.Name, Protocol: protocolOf(port), Port: port.Port, NodePort: port.NodePort})
	}
	return warnings, nil
}

// protocols are those that the kind of load balancer can serve.
func (r *Request) protocols() []v1.Protocol {
	if r.Kind == Network {
		return []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}
	}
	return []v1.Protocol{v1.ProtocolTCP}
}

func protocolOf(port v1.ServicePort) v1.Protocol {
	if port.Protocol == "" {
		return v1.ProtocolTCP
	}
	return port.Protocol
}
