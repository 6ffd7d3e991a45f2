package request

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// The reasons of the warnings about load balancers.
const (
	// IgnoredAnnotation is an annotation without effect on this Service.
	IgnoredAnnotation service.Reason = "IgnoredAnnotation"
	// UnknownAnnotation is an annotation with the prefix of ours that is none.
	UnknownAnnotation service.Reason = "UnknownAnnotation"
	// PortSkipped is a port that is not served.
	PortSkipped service.Reason = "PortSkipped"
	// NodeSkipped is a Node that gets no traffic from the load balancer.
	NodeSkipped service.Reason = "NodeSkipped"
)

// ignored tells of the annotations that have no effect, sorted by kind of
// mistake and name.
func (r *Request) ignored(svc *v1.Service, config Config) []service.Warning {
	warnings := r.misplaced(svc)
	ignore := func(name annotation.Name, why string) {
		warnings = append(warnings, service.Warn(IgnoredAnnotation, "Annotation %s is ignored: %s", name, why))
	}
	if !r.usesSecurityGroups(config) && AnnotationSecurityGroups.IsSet(svc) {
		ignore(AnnotationSecurityGroups, "a network load balancer needs NLBSecurityGroupMode = Managed for it")
	}
	for _, useless := range slices.Concat(r.uselessTLS(), r.uselessBackend(), r.uselessAttributes()) {
		if text(svc, useless.name) != "" {
			ignore(useless.name, useless.why)
		}
	}
	return warnings
}

// uselessness is why an annotation has no effect if it is set.
type uselessness struct {
	name annotation.Name
	why  string
}

// uselessTLS are the annotations about TLS that have no effect.
func (r *Request) uselessTLS() []uselessness {
	without := "there is no TLS without " + string(AnnotationSSLCert)
	switch unknown := r.unknownPorts(); {
	case r.TLS.Certificate == "":
		return []uselessness{{AnnotationSSLPorts, without}, {AnnotationSSLPolicy, without}}
	case r.overUDP():
		return []uselessness{{AnnotationSSLCert, noTLS}, {AnnotationSSLPorts, noTLS}, {AnnotationSSLPolicy, noTLS}}
	case len(unknown) > 0:
		return []uselessness{{AnnotationSSLPorts, "no port is called " + strings.Join(unknown, ", ")}}
	default:
		return nil
	}
}

const noTLS = "UDP ports have no TLS"

func (r *Request) overUDP() bool {
	return slices.ContainsFunc(r.Ports, func(p Port) bool { return p.Protocol == v1.ProtocolUDP })
}

// uselessBackend is the protocol of the backends if it has no effect: it is none,
// or means nothing to a network load balancer.
func (r *Request) uselessBackend() []uselessness {
	protocol := strings.ToLower(r.BackendProtocol)
	switch {
	case !isBackendProtocol(protocol):
		return []uselessness{{AnnotationBackendProtocol, r.BackendProtocol + " is not one of http, https, ssl, tcp"}}
	case r.Kind == Classic, protocol == "tcp", r.BackendProtocol == "ssl" && r.TLS.Certificate != "" && !r.overUDP():
		return nil
	default:
		return []uselessness{{AnnotationBackendProtocol, "a network load balancer knows ssl alone, on ports with TLS"}}
	}
}

// uselessAttributes are the annotations about what is off.
func (r *Request) uselessAttributes() []uselessness {
	var list []uselessness
	if a := r.Attributes.AccessLogEnabled; a == nil || !*a {
		off := "there are no access logs without " + string(AnnotationAccessLogEnabled) + "=true"
		list = append(list, uselessness{AnnotationAccessLogBucket, off}, uselessness{AnnotationAccessLogPrefix, off})
		if r.Kind == Classic {
			list = append(list, uselessness{AnnotationAccessLogEmitInterval, off})
		}
	}
	if a := r.Attributes.DrainingEnabled; r.Kind == Classic && (a == nil || !*a) {
		list = append(list, uselessness{
			AnnotationDrainingTimeout, "connections are not drained without " + string(AnnotationDrainingEnabled) + "=true",
		})
	}
	return list
}

// misplaced tells of annotations that are made for the other kind of load
// balancer, or for nothing known.
func (r *Request) misplaced(svc *v1.Service) []service.Warning {
	var warnings []service.Warning
	for _, key := range slices.Sorted(maps.Keys(svc.Annotations)) {
		if !strings.HasPrefix(key, annotationPrefix) {
			continue
		}
		use, known := scopes[annotation.Name(key)]
		switch {
		case !known:
			warnings = append(warnings, service.Warn(UnknownAnnotation, "Annotation %s is ignored: there is none of this name", key))
		case r.Kind == Classic && !use.classic, r.Kind == Network && !use.network:
			warnings = append(warnings, service.Warn(IgnoredAnnotation,
				"Annotation %s is ignored: it has no meaning for a %s load balancer", key, r.Kind))
		}
	}
	return warnings
}

// unknownPorts are the items of the TLS list that mean no port of the Service.
func (r *Request) unknownPorts() []string {
	var unknown []string
	for _, item := range r.TLS.Ports {
		if !slices.ContainsFunc(r.Ports, func(p Port) bool { return p.isNamed(item) }) {
			unknown = append(unknown, item)
		}
	}
	return unknown
}
