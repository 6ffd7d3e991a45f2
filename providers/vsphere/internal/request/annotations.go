package request

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"

// Class and clients.
const (
	// AnnotationClass is the name of a class, which is a section [LoadBalancerClass] of the
	// cloud-config, or default. An unknown class is an error. A load balancer that exists
	// keeps its address when the class changes.
	//
	// Type: name
	// Default: default
	// Applies to: all load balancers
	AnnotationClass annotation.Name = "loadbalancer.vmware.io/class"

	// AnnotationSourceRanges lists the address ranges of clients that may connect. Takes
	// effect only if spec.loadBalancerSourceRanges is empty.
	//
	// Type: list of CIDRs
	// Default: all clients
	// Applies to: all load balancers
	AnnotationSourceRanges annotation.Name = "service.beta.kubernetes.io/load-balancer-source-ranges"
)
