package request

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"

// scope selects the kinds of load balancers that an annotation applies to.
type scope struct{ classic, network bool }

// scopes holds every annotation with the prefix. An annotation of one kind that
// is an error on the other kind applies to both here.
var scopes = map[annotation.Name]scope{
	AnnotationType:                  {classic: true, network: true},
	AnnotationInternal:              {classic: true, network: true},
	AnnotationSubnets:               {classic: true, network: true},
	AnnotationAdditionalTags:        {classic: true, network: true},
	AnnotationTargetNodeLabels:      {classic: true, network: true},
	AnnotationEIPAllocations:        {network: true},
	AnnotationPrivateIPv4Addresses:  {network: true},
	AnnotationSecurityGroups:        {classic: true, network: true},
	AnnotationExtraSecurityGroups:   {classic: true, network: true},
	AnnotationSSLCert:               {classic: true, network: true},
	AnnotationSSLPorts:              {classic: true, network: true},
	AnnotationSSLPolicy:             {classic: true, network: true},
	AnnotationBackendProtocol:       {classic: true, network: true},
	AnnotationProxyProtocol:         {classic: true},
	AnnotationTargetGroupAttributes: {classic: true, network: true},
	AnnotationAccessLogEnabled:      {classic: true, network: true},
	AnnotationAccessLogEmitInterval: {classic: true},
	AnnotationAccessLogBucket:       {classic: true, network: true},
	AnnotationAccessLogPrefix:       {classic: true, network: true},
	AnnotationDrainingEnabled:       {classic: true},
	AnnotationDrainingTimeout:       {classic: true},
	AnnotationIdleTimeout:           {classic: true},
	AnnotationCrossZone:             {classic: true, network: true},
	AnnotationHealthCheckProtocol:   {classic: true, network: true},
	AnnotationHealthCheckPort:       {classic: true, network: true},
	AnnotationHealthCheckPath:       {classic: true, network: true},
	AnnotationHealthCheckInterval:   {classic: true, network: true},
	AnnotationHealthCheckTimeout:    {classic: true, network: true},
	AnnotationHealthyThreshold:      {classic: true, network: true},
	AnnotationUnhealthyThreshold:    {classic: true, network: true},
}
