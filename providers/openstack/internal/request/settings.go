package request

// Settings are the values of the cloud-config and the command line that load balancers
// depend on.
type Settings struct {
	// ClusterName is the flag --cluster-name.
	ClusterName string
	// Networks are the keys of [LoadBalancer], Classes those of each
	// [LoadBalancerClass].
	Networks Networks
	Classes  map[string]Networks
	// Method is lb-method, empty if the file does not have it: the default depends on the
	// provider.
	Method string
	// Monitor are the keys about health monitors, with their defaults.
	Monitor MonitorSettings
	// InternalOnly is internal-lb.
	InternalOnly bool
	// NodeSelector, FlavorID, AvailabilityZone and TLSContainerRef are the values for
	// Services without an annotation.
	NodeSelector     string
	FlavorID         string
	AvailabilityZone string
	TLSContainerRef  string
	// ContainerStore is where TLS certificates are kept.
	ContainerStore string
	// ManageSecurityGroups is manage-security-groups.
	ManageSecurityGroups bool
	// IngressHostnameSuffix is ingress-hostname-suffix if enable-ingress-hostname is set,
	// else empty.
	IngressHostnameSuffix string
}

// Networks define where addresses come from. The fields are those of the section of the
// cloud-config, in its order.
type Networks struct {
	FloatingNetworkID  string
	FloatingSubnetID   string
	FloatingSubnet     string
	FloatingSubnetTags string
	NetworkID          string
	SubnetID           string
	MemberSubnetID     string
}

// MonitorSettings are the settings of health monitors. Times are in seconds.
type MonitorSettings struct {
	Create         bool
	Delay          int
	Timeout        int
	MaxRetries     int
	MaxRetriesDown int
}
