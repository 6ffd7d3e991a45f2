package openstack

import "time"

// Defaults of load balancers.
const (
	defaultLBProvider         = "amphora"
	defaultLBMethod           = "ROUND_ROBIN"
	defaultOVNMethod          = "SOURCE_IP_PORT"
	defaultMonitorDelay       = Duration(5 * time.Second)
	defaultMonitorTimeout     = Duration(3 * time.Second)
	defaultMonitorRetries     = 1
	defaultMonitorRetriesDown = 3
	defaultIngressSuffix      = "nip.io"
	defaultMaxSharedLB        = 2
)

// Values of keys.
const (
	lbVersion2 = "v2"

	storeBarbican = "barbican"
	storeExternal = "external"

	providerOVN = "ovn"
)

// LoadBalancer is the section for all load balancers. Annotations of a Service and
// its class take precedence over most keys.
type LoadBalancer struct {
	// Enabled offers load balancers.
	// Default: true
	Enabled bool `gcfg:"enabled"`
	// LBVersion is the version of the API. There is only v2.
	// Default: v2
	LBVersion string `gcfg:"lb-version"`
	// LBProvider is the Octavia provider of new load balancers. If it is empty, the
	// cloud selects one.
	// Default: amphora
	LBProvider string `gcfg:"lb-provider"`
	// LBMethod is the algorithm of pools: ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP or
	// SOURCE_IP_PORT.
	// Default: ROUND_ROBIN, or SOURCE_IP_PORT with the provider ovn
	LBMethod string `gcfg:"lb-method"`
	Networks
	// CreateMonitor gives pools a health monitor.
	CreateMonitor bool `gcfg:"create-monitor"`
	// MonitorDelay is the time between two health checks, in whole seconds. A number
	// without a unit is in seconds.
	// Default: 5s
	MonitorDelay Duration `gcfg:"monitor-delay"`
	// MonitorTimeout bounds a health check, in whole seconds. A number without a unit
	// is in seconds.
	// Default: 3s
	MonitorTimeout Duration `gcfg:"monitor-timeout"`
	// MonitorMaxRetries is the number of health checks, from 1 to 10, that must succeed
	// before a member gets traffic.
	// Default: 1
	MonitorMaxRetries uint `gcfg:"monitor-max-retries"`
	// MonitorMaxRetriesDown is the number of health checks, from 1 to 10, that must
	// fail before a member gets no more traffic.
	// Default: 3
	MonitorMaxRetriesDown uint `gcfg:"monitor-max-retries-down"`
	// ManageSecurityGroups makes a security group for each Service, which allows the
	// traffic of its load balancer to the Nodes.
	ManageSecurityGroups bool `gcfg:"manage-security-groups"`
	// InternalLB makes every load balancer internal, whatever the annotation of the
	// Service is.
	InternalLB bool `gcfg:"internal-lb"`
	// NodeSelector lists labels, separated by commas, that Nodes must have to be
	// members: a key with its value, as in k=v, or a key alone.
	// Default: all Nodes
	NodeSelector string `gcfg:"node-selector"`
	// CascadeDelete deletes a load balancer with all its parts in one request.
	// Default: true
	CascadeDelete bool `gcfg:"cascade-delete"`
	// FlavorID is the ID of the flavor of new load balancers.
	FlavorID string `gcfg:"flavor-id"`
	// AvailabilityZone is the availability zone of new load balancers.
	AvailabilityZone string `gcfg:"availability-zone"`
	// EnableIngressHostname publishes a host name instead of the address of a load
	// balancer that uses the PROXY protocol, so that traffic inside the cluster passes
	// through it.
	EnableIngressHostname bool `gcfg:"enable-ingress-hostname"`
	// IngressHostnameSuffix is the domain of these host names. A DNS server must return
	// for each of them the address that it begins with.
	// Default: nip.io
	IngressHostnameSuffix string `gcfg:"ingress-hostname-suffix"`
	// MaxSharedLB is the number of Services that can share a load balancer, its owner
	// included.
	// Default: 2
	MaxSharedLB int `gcfg:"max-shared-lb"`
	// ContainerStore is where TLS certificates are kept. With barbican, certificates must
	// exist there before anything is written; with external, they are not looked up.
	// Default: barbican
	ContainerStore string `gcfg:"container-store"`
	// DefaultTLSContainerRef is the reference to a TLS certificate for all Services
	// without an annotation.
	DefaultTLSContainerRef string `gcfg:"default-tls-container-ref"`
	// ProviderRequiresSerialAPICalls makes a load balancer part by part, for Octavia
	// providers that cannot do so in one request.
	ProviderRequiresSerialAPICalls bool `gcfg:"provider-requires-serial-api-calls"`
}

// LoadBalancerClass is the section for one class.
type LoadBalancerClass struct {
	Networks
}

// Networks defines where the addresses of load balancers come from.
type Networks struct {
	// FloatingNetworkID is the ID of the external network of floating IPs.
	// Default: the external network that a router leads to, else that with the smallest ID
	FloatingNetworkID string `gcfg:"floating-network-id"`
	// FloatingSubnetID is the ID of the subnet of floating IPs. It takes precedence over
	// floating-subnet and floating-subnet-tags.
	FloatingSubnetID string `gcfg:"floating-subnet-id"`
	// FloatingSubnet is the name of the subnet of floating IPs, a pattern with * and ?,
	// or a regular expression after a tilde. An exclamation mark before it selects the
	// subnets that it does not match.
	FloatingSubnet string `gcfg:"floating-subnet"`
	// FloatingSubnetTags lists tags of the subnet of floating IPs, separated by commas.
	// One of them is enough, all of them are required after &, and an exclamation mark
	// before the list selects the other subnets.
	FloatingSubnetTags string `gcfg:"floating-subnet-tags"`
	// NetworkID is the ID of the network of load balancers.
	NetworkID string `gcfg:"network-id"`
	// SubnetID is the ID of the subnet of load balancers.
	// Default: the subnet of the Nodes
	SubnetID string `gcfg:"subnet-id"`
	// MemberSubnetID is the ID of the subnet of the members of pools.
	// Default: subnet-id; without it and network-id, the subnet of each Node
	MemberSubnetID string `gcfg:"member-subnet-id"`
}

// method returns the algorithm of the pools of a load balancer of this provider.
func (c *Config) method(provider string) string {
	switch {
	case c.methodSet:
		return c.LoadBalancer.LBMethod
	case provider == providerOVN:
		return defaultOVNMethod
	default:
		return defaultLBMethod
	}
}
