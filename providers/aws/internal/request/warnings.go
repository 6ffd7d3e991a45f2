package request

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Reasons of the warnings about load balancers.
const (
	// IgnoredAnnotation is an annotation without effect on this Service.
	IgnoredAnnotation service.Reason = "IgnoredAnnotation"
	// UnknownAnnotation is an unknown annotation with our prefix.
	UnknownAnnotation service.Reason = "UnknownAnnotation"
	// PortSkipped is a port that is not served.
	PortSkipped service.Reason = "PortSkipped"
)

// ignored returns warnings about annotations without effect, sorted by kind of
// mistake and name.
func (r *Request) ignored(svc *v1.Service, config Config) []service.Warning {
	warnings := r.misplaced(svc)
	ignore := func(name annotation.Name, why string) {
		warnings = append(warnings, service.Warn(IgnoredAnnotation, "Annotation %s is ignored: %s", name, why))
	}
	if !r.usesSecurityGroups(config) && AnnotationSecurityGroups.IsSet(svc) {
		ignore(AnnotationSecurityGroups, "a network load balancer needs NLBSecurityGroupMode = Managed for it")
	}
	for _, ignored := range slices.Concat(r.ignoredTLS(), r.ignoredBackend(), r.ignoredAttributes()) {
		if ignored.name.Value(svc) != "" {
			ignore(ignored.name, ignored.why)
		}
	}

	return warnings
}

// ignoredAnnotation is an annotation with the reason why it has no effect.
type ignoredAnnotation struct {
	name annotation.Name
	why  string
}

// ignoredTLS returns the annotations about TLS that have no effect.
func (r *Request) ignoredTLS() []ignoredAnnotation {
	without := "there is no TLS without " + string(AnnotationSSLCert)
	switch unknown := r.unknownPorts(); {
	case r.TLS.Certificate == "":
		return []ignoredAnnotation{{AnnotationSSLPorts, without}, {AnnotationSSLPolicy, without}}
	case r.overUDP():
		return []ignoredAnnotation{{AnnotationSSLCert, noTLS}, {AnnotationSSLPorts, noTLS}, {AnnotationSSLPolicy, noTLS}}
	case len(unknown) > 0:
		return []ignoredAnnotation{{AnnotationSSLPorts, "no port is called " + strings.Join(unknown, ", ")}}
	default:
		return nil
	}
}

const noTLS = "UDP ports have no TLS"

func (r *Request) overUDP() bool {
	return slices.ContainsFunc(r.Ports, func(p service.Port) bool { return p.Protocol == v1.ProtocolUDP })
}

// ignoredBackend returns the backend protocol annotation if it has no effect:
// it is not valid, or a network load balancer does not support it.
func (r *Request) ignoredBackend() []ignoredAnnotation {
	protocol := strings.ToLower(r.BackendProtocol)
	switch {
	case !isBackendProtocol(protocol):
		return []ignoredAnnotation{{AnnotationBackendProtocol, r.BackendProtocol + " is not one of http, https, ssl, tcp"}}
	case r.Kind == Classic, protocol == "tcp", r.BackendProtocol == "ssl" && r.TLS.Certificate != "" && !r.overUDP():
		return nil
	default:
		return []ignoredAnnotation{{AnnotationBackendProtocol, "a network load balancer supports only ssl, on ports with TLS"}}
	}
}

// ignoredAttributes returns the annotations of disabled features.
func (r *Request) ignoredAttributes() []ignoredAnnotation {
	var list []ignoredAnnotation
	if !aws.ToBool(r.Attributes.AccessLogEnabled) {
		off := "there are no access logs without " + string(AnnotationAccessLogEnabled) + "=true"
		list = append(list, ignoredAnnotation{AnnotationAccessLogBucket, off}, ignoredAnnotation{AnnotationAccessLogPrefix, off})
		if r.Kind == Classic {
			list = append(list, ignoredAnnotation{AnnotationAccessLogEmitInterval, off})
		}
	}
	if r.Kind == Classic && !aws.ToBool(r.Attributes.DrainingEnabled) {
		list = append(list, ignoredAnnotation{
			AnnotationDrainingTimeout, "connections are not drained without " + string(AnnotationDrainingEnabled) + "=true",
		})
	}

	return list
}

// misplaced returns warnings about annotations that are for the other kind of
// load balancer, or that do not exist.
func (r *Request) misplaced(svc *v1.Service) []service.Warning {
	var warnings []service.Warning
	own, others := ofClassic, ofNetwork
	if r.Kind == Network {
		own, others = others, own
	}
	for _, key := range slices.Sorted(maps.Keys(svc.Annotations)) {
		switch name := annotation.Name(key); {
		case !strings.HasPrefix(key, annotationPrefix), ofBoth.Has(name), own.Has(name):
		case others.Has(name):
			warnings = append(warnings, service.Warn(IgnoredAnnotation,
				"Annotation %s is ignored: it has no meaning for a %s load balancer", key, r.Kind))
		default:
			warnings = append(warnings, service.Warn(UnknownAnnotation, "Annotation %s is ignored: there is none of this name", key))
		}
	}

	return warnings
}

// unknownPorts returns the items of the TLS list that select no port of the
// Service.
func (r *Request) unknownPorts() []string {
	return lists.Filter(r.TLS.Ports, func(item string) bool {
		return !slices.ContainsFunc(r.Ports, func(p service.Port) bool { return names(item, p) })
	})
}
