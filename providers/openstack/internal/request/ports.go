package request

import (
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// storeBarbican is the container-store whose references are validated.
const storeBarbican = "barbican"

// readPorts reads the ports with their protocols:
//
//	                                listener            pool
//	TCP, UDP or SCTP                the same            the same
//	TCP with x-forwarded-for        HTTP                HTTP
//	TCP with TLS                    TERMINATED_HTTPS    HTTP
//	TCP with the PROXY protocol     as above            PROXY or PROXYV2
func (p *parser) readPorts() {
	r := p.request
	ports, err := service.Ports(p.svc)
	if err != nil {
		p.errs = append(p.errs, err)
	}
	forwarded := p.boolean(AnnotationXForwardedFor, false)
	proxy := p.proxyProtocol()
	if forwarded && proxy != "" {
		p.reject("annotations %s and %s cannot be used together", AnnotationProxyProtocol, AnnotationXForwardedFor)
	}
	if slices.ContainsFunc(ports, isTCP) {
		r.TLS, r.ProxyProtocol = p.readTLS(), proxy
	} else {
		p.warnNoTCP(forwarded, proxy)
	}
	for i, port := range ports {
		if features.Transport(features.Protocol(port.Protocol)) == "" {
			p.reject("port %d: there is no load balancer for the protocol %s", port.Port, port.Protocol)
		}
		if port.NodePort == 0 {
			p.warn(PortSkipped, "Port %d has no members: it has no node port", port.Port)
		}
		r.Ports = append(r.Ports, r.port(i, port, forwarded))
	}
}

// warnNoTCP warns of annotations that only TCP ports have.
func (p *parser) warnNoTCP(forwarded bool, proxy features.Protocol) {
	const why = "the service has no TCP ports"
	p.ignore(AnnotationTLSContainerRef, why)
	if forwarded {
		p.ignore(AnnotationXForwardedFor, why)
	}
	if proxy != "" {
		p.ignore(AnnotationProxyProtocol, why)
	}
}

func isTCP(p service.Port) bool { return p.Protocol == v1.ProtocolTCP }

func (r *Request) port(index int, port service.Port, forwarded bool) Port {
	p := Port{
		Index: index, Protocol: port.Protocol, Number: port.Port, NodePort: port.NodePort,
		Listener: features.Protocol(port.Protocol), Pool: features.Protocol(port.Protocol),
	}
	if !isTCP(port) {
		return p
	}
	p.TLS, p.ForwardedFor = r.TLS != nil, forwarded
	switch {
	case p.TLS:
		p.Listener, p.Pool = features.ProtocolTerminatedHTTPS, features.ProtocolHTTP
	case forwarded:
		p.Listener, p.Pool = features.ProtocolHTTP, features.ProtocolHTTP
	}
	if r.ProxyProtocol != "" {
		p.Pool = r.ProxyProtocol
	}

	return p
}

// proxyProtocol reads the protocol of pools with the PROXY protocol, empty without it.
func (p *parser) proxyProtocol() features.Protocol {
	switch value := AnnotationProxyProtocol.Value(p.svc); value {
	case "true", "v1":
		return features.ProtocolPROXY
	case "v2":
		return features.ProtocolPROXYV2
	case "", "false":
	default:
		p.ignoreValue(AnnotationProxyProtocol, "true, v1, v2 or false", "false")
	}

	return ""
}

// barbicanID matches the ID of a container or a secret. It becomes part of the URL of a
// request.
var barbicanID = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)

// readTLS reads the certificate, nil without TLS.
func (p *parser) readTLS() *TLS {
	ref := p.textOrEmpty(AnnotationTLSContainerRef, p.settings.TLSContainerRef)
	if ref == "" {
		return nil
	}
	tls := &TLS{Ref: ref}
	if p.settings.ContainerStore != storeBarbican {
		return tls
	}
	const parts = 2
	path := strings.Split(ref, "/")
	kind, id := "", path[len(path)-1]
	if len(path) >= parts {
		kind = path[len(path)-parts]
	}
	switch {
	case kind == "containers" && barbicanID.MatchString(id):
		tls.Container = id
	case kind == "secrets" && barbicanID.MatchString(id):
		tls.Secret = id
	case AnnotationTLSContainerRef.IsSet(p.svc):
		p.strict.Reject(AnnotationTLSContainerRef, "a reference that ends in containers/<id> or secrets/<id>")
	default:
		p.reject("default-tls-container-ref of the cloud-config does not end in containers/<id> or secrets/<id>")
	}

	return tls
}
