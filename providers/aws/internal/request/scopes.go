package request

import "k8s.io/apimachinery/pkg/util/sets"

// All annotations with the prefix, by the kinds of load balancers that they apply
// to. An annotation of one kind that is an error on the other kind applies to both
// here.
var (
	ofBoth = sets.New(
		AnnotationType, AnnotationInternal, AnnotationSubnets, AnnotationAdditionalTags, AnnotationTargetNodeLabels,
		AnnotationSecurityGroups, AnnotationExtraSecurityGroups,
		AnnotationSSLCert, AnnotationSSLPorts, AnnotationSSLPolicy, AnnotationBackendProtocol, AnnotationTargetGroupAttributes,
		AnnotationAccessLogEnabled, AnnotationAccessLogBucket, AnnotationAccessLogPrefix, AnnotationCrossZone,
		AnnotationHealthCheckProtocol, AnnotationHealthCheckPort, AnnotationHealthCheckPath,
		AnnotationHealthCheckInterval, AnnotationHealthCheckTimeout, AnnotationHealthyThreshold, AnnotationUnhealthyThreshold,
	)
	ofClassic = sets.New(
		AnnotationProxyProtocol, AnnotationAccessLogEmitInterval,
		AnnotationDrainingEnabled, AnnotationDrainingTimeout, AnnotationIdleTimeout,
	)
	ofNetwork = sets.New(AnnotationEIPAllocations, AnnotationPrivateIPv4Addresses)
)
