package request

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"

// annotationPrefix begins every annotation below.
const annotationPrefix = "service.beta.kubernetes.io/aws-load-balancer-"

// What a load balancer is, and where.
const (
	// AnnotationType chooses the kind of load balancer. "nlb" is a network load
	// balancer. "nlb-ip" and "external" leave the Service to another controller,
	// now and when it is deleted. Everything else is a classic load balancer. The
	// kind of a load balancer that exists cannot be changed.
	//
	// Type: nlb, nlb-ip, external
	// Default: a classic load balancer
	// Applies to: CLB, NLB
	AnnotationType annotation.Name = annotationPrefix + "type"

	// AnnotationInternal makes the load balancer reachable from inside the VPC
	// only. It counts when the load balancer is created; a later change is
	// reported as an Event and needs a new Service.
	//
	// Type: empty or false for an internet-facing load balancer, any other text for an internal one
	// Default: false
	// Applies to: CLB, NLB
	AnnotationInternal annotation.Name = annotationPrefix + "internal"

	// AnnotationSubnets lists the subnets of the load balancer and replaces their
	// discovery. An item that begins with "subnet-" is an ID, others are values of
	// the tag Name. All of them must be found; a value of blanks and commas alone is
	// an error, an empty one is no annotation. On a network load balancer it counts
	// at creation only.
	//
	// Type: list of IDs and names
	// Default: one subnet in each availability zone, found by tags and route tables
	// Applies to: CLB, NLB
	AnnotationSubnets annotation.Name = annotationPrefix + "subnets"

	// AnnotationAdditionalTags adds tags to the load balancer, its listeners and
	// target groups, and to the security group that is made for it. A tag that is
	// taken out of the list stays where it is.
	//
	// Type: list of key=value
	// Default: none
	// Applies to: CLB, NLB
	AnnotationAdditionalTags annotation.Name = annotationPrefix + "additional-resource-tags"

	// AnnotationTargetNodeLabels lets only Nodes with all of these labels be
	// targets. A label without a value may have any.
	//
	// Type: list of key=value
	// Default: all Nodes
	// Applies to: CLB, NLB
	AnnotationTargetNodeLabels annotation.Name = annotationPrefix + "target-node-labels"

	// AnnotationEIPAllocations gives a network load balancer elastic IP addresses,
	// one for each subnet, in the order of the subnets. It counts at creation only.
	//
	// Type: list of allocation IDs, as many as subnets
	// Default: addresses that AWS chooses
	// Applies to: NLB
	AnnotationEIPAllocations annotation.Name = annotationPrefix + "eip-allocations"

	// AnnotationPrivateIPv4Addresses gives an internal network load balancer fixed
	// addresses, one for each subnet, in the order of the subnets. It counts at
	// creation only.
	//
	// Type: list of IPv4 addresses, as many as subnets
	// Default: addresses that AWS chooses
	// Applies to: NLB
	AnnotationPrivateIPv4Addresses annotation.Name = annotationPrefix + "private-ipv4-addresses"
)

// Security groups.
const (
	// AnnotationSecurityGroups replaces the security group that is otherwise made
	// for the load balancer. The rules of these groups are left alone. A network
	// load balancer uses it if NLBSecurityGroupMode is Managed.
	//
	// Type: list of security group IDs
	// Default: ElbSecurityGroup of the cloud-config on a CLB, or else a group of its own
	// Applies to: CLB, NLB
	AnnotationSecurityGroups annotation.Name = annotationPrefix + "security-groups"

	// AnnotationExtraSecurityGroups adds security groups to those that the load
	// balancer has otherwise. On a network load balancer it is an error.
	//
	// Type: list of security group IDs
	// Default: none
	// Applies to: CLB
	AnnotationExtraSecurityGroups annotation.Name = annotationPrefix + "extra-security-groups"
)

// TLS and protocols.
const (
	// AnnotationSSLCert gives listeners TLS with this certificate of ACM or IAM.
	//
	// Type: ARN
	// Default: no TLS
	// Applies to: CLB, NLB
	AnnotationSSLCert annotation.Name = annotationPrefix + "ssl-cert"

	// AnnotationSSLPorts lists the ports that have TLS, by number or by name.
	//
	// Type: list of port numbers and names, empty or * for all
	// Default: all ports
	// Applies to: CLB, NLB
	AnnotationSSLPorts annotation.Name = annotationPrefix + "ssl-ports"

	// AnnotationSSLPolicy names the predefined security policy of TLS listeners.
	//
	// Type: name of a policy, such as ELBSecurityPolicy-TLS-1-2-2017-01
	// Default: the default of AWS
	// Applies to: CLB, NLB
	AnnotationSSLPolicy annotation.Name = annotationPrefix + "ssl-negotiation-policy"

	// AnnotationBackendProtocol is what the Nodes speak. On a classic load balancer
	// it also decides between the HTTP and the TCP kind of listener. On a network
	// load balancer only ssl has a meaning: TLS up to the Node, on ports with TLS.
	//
	// Type: http, https, ssl, tcp
	// Default: plain TCP
	// Applies to: CLB, NLB
	AnnotationBackendProtocol annotation.Name = annotationPrefix + "backend-protocol"

	// AnnotationProxyProtocol speaks the PROXY protocol to all Nodes.
	//
	// Type: *
	// Default: off
	// Applies to: CLB
	AnnotationProxyProtocol annotation.Name = annotationPrefix + "proxy-protocol"

	// AnnotationTargetGroupAttributes sets attributes of the target groups. The
	// keys are preserve_client_ip.enabled and proxy_protocol_v2.enabled.
	// preserve_client_ip.enabled=false cannot be had with UDP ports. Removing the
	// annotation leaves the last values. On a classic load balancer it is an error.
	//
	// Type: list of key=true or key=false
	// Default: those of AWS
	// Applies to: NLB
	AnnotationTargetGroupAttributes annotation.Name = annotationPrefix + "target-group-attributes"
)

// Attributes of load balancers.
const (
	// AnnotationAccessLogEnabled writes access logs to a bucket.
	//
	// Type: bool
	// Default: false
	// Applies to: CLB, NLB
	AnnotationAccessLogEnabled annotation.Name = annotationPrefix + "access-log-enabled"

	// AnnotationAccessLogEmitInterval is the time between two access logs, in
	// minutes.
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

	// AnnotationAccessLogPrefix is the folder of the access logs in the bucket.
	//
	// Type: string
	// Default: none
	// Applies to: CLB, NLB
	AnnotationAccessLogPrefix annotation.Name = annotationPrefix + "access-log-s3-bucket-prefix"

	// AnnotationDrainingEnabled lets connections to a Node end before it is taken
	// out.
	//
	// Type: bool
	// Default: false
	// Applies to: CLB
	AnnotationDrainingEnabled annotation.Name = annotationPrefix + "connection-draining-enabled"

	// AnnotationDrainingTimeout is how long connections have for that, in seconds.
	//
	// Type: int
	// Default: 300
	// Applies to: CLB
	AnnotationDrainingTimeout annotation.Name = annotationPrefix + "connection-draining-timeout"

	// AnnotationIdleTimeout is after how many seconds an idle connection is closed.
	//
	// Type: int
	// Default: 60
	// Applies to: CLB
	AnnotationIdleTimeout annotation.Name = annotationPrefix + "connection-idle-timeout"

	// AnnotationCrossZone balances over the Nodes of all availability zones.
	//
	// Type: bool
	// Default: false
	// Applies to: CLB, NLB
	AnnotationCrossZone annotation.Name = annotationPrefix + "cross-zone-load-balancing-enabled"
)
