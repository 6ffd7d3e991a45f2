package request

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"

// annotationPrefix begins the annotations that only OpenStack has.
const annotationPrefix = "loadbalancer.openstack.org/"

// Placement and addresses.
const (
	// AnnotationInternal makes a load balancer without a floating IP.
	//
	// Type: true or false
	// Default: internal-lb of the cloud-config; if that is true, the annotation has no effect
	// Applies to: all load balancers
	AnnotationInternal annotation.Name = "service.beta.kubernetes.io/openstack-internal-load-balancer"

	// AnnotationClass is the name of a class, which is a section [LoadBalancerClass] of
	// the cloud-config. An unknown class is an error. Of an external Service, its
	// network-id, subnet-id and floating keys take precedence over annotations; of an
	// internal one, annotations do.
	//
	// Type: name
	// Default: none
	// Applies to: all load balancers
	AnnotationClass annotation.Name = annotationPrefix + "class"

	// AnnotationSubnetID is the subnet of the VIP.
	//
	// Type: ID
	// Default: subnet-id of the class, then of the cloud-config; without a network either, the subnet of the first Node
	// Applies to: new load balancers, members
	AnnotationSubnetID annotation.Name = annotationPrefix + "subnet-id"

	// AnnotationNetworkID is the network of the VIP.
	//
	// Type: ID
	// Default: network-id of the class, then of the cloud-config
	// Applies to: new load balancers
	AnnotationNetworkID annotation.Name = annotationPrefix + "network-id"

	// AnnotationMemberSubnetID is the subnet of the members.
	//
	// Type: ID
	// Default: member-subnet-id of the class, then of the cloud-config; then subnet-id of the cloud-config, of the annotation, of the class; without any and without a network, the subnet of each Node
	// Applies to: all load balancers
	AnnotationMemberSubnetID annotation.Name = annotationPrefix + "member-subnet-id"

	// AnnotationPortID is the Neutron port of the VIP, instead of one that Octavia
	// creates. Subnet and network of the VIP are then those of the port.
	//
	// Type: ID
	// Default: none
	// Applies to: new load balancers
	AnnotationPortID annotation.Name = annotationPrefix + "port-id"

	// AnnotationFloatingNetworkID is the external network of the floating IP. An empty
	// value selects the network as if the cloud-config had none.
	//
	// Type: ID
	// Default: floating-network-id of the cloud-config, else the external network that a router leads to, else that with the smallest ID
	// Applies to: external load balancers
	AnnotationFloatingNetworkID annotation.Name = annotationPrefix + "floating-network-id"

	// AnnotationFloatingSubnetID is the subnet of a new floating IP. It takes precedence
	// over floating-subnet and floating-subnet-tags.
	//
	// Type: ID
	// Default: the floating-subnet keys of the cloud-config, unless one of these annotations is set
	// Applies to: external load balancers
	AnnotationFloatingSubnetID annotation.Name = annotationPrefix + "floating-subnet-id"

	// AnnotationFloatingSubnet selects the subnet of a new floating IP by its name. The
	// first subnet that has a free address is used.
	//
	// Type: name, pattern with *, ?, [...] and {a,b}, or regular expression after a tilde; ! before it selects other names
	// Default: the floating-subnet keys of the cloud-config, unless one of these annotations is set
	// Applies to: external load balancers
	AnnotationFloatingSubnet annotation.Name = annotationPrefix + "floating-subnet"

	// AnnotationFloatingSubnetTags selects the subnet of a new floating IP by its tags, in
	// addition to floating-subnet.
	//
	// Type: list of tags, one of which is enough; & before it requires all of them, ! selects other subnets
	// Default: the floating-subnet keys of the cloud-config, unless one of these annotations is set
	// Applies to: external load balancers
	AnnotationFloatingSubnetTags annotation.Name = annotationPrefix + "floating-subnet-tags"

	// AnnotationKeepFloatingIP keeps the floating IP when the Service is deleted or
	// becomes internal: it is detached.
	//
	// Type: true or false
	// Default: false
	// Applies to: external load balancers
	AnnotationKeepFloatingIP annotation.Name = annotationPrefix + "keep-floatingip"

	// AnnotationHostname is published in the status of the Service instead of the address
	// of the load balancer.
	//
	// Type: DNS name
	// Default: the address
	// Applies to: all load balancers
	AnnotationHostname annotation.Name = annotationPrefix + "hostname"

	// AnnotationFlavorID is the Octavia flavor. An empty value uses none. The provider
	// ovn has no flavors and ignores it.
	//
	// Type: ID
	// Default: flavor-id of the cloud-config
	// Applies to: new load balancers
	AnnotationFlavorID annotation.Name = annotationPrefix + "flavor-id"

	// AnnotationAvailabilityZone is the Octavia availability zone. An empty value uses
	// none. If the provider has none, there is an Event.
	//
	// Type: name
	// Default: availability-zone of the cloud-config
	// Applies to: new load balancers
	AnnotationAvailabilityZone annotation.Name = annotationPrefix + "availability-zone"
)

// Load balancers that exist.
const (
	// AnnotationLoadBalancerID is the load balancer of the Service. Set it on a new Service to
	// use one that exists, also of another Service. The controller sets it once the load balancer
	// is known. A later change has no effect as long as that load balancer exists and has the
	// published address.
	//
	// Type: ID
	// Default: the load balancer with the name of the Service, which is created if there is none
	// Applies to: all load balancers
	AnnotationLoadBalancerID annotation.Name = annotationPrefix + "load-balancer-id"

	// AnnotationLoadBalancerAddress is set by the controller, to the floating IP or the
	// VIP of the load balancer.
	//
	// Type: IP address
	// Default: set by the controller
	// Applies to: all load balancers
	AnnotationLoadBalancerAddress annotation.Name = annotationPrefix + "load-balancer-address"

	// AnnotationTakeOver lets the Service have the load balancer of load-balancer-id although that was
	// made for a Service of the same name with this UID, which is gone: a cluster was restored from a
	// backup or made again. That the load balancer is of this Service now is written into its tags.
	//
	// Type: UID
	// Default: none
	// Applies to: all load balancers
	AnnotationTakeOver annotation.Name = "multicloud-ccm.io/take-over"

	// AnnotationLoadBalancers is set by the controller, to the UID of the Service, the
	// IDs of the load balancers that have parts of it, and the internal address that it keeps
	// although it is external, if there is one. If it is removed, a load balancer that the
	// Service leaves may keep parts of it.
	//
	// Type: UID, IDs and address
	// Default: set by the controller
	// Applies to: all load balancers
	AnnotationLoadBalancers annotation.Name = "multicloud-ccm.io/load-balancers"
)

// Protocols. They apply to TCP ports only.
const (
	// AnnotationProxyProtocol enables the PROXY protocol for all members. Together with
	// x-forwarded-for, it is an error.
	//
	// Type: true or v1 for version 1, v2 for version 2, false for none
	// Default: false
	// Applies to: TCP ports
	AnnotationProxyProtocol annotation.Name = annotationPrefix + "proxy-protocol"

	// AnnotationXForwardedFor makes HTTP listeners that add the header X-Forwarded-For.
	//
	// Type: true or false
	// Default: false
	// Applies to: TCP ports
	AnnotationXForwardedFor annotation.Name = annotationPrefix + "x-forwarded-for"

	// AnnotationTLSContainerRef is the TLS certificate of listeners, which then speak
	// HTTPS with clients and HTTP with members. An empty value disables TLS. Unless
	// container-store of the cloud-config has another value than barbican, the reference
	// must end in containers/<id> or secrets/<id>.
	//
	// Type: URL
	// Default: default-tls-container-ref of the cloud-config
	// Applies to: TCP ports
	AnnotationTLSContainerRef annotation.Name = annotationPrefix + "default-tls-container-ref"
)

// Traffic.
const (
	// AnnotationLBMethod is the algorithm of the pools.
	//
	// Type: ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT
	// Default: lb-method of the cloud-config, else ROUND_ROBIN, or SOURCE_IP_PORT with the provider ovn
	// Applies to: all load balancers
	AnnotationLBMethod annotation.Name = annotationPrefix + "lb-method"

	// AnnotationConnectionLimit is the maximum number of connections of each listener. -1
	// means that there is none.
	//
	// Type: int, at least -1
	// Default: -1
	// Applies to: all load balancers
	AnnotationConnectionLimit annotation.Name = annotationPrefix + "connection-limit"

	// AnnotationTimeoutClientData is the timeout of idle clients, in milliseconds.
	//
	// Type: int, 0 to 2073600000
	// Default: 50000
	// Applies to: all load balancers except those of the provider ovn
	AnnotationTimeoutClientData annotation.Name = annotationPrefix + "timeout-client-data"

	// AnnotationTimeoutMemberConnect is the timeout of connections to members, in
	// milliseconds.
	//
	// Type: int, 0 to 2073600000
	// Default: 5000
	// Applies to: all load balancers except those of the provider ovn
	AnnotationTimeoutMemberConnect annotation.Name = annotationPrefix + "timeout-member-connect"

	// AnnotationTimeoutMemberData is the timeout of idle members, in milliseconds.
	//
	// Type: int, 0 to 2073600000
	// Default: 50000
	// Applies to: all load balancers except those of the provider ovn
	AnnotationTimeoutMemberData annotation.Name = annotationPrefix + "timeout-member-data"

	// AnnotationTimeoutTCPInspect is the time to wait for more TCP packets to inspect, in
	// milliseconds.
	//
	// Type: int, 0 to 2073600000
	// Default: 0
	// Applies to: all load balancers except those of the provider ovn
	AnnotationTimeoutTCPInspect annotation.Name = annotationPrefix + "timeout-tcp-inspect"

	// AnnotationNodeSelector selects the members: Nodes that have all of these labels. A
	// key without a value matches any value. An empty list selects all Nodes. The labels
	// are read when the Service is synced: a change of a label alone causes no sync.
	//
	// Type: list of key=value
	// Default: node-selector of the cloud-config, else all Nodes
	// Applies to: all load balancers
	AnnotationNodeSelector annotation.Name = annotationPrefix + "node-selector"

	// AnnotationSourceRanges restricts the clients. It counts only if
	// spec.loadBalancerSourceRanges is empty. Ranges of another IP family than the VIP are
	// left out with an Event; if none is left, it is an error. With the provider ovn, they
	// need manage-security-groups.
	//
	// Type: list of CIDRs, separated by commas or blanks
	// Default: all clients
	// Applies to: all load balancers
	AnnotationSourceRanges annotation.Name = "service.beta.kubernetes.io/load-balancer-source-ranges"
)

// Health monitors.
const (
	// AnnotationEnableHealthMonitor gives the pools health monitors. If
	// externalTrafficPolicy is Local, they use the health check port of the Service where
	// the provider supports it.
	//
	// Type: true or false
	// Default: create-monitor of the cloud-config
	// Applies to: all load balancers
	AnnotationEnableHealthMonitor annotation.Name = annotationPrefix + "enable-health-monitor"

	// AnnotationHealthMonitorDelay is the time between two health checks, in seconds.
	//
	// Type: int, at least 1, or 3 for UDP ports
	// Default: monitor-delay of the cloud-config
	// Applies to: load balancers with health monitors
	AnnotationHealthMonitorDelay annotation.Name = annotationPrefix + "health-monitor-delay"

	// AnnotationHealthMonitorTimeout is the timeout of a health check, in seconds.
	//
	// Type: int, at least 1
	// Default: monitor-timeout of the cloud-config
	// Applies to: load balancers with health monitors
	AnnotationHealthMonitorTimeout annotation.Name = annotationPrefix + "health-monitor-timeout"

	// AnnotationHealthMonitorMaxRetries is the number of consecutive successful health
	// checks before a member receives traffic.
	//
	// Type: int, 1 to 10
	// Default: monitor-max-retries of the cloud-config
	// Applies to: load balancers with health monitors
	AnnotationHealthMonitorMaxRetries annotation.Name = annotationPrefix + "health-monitor-max-retries"

	// AnnotationHealthMonitorMaxRetriesDown is the number of consecutive failed health
	// checks before a member no longer receives traffic.
	//
	// Type: int, 1 to 10
	// Default: monitor-max-retries-down of the cloud-config
	// Applies to: load balancers with health monitors
	AnnotationHealthMonitorMaxRetriesDown annotation.Name = annotationPrefix + "health-monitor-max-retries-down"
)

// known has every annotation with the prefix.
var known = map[annotation.Name]bool{
	AnnotationClass: true, AnnotationSubnetID: true, AnnotationNetworkID: true, AnnotationMemberSubnetID: true,
	AnnotationPortID: true, AnnotationFloatingNetworkID: true, AnnotationFloatingSubnetID: true,
	AnnotationFloatingSubnet: true, AnnotationFloatingSubnetTags: true, AnnotationKeepFloatingIP: true,
	AnnotationHostname: true, AnnotationFlavorID: true, AnnotationAvailabilityZone: true,
	AnnotationLoadBalancerID: true, AnnotationLoadBalancerAddress: true, AnnotationProxyProtocol: true,
	AnnotationXForwardedFor: true, AnnotationTLSContainerRef: true, AnnotationLBMethod: true,
	AnnotationConnectionLimit: true, AnnotationTimeoutClientData: true, AnnotationTimeoutMemberConnect: true,
	AnnotationTimeoutMemberData: true, AnnotationTimeoutTCPInspect: true, AnnotationNodeSelector: true,
	AnnotationEnableHealthMonitor: true, AnnotationHealthMonitorDelay: true, AnnotationHealthMonitorTimeout: true,
	AnnotationHealthMonitorMaxRetries: true, AnnotationHealthMonitorMaxRetriesDown: true,
}
