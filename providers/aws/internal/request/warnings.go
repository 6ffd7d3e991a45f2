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
	if r.TLS.Certificate == "" {
		for _, name := range []annotation.Name{AnnotationSSLPorts, AnnotationSSLPolicy} {
			if text(svc, name) != "" {
				ignore(name, "there is no TLS without "+string(AnnotationSSLCert))
			}
		}
	} else if unknown := r.unknownPorts(); len(unknown) > 0 {
		ignore(AnnotationSSLPorts, "no port is called "+strings.Join(unknown, ", "))
	}
	if r.BackendProtocol != "" && !isBackendProtocol(r.BackendProtocol) {
		ignore(AnnotationBackendProtocol, r.BackendProtocol+" is not one of http, https, ssl, tcp")
	}
	return warnings
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
