package request

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"

// Health checks.
const (
	// AnnotationHealthCheckProtocol is the protocol of health checks. On a network
	// load balancer, protocol, port and path have no effect if
	// ClusterServiceLoadBalancerHealthProbeMode is Shared, unless
	// externalTrafficPolicy is Local.
	//
	// Type: tcp, http, https; on a CLB also ssl; case-insensitive
	// Default: tcp, or on a CLB ssl if backend-protocol is https or ssl; http if externalTrafficPolicy is Local or the mode is Shared
	// Applies to: CLB, NLB
	AnnotationHealthCheckProtocol annotation.Name = annotationPrefix + "healthcheck-protocol"

	// AnnotationHealthCheckPort is the port of health checks on the Node.
	//
	// Type: int, or traffic-port for the node port (on a CLB, the node port of the first port)
	// Default: traffic-port; the health check node port if externalTrafficPolicy is Local; the shared one if the mode is Shared
	// Applies to: CLB, NLB
	AnnotationHealthCheckPort annotation.Name = annotationPrefix + "healthcheck-port"

	// AnnotationHealthCheckPath is the path of health checks over HTTP and HTTPS. With
	// other protocols, it has no effect.
	//
	// Type: string
	// Default: /; /healthz if externalTrafficPolicy is Local; the shared one if the mode is Shared
	// Applies to: CLB, NLB
	AnnotationHealthCheckPath annotation.Name = annotationPrefix + "healthcheck-path"

	// AnnotationHealthCheckInterval is the interval of health checks, in seconds.
	//
	// Type: int, at least 5; on a CLB greater than the timeout, on an NLB at least the timeout
	// Default: 10; 30 on an NLB if externalTrafficPolicy is Cluster
	// Applies to: CLB, NLB
	AnnotationHealthCheckInterval annotation.Name = annotationPrefix + "healthcheck-interval"

	// AnnotationHealthCheckTimeout is the timeout of a health check, in seconds.
	//
	// Type: int, at least 2
	// Default: 5 on a CLB; on an NLB 6 over HTTP, 10 over TCP and HTTPS
	// Applies to: CLB, NLB
	AnnotationHealthCheckTimeout annotation.Name = annotationPrefix + "healthcheck-timeout"

	// AnnotationHealthyThreshold is the number of consecutive successful health
	// checks before a Node receives traffic.
	//
	// Type: int, at least 2
	// Default: 2; 3 on an NLB if externalTrafficPolicy is Cluster
	// Applies to: CLB, NLB
	AnnotationHealthyThreshold annotation.Name = annotationPrefix + "healthcheck-healthy-threshold"

	// AnnotationUnhealthyThreshold is the number of consecutive failed health checks
	// before a Node no longer receives traffic.
	//
	// Type: int, at least 2
	// Default: 6 on a CLB; 2 on an NLB, 3 if externalTrafficPolicy is Cluster
	// Applies to: CLB, NLB
	AnnotationUnhealthyThreshold annotation.Name = annotationPrefix + "healthcheck-unhealthy-threshold"
)

// Source ranges.
const (
	// AnnotationSourceRanges lists the address ranges of clients that may connect.
	// Takes effect only if spec.loadBalancerSourceRanges is empty.
	//
	// Type: list of CIDRs
	// Default: 0.0.0.0/0
	// Applies to: CLB, NLB
	AnnotationSourceRanges annotation.Name = "service.beta.kubernetes.io/load-balancer-source-ranges"
)
