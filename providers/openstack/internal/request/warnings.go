package request

import (
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// Reasons of the warnings about load balancers that the existing cloud controller
// manager has, too.
const (
	// SourceRangesIgnored are ranges of clients that cannot be enforced.
	SourceRangesIgnored service.Reason = "LoadBalancerSourceRangesIgnored"
	// AvailabilityZonesIgnored is an availability zone that the provider does not have.
	AvailabilityZonesIgnored service.Reason = "LoadBalancerAvailabilityZonesIgnored"
	// FloatingIPSkipped is a VIP that cannot have a floating IP: it is IPv6.
	FloatingIPSkipped service.Reason = "LoadBalancerFloatingIPSkipped"
	// ForcedInternal is an external load balancer without an external network.
	ForcedInternal service.Reason = "LoadBalancerForcedInternal"
	// ExternalNetworkSearchFailed is an external network that is not found.
	ExternalNetworkSearchFailed service.Reason = "LoadBalancerExternalNetworkSearchFailed"
	// MethodUnknown is an algorithm that the provider refuses on an existing pool.
	MethodUnknown service.Reason = "LoadBalancerLbMethodUnknown"
	// Renamed is a load balancer that gets the name of the cluster.
	Renamed service.Reason = "LoadBalancerRename"
)

// Other reasons of warnings about load balancers.
const (
	// IgnoredAnnotation is an annotation without effect on this Service, or with a value
	// that is not used.
	IgnoredAnnotation service.Reason = "IgnoredAnnotation"
	// UnknownAnnotation is an unknown annotation with our prefix.
	UnknownAnnotation service.Reason = "UnknownAnnotation"
	// FamilyIgnored is the second IP family of a Service, which is not served.
	FamilyIgnored service.Reason = "LoadBalancerIPFamilyIgnored"
	// PortSkipped is a port without members.
	PortSkipped service.Reason = "PortSkipped"
	// NoNodeSelected is a load balancer without members, since no Node has the labels.
	NoNodeSelected service.Reason = "NoNodeSelected"
	// HealthMonitorMissing is a pool without a health monitor that it should have.
	HealthMonitorMissing service.Reason = "HealthMonitorMissing"
	// LocalTrafficNotMonitored is a Service with externalTrafficPolicy Local some of whose
	// traffic goes to Nodes without endpoints.
	LocalTrafficNotMonitored service.Reason = "LocalTrafficNotMonitored"
)

// warnIgnored warns of annotations that do not exist, and of those that other settings
// make useless.
func (p *parser) warnIgnored() {
	for _, key := range slices.Sorted(maps.Keys(p.svc.Annotations)) {
		if strings.HasPrefix(key, annotationPrefix) && !known[annotation.Name(key)] {
			p.warn(UnknownAnnotation, "Annotation %s is ignored: there is none of this name", key)
		}
	}
	if former := AnnotationTakeOver.Value(p.svc); former != "" && !uuid.IsID(former) {
		p.ignore(AnnotationTakeOver, "it is no UID")
	}
	if p.settings.InternalOnly && AnnotationInternal.Value(p.svc) == "false" {
		p.ignore(AnnotationInternal, "internal-lb of the cloud-config makes all load balancers internal")
	}
	if len(p.svc.Spec.LoadBalancerSourceRanges) > 0 {
		p.ignore(AnnotationSourceRanges, "spec.loadBalancerSourceRanges takes precedence")
	}
	if p.request.VIP.PortID != "" {
		p.ignore(AnnotationNetworkID, string(AnnotationPortID)+" takes precedence")
	}
}
