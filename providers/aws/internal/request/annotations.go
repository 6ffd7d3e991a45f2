package request

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"

// annotationPrefix begins every annotation below.
const annotationPrefix = "service.beta.kubernetes.io/aws-load-balancer-"

// Kind and placement.
const (
	// AnnotationType is the kind of load balancer. "nlb" is a network load balancer.
	// "nlb-ip" and "external" leave the Service to another controller, including its
	// deletion. Everything else is a classic load balancer. The kind of an existing
	// load balancer cannot be changed.
	//
	// Type: nlb, nlb-ip, external
	// Default: a classic load balancer
	// Applies to: CLB, NLB
	AnnotationType annotation.Name = annotationPrefix + "type"

	// AnnotationInternal makes the load balancer reachable only from inside the VPC.
	// Takes effect when the load balancer is created; a later change causes an Event
	// and requires a new Service.
	//
	// Type: empty or false for an internet-facing load balancer, any other text for an internal one
	// Default: false
	// Applies to: CLB, NLB
	AnnotationInternal annotation.Name = annotationPrefix + "internal"

	// AnnotationSubnets lists the subnets of the load balancer, instead of their
	// discovery. An item that begins with "subnet-" is an ID, other items are values
	// of the tag Name. All of them must exist. A value of only spaces and commas is
	// an error; an empty value is ignored. On a network load balancer, it takes
	// effect only at creation.
	//
	// Type: list of IDs and names
	// Default: one subnet in each availability zone, found by tags and route tables
	// Applies to: CLB, NLB
	AnnotationSubnets annotation.Name = annotationPrefix + "subnets"

	// AnnotationAdditionalTags adds tags to the load balancer, its listeners and
	// target groups, and to the security group that is created for it. A tag that is
	// removed from the list is not removed from the resources.
	//
	// Type: list of key=value
	// Default: none
	// Applies to: CLB, NLB
	AnnotationAdditionalTags annotation.Name = annotationPrefix + "additional-resource-tags"

	// AnnotationTargetNodeLabels restricts the targets to Nodes with all of these
	// labels. A label without a value matches any value.
	//
	// Type: list of key=value
	// Default: all Nodes
	// Applies to: CLB, NLB
	AnnotationTargetNodeLabels annotation.Name = annotationPrefix + "target-node-labels"

	// AnnotationEIPAllocations assigns elastic IP addresses to a network load
	// balancer, one for each subnet, in the order of the subnets. Takes effect only
	// at creation.
	//
	// Type: list of allocation IDs, as many as subnets
	// Default: addresses that AWS chooses
	// Applies to: NLB
	AnnotationEIPAllocations annotation.Name = annotationPrefix + "eip-allocations"

	// AnnotationPrivateIPv4Addresses assigns fixed addresses to an internal network
	// load balancer, one for each subnet, in the order of the subnets. Takes effect
	// only at creation.
	//
	// Type: list of IPv4 addresses, as many as subnets
	// Default: addresses that AWS chooses
	// Applies to: NLB
	AnnotationPrivateIPv4Addresses annotation.Name = annotationPrefix + "private-ipv4-addresses"
)

// Security groups.
const (
	// AnnotationSecurityGroups replaces the security group that is otherwise created
	// for the load balancer. The rules of these groups are not changed. On a network
	// load balancer, it takes effect only if NLBSecurityGroupMode is Managed.
	//
	// Type: list of security group IDs
	// Default: ElbSecurityGroup of the cloud-config on a CLB, or else a group created for the load balancer
	// Applies to: CLB, NLB
	AnnotationSecurityGroups annotation.Name = annotationPrefix + "security-groups"

	// AnnotationExtraSecurityGroups adds security groups to the load balancer, in
	// addition to the others. On a network load balancer, it is an error.
	//
	// Type: list of security group IDs
	// Default: none
	// Applies to: CLB
	AnnotationExtraSecurityGroups annotation.Name = annotationPrefix + "extra-security-groups"
)

// TLS and protocols.
const (
	// AnnotationSSLCert enables TLS on the listeners, with this certificate of ACM or
	// IAM.
	//
	// Type: ARN
	// Default: no TLS
	// Applies to: CLB, NLB
	AnnotationSSLCert annotation.Name = annotationPrefix + "ssl-cert"

	// AnnotationSSLPorts lists the ports with TLS, by number or by name.
	//
	// Type: list of port numbers and names, empty or * for all
	// Default: all ports
	// Applies to: CLB, NLB
	AnnotationSSLPorts annotation.Name = annotationPrefix + "ssl-ports"

	// AnnotationSSLPolicy is the predefined security policy of TLS listeners.
	//
	// Type: name of a policy, such as ELBSecurityPolicy-TLS-1-2-2017-01
	// Default: the default of AWS
	// Applies to: CLB, NLB
	AnnotationSSLPolicy annotation.Name = annotationPrefix + "ssl-negotiation-policy"

	// AnnotationBackendProtocol is the protocol between the load balancer and the
	// Nodes. On a classic load balancer, it also selects HTTP or TCP listeners. On a
	// network load balancer, only ssl has an effect: TLS up to the Node, on ports
	// with TLS.
	//
	// Type: http, https, ssl, tcp
	// Default: plain TCP
	// Applies to: CLB, NLB
	AnnotationBackendProtocol annotation.Name = annotationPrefix + "backend-protocol"

	// AnnotationProxyProtocol enables the PROXY protocol for all Nodes.
	//
	// Type: *
	// Default: off
	// Applies to: CLB
	AnnotationProxyProtocol annotation.Name = annotationPrefix + "proxy-protocol"

	// AnnotationTargetGroupAttributes sets attributes of the target groups. The
	// keys are preserve_client_ip.enabled and proxy_protocol_v2.enabled.
	// preserve_client_ip.enabled=false is not supported with UDP ports. If the
	// annotation is removed, the attributes keep their values. On a classic load
	// balancer, it is an error.
	//
	// Type: list of key=true or key=false
	// Default: the defaults of AWS
	// Applies to: NLB
	AnnotationTargetGroupAttributes annotation.Name = annotationPrefix + "target-group-attributes"
)

// Attributes of load balancers.
const (
	// AnnotationAccessLogEnabled enables access logs in an S3 bucket.
	//
	// Type: bool
	// Default: false
	// Applies to: CLB, NLB
	AnnotationAccessLogEnabled annotation.Name = annotationPrefix + "access-log-enabled"

	// AnnotationAccessLogEmitInterval is the interval of access logs, in minutes.
	//
	// Type: 5 or 60
	// Default: 60
	// Applies to: CLB
	AnnotationAccessLogEmitInterval annotation.Name = annotationPrefix + "access-log-emit-interval"

	// AnnotationAccessLogBucket is the S3 bucket of the access logs.
	//
	// Type: string
	// Default: none
	// Applies to: CLB, NLB
	AnnotationAccessLogBucket annotation.Name = annotationPrefix + "access-log-s3-bucket-name"

	// AnnotationAccessLogPrefix is the prefix of the access logs in the bucket.
	//
	// Type: string
	// Default: none
	// Applies to: CLB, NLB
	AnnotationAccessLogPrefix annotation.Name = annotationPrefix + "access-log-s3-bucket-prefix"

	// AnnotationDrainingEnabled keeps existing connections to a Node open after the
	// Node was deregistered.
	//
	// Type: bool
	// Default: false
	// Applies to: CLB
	AnnotationDrainingEnabled annotation.Name = annotationPrefix + "connection-draining-enabled"

	// AnnotationDrainingTimeout is the maximum time that these connections are kept
	// open, in seconds.
	//
	// Type: int
	// Default: 300
	// Applies to: CLB
	AnnotationDrainingTimeout annotation.Name = annotationPrefix + "connection-draining-timeout"

	// AnnotationIdleTimeout is the idle timeout of connections, in seconds.
	//
	// Type: int
	// Default: 60
	// Applies to: CLB
	AnnotationIdleTimeout annotation.Name = annotationPrefix + "connection-idle-timeout"

	// AnnotationCrossZone distributes traffic over the Nodes of all availability
	// zones.
	//
	// Type: bool
	// Default: false
	// Applies to: CLB, NLB
	AnnotationCrossZone annotation.Name = annotationPrefix + "cross-zone-load-balancing-enabled"
)
