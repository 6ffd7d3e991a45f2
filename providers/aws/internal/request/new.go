package request

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// The values of [AnnotationType] with a meaning. They are case-sensitive.
const (
	typeNetwork  = "nlb"
	typeIPs      = "nlb-ip"
	typeExternal = "external"
)

// KindOf returns the kind of load balancer that a Service requests.
func KindOf(svc *v1.Service) Kind {
	switch AnnotationType.Value(svc) {
	case typeNetwork:
		return Network
	case typeIPs, typeExternal:
		return Unmanaged
	default:
		return Classic
	}
}

// New returns the request of a Service. The first of these mistakes is the
// error: a security group or target group annotation on the wrong kind, session
// affinity, ports, source ranges, protocols, a fixed address; then all mistakes
// in other annotations at once. Every error means apierr.ErrInvalid. Settings
// that are ignored are warnings. Of a Service that is not ours, only the names
// are read.
func New(svc *v1.Service, nodes []*v1.Node, config Config) (*Request, []service.Warning, error) {
	r := &Request{
		Service: types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name},
		UID:     svc.UID,
		Name:    cloudprovider.DefaultLoadBalancerName(svc),
		Kind:    KindOf(svc),
	}
	if r.Kind == Unmanaged {
		return r, nil, nil
	}
	warnings, err := r.readSpec(svc)
	if err != nil {
		return nil, nil, err
	}
	if r.Kind == Network && config.BadNetworkSetting != nil {
		return nil, nil, config.BadNetworkSetting
	}
	ignored, err := r.readAnnotations(svc, config)
	if err != nil {
		return nil, nil, err
	}
	var skipped []service.Warning
	r.Targets, skipped = targets(nodes, keyValues(svc, AnnotationTargetNodeLabels), config.Region)

	return r, append(append(warnings, ignored...), skipped...), nil
}

// readSpec validates the Service in the documented order, and reads its spec.
func (r *Request) readSpec(svc *v1.Service) ([]service.Warning, error) {
	if r.Kind == Network && AnnotationExtraSecurityGroups.IsSet(svc) {
		return nil, invalid("annotation %s cannot be used with a network load balancer", AnnotationExtraSecurityGroups)
	}
	if err := r.readTargetGroupAttributes(svc); err != nil {
		return nil, err
	}
	if affinity := svc.Spec.SessionAffinity; affinity != "" && affinity != v1.ServiceAffinityNone {
		return nil, invalid("session affinity %s is not supported by load balancers of AWS", affinity)
	}
	if err := r.readPorts(svc); err != nil {
		return nil, err
	}
	var err error
	if r.SourceRanges, err = sourceRanges(svc); err != nil {
		return nil, err
	}
	warnings, err := r.servePorts()
	if err != nil {
		return nil, err
	}
	if svc.Spec.LoadBalancerIP != "" {
		return nil, invalid("spec.loadBalancerIP %s is not supported by load balancers of AWS", svc.Spec.LoadBalancerIP)
	}
	if len(r.Ports) == 0 {
		return nil, invalid("no port has a node port")
	}
	if svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		r.LocalTraffic, r.HealthCheckNodePort = true, svc.Spec.HealthCheckNodePort
	}

	return warnings, nil
}

// readAnnotations reads the annotations that the validation of the spec does
// not need.
func (r *Request) readAnnotations(svc *v1.Service, config Config) ([]service.Warning, error) {
	reader := annotation.NewReader(svc)
	internal := AnnotationInternal.Value(svc)
	r.Internal = internal != "" && internal != "false"
	r.Subnets = AnnotationSubnets.List(svc)
	r.Tags = keyValues(svc, AnnotationAdditionalTags)
	r.ExtraSecurityGroups = AnnotationExtraSecurityGroups.List(svc)
	if r.usesSecurityGroups(config) {
		r.SecurityGroups = AnnotationSecurityGroups.List(svc)
	}
	r.TLS = TLS{Certificate: AnnotationSSLCert.Value(svc), Policy: AnnotationSSLPolicy.Value(svc)}
	if strings.TrimSpace(AnnotationSSLPorts.Value(svc)) != everyPort {
		r.TLS.Ports = AnnotationSSLPorts.List(svc)
	}
	r.BackendProtocol = AnnotationBackendProtocol.Value(svc)
	r.readHealthCheck(reader)
	r.readAttributes(reader)
	if r.Kind == Classic {
		r.readProxyProtocol(svc, reader)
	} else {
		r.readAddresses(svc, reader)
	}
	if AnnotationSubnets.Value(svc) != "" && len(r.Subnets) == 0 { // an empty value is no annotation
		reader.Reject(AnnotationSubnets, "a list of subnets")
	}

	return r.ignored(svc, config), reader.Err()
}

// usesSecurityGroups reports whether the annotation has an effect.
func (r *Request) usesSecurityGroups(config Config) bool {
	return r.Kind == Classic || config.ManagedNetworkGroups
}
