package features

import "slices"

// OVN is the provider of load balancers inside Open vSwitch.
const OVN = "ovn"

// amphora are the names of the provider whose load balancers are servers. The last one
// is the old name of the first (octavia: etc/octavia.conf, enabled_provider_drivers).
var amphora = []string{"amphora", "amphorav2", "octavia"}

// Option is something that an API or a provider may lack. Its text is for users.
type Option string

// The options.
const (
	Timeouts          Option = "timeouts of listeners"
	Tags              Option = "tags"
	Flavors           Option = "flavors"
	AdditiveMembers   Option = "additive updates of members"
	AllowedCIDRs      Option = "allowed CIDRs of listeners"
	SourceIPPort      Option = "the algorithm SOURCE_IP_PORT"
	AvailabilityZones Option = "availability zones"
	UDPHTTPMonitors   Option = "HTTP health monitors of UDP pools"
	Proxy             Option = "the PROXY protocol"
	ProxyV2           Option = "version 2 of the PROXY protocol"
	SCTP              Option = "SCTP"
	AdditionalVIPs    Option = "additional VIPs"
	VIPSecurityGroups Option = "security groups of VIPs"
	// HTTPListeners are those of the protocols HTTP and TERMINATED_HTTPS.
	HTTPListeners Option = "HTTP and TLS listeners"
	HTTPMonitors  Option = "HTTP health monitors"
	SCTPMonitors  Option = "SCTP health monitors"
	// MonitorPorts are ports of members that only health monitors use.
	MonitorPorts Option = "health check ports of members"
	// RemoteMembers are members outside of the subnet of the VIP that have no subnet.
	RemoteMembers Option = "members outside of the subnet of the VIP without a subnet"
	// MixedFamilies are members of another IP family than the VIP.
	MixedFamilies Option = "members of another IP family"
	// Persistence binds clients to members by their addresses.
	Persistence Option = "session persistence"
)

// rule is what an option needs.
type rule struct {
	// since is the first version of the API that has the option (octavia:
	// api/root_controller.py, api-ref release notes of each version).
	since Version
	// ovn reports whether load balancers of OVN have it (ovn-octavia-provider:
	// driver.py, common/constants.py). It refuses the others with 501, but for timeouts,
	// which it ignores.
	ovn bool
}

// rules holds every option.
//
// OVN computes changes of members on its own: a list that is not all of them is not
// sent to it.
var rules = map[Option]rule{
	Timeouts:          {since: Version{2, 1}},
	Tags:              {since: Version{2, 5}, ovn: true},
	Flavors:           {since: Version{2, 6}},
	AdditiveMembers:   {since: Version{2, 11}},
	AllowedCIDRs:      {since: Version{2, 12}},
	SourceIPPort:      {since: Version{2, 13}, ovn: true},
	AvailabilityZones: {since: Version{2, 14}},
	UDPHTTPMonitors:   {since: Version{2, 16}},
	Proxy:             {since: Version{2, 0}},
	ProxyV2:           {since: Version{2, 22}},
	SCTP:              {since: Version{2, 23}, ovn: true},
	AdditionalVIPs:    {since: Version{2, 26}, ovn: true},
	VIPSecurityGroups: {since: Version{2, 29}},
	HTTPListeners:     {since: Version{2, 0}},
	HTTPMonitors:      {since: Version{2, 0}},
	SCTPMonitors:      {since: Version{2, 0}}, // as old as SCTP itself, which no version lacks
	MonitorPorts:      {since: Version{2, 0}},
	RemoteMembers:     {since: Version{2, 0}},
	MixedFamilies:     {since: Version{2, 0}},
	// Persistence is missing in old releases of OVN, which refuse it.
	Persistence: {since: Version{2, 0}, ovn: true},
}

// Features are what load balancers of a provider can do in a cloud. The zero Features
// are those of the oldest API.
type Features struct {
	version  Version
	provider string
	lacking  []Option
}

// Newest is a version that has all options.
var Newest = Version{2, 29}

// For returns the features of load balancers of a provider. The provider is empty if
// the cloud selects one, which is not known.
func For(version Version, provider string) Features {
	return Features{version: version, provider: provider}
}

// Without returns the features without options that are not to be used.
func (f Features) Without(options ...Option) Features {
	f.lacking = slices.Concat(f.lacking, options)

	return f
}

// Has reports whether an option can be used.
func (f Features) Has(option Option) bool {
	r, known := rules[option]

	return known && f.version.AtLeast(r.since) && (r.ovn || !f.IsOVN()) && !slices.Contains(f.lacking, option)
}

// Version is the version of the API.
func (f Features) Version() Version { return f.version }

// Provider is the provider of the load balancer, empty if it is not known.
func (f Features) Provider() string { return f.provider }

// IsOVN reports whether the provider is OVN.
func (f Features) IsOVN() bool { return f.provider == OVN }

// isAmphora reports whether the provider is known to be that of Octavia itself.
func (f Features) isAmphora() bool { return slices.Contains(amphora, f.provider) }

// KeepsSource reports whether members see the addresses of clients, so that rules of
// their security groups must allow clients instead of the load balancer.
func (f Features) KeepsSource() bool { return f.IsOVN() }
