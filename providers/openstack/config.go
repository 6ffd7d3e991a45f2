package openstack

import (
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// Config is what this provider reads from a cloud-config.
type Config struct {
	// Global defines where the cloud is and how to log in.
	Global Global
	// Networking selects the addresses of a server that become addresses of its
	// Node.
	Networking Networking
	// LoadBalancer has the settings of all load balancers.
	LoadBalancer LoadBalancer
	// LoadBalancerClass is one section for each class that Services can select by
	// the annotation loadbalancer.openstack.org/class, with the name of the class in
	// quotes.
	LoadBalancerClass map[string]*LoadBalancerClass
	// Route defines where routes to Nodes are made.
	Route Route
	// Metadata has the timeout of requests.
	Metadata Metadata

	// sortOrder are the valid items of AddressSortOrder.
	sortOrder address.Prefixes
	// methodSet reports whether the file sets LBMethod: otherwise, the method depends
	// on the provider of the load balancer.
	methodSet bool
	// maxTargets is [LoadBalancer] max-targets, one of the settings of all providers.
	maxTargets *int32
	// regional is OS_CCM_REGIONAL in the environment: provider IDs have the region.
	regional bool
	// waitLimit is how long the change of a load balancer is waited for, zero for the default.
	waitLimit time.Duration
	// deletionLimit is [NodeDeletion] limit, one of the settings of all providers. Nil means
	// the default.
	deletionLimit *int32
	// login is what authenticates, taken from Global once all of it is known.
	login client.Credentials
}

// Global is the section for the cloud and the credentials. Set a user and a
// password, an application credential, or a token. Keys that are not set can
// come from a clouds.yaml file.
type Global struct {
	// AuthURL is the URL of Keystone, with its version or without. It is required.
	AuthURL URL `gcfg:"auth-url"`
	// Username is the name of the user. It needs a domain.
	Username string `gcfg:"username"`
	// UserID is the ID of the user, instead of a name and a domain.
	UserID string `gcfg:"user-id"`
	// Password is the password of the user.
	Password config.Secret `gcfg:"password"`
	// TenantID is the ID of the project. It takes precedence over tenant-name.
	TenantID string `gcfg:"tenant-id"`
	// TenantName is the name of the project. It needs a domain.
	TenantName string `gcfg:"tenant-name"`
	// DomainID is the ID of the domain of the user and of the project, unless they
	// have domains of their own.
	DomainID string `gcfg:"domain-id"`
	// DomainName is the name of that domain.
	DomainName string `gcfg:"domain-name"`
	// TenantDomainID is the ID of the domain of the project.
	// Default: that of domain-id
	TenantDomainID string `gcfg:"tenant-domain-id"`
	// TenantDomainName is the name of the domain of the project.
	// Default: that of domain-name
	TenantDomainName string `gcfg:"tenant-domain-name"`
	// UserDomainID is the ID of the domain of the user.
	// Default: that of domain-id
	UserDomainID string `gcfg:"user-domain-id"`
	// UserDomainName is the name of the domain of the user.
	// Default: that of domain-name
	UserDomainName string `gcfg:"user-domain-name"`
	// TrustID is the ID of a trust, whose project then is the one that is used.
	TrustID string `gcfg:"trust-id"`
	// TrusteeID is the ID of the user of the trust. It replaces user-id.
	TrusteeID string `gcfg:"trustee-id"`
	// TrusteePassword is the password of that user. It replaces password.
	TrusteePassword config.Secret `gcfg:"trustee-password"`
	// ApplicationCredentialID is the ID of an application credential. Its project
	// is the one that is used.
	ApplicationCredentialID string `gcfg:"application-credential-id"`
	// ApplicationCredentialName is the name of an application credential. It needs a
	// user, who has a domain.
	ApplicationCredentialName string `gcfg:"application-credential-name"`
	// ApplicationCredentialSecret is the secret of the application credential.
	ApplicationCredentialSecret config.Secret `gcfg:"application-credential-secret"`
	// Token is a token to log in with. It must have a project, and cannot be renewed
	// once it has expired.
	Token config.Secret `gcfg:"token"`
	// Region is the region whose endpoints are called. It becomes the label
	// topology.kubernetes.io/region of Nodes.
	// Default: the first endpoints of the catalog, and no label
	Region string `gcfg:"region"`
	// EndpointType is the kind of endpoints that are called: public, internal or
	// admin.
	// Default: public
	EndpointType EndpointType `gcfg:"os-endpoint-type"`
	// CAFile is the path of the CA certificates, in PEM format, that replace those of
	// the system.
	// Default: the certificates of the system
	CAFile string `gcfg:"ca-file"`
	// CAFileContents are CA certificates in PEM format. Takes effect only without
	// ca-file.
	CAFileContents PEM `gcfg:"cafilecontents"`
	// TLSInsecure accepts every certificate if it is exactly true.
	TLSInsecure string `gcfg:"tls-insecure"`
	// CertFile is the path of a client certificate in PEM format. Takes effect only
	// together with key-file.
	CertFile string `gcfg:"cert-file"`
	// KeyFile is the path of the key of that certificate in PEM format.
	KeyFile string `gcfg:"key-file"`
	// UseClouds takes the keys of this section that are not set from a clouds.yaml
	// file.
	UseClouds bool `gcfg:"use-clouds"`
	// CloudsFile is the path of that file.
	// Default: OS_CLIENT_CONFIG_FILE, else clouds.yaml or clouds.yml in the working directory, in ~/.config/openstack or in /etc/openstack
	CloudsFile string `gcfg:"clouds-file"`
	// Cloud is the name of the cloud in that file. It also sets use-clouds.
	// Default: OS_CLOUD, else the only cloud of the file
	Cloud string `gcfg:"cloud"`
}

// Networking is the section for node addresses.
type Networking struct {
	// IPv6SupportDisabled leaves out all IPv6 addresses.
	IPv6SupportDisabled bool `gcfg:"ipv6-support-disabled"`
	// PublicNetworkName is the name of a network whose addresses are external
	// addresses. Use one line for each network.
	// Default: no network
	PublicNetworkName []string `gcfg:"public-network-name"`
	// InternalNetworkName is the name of a network whose addresses are internal
	// addresses. Use one line for each network.
	// Default: all networks that are not public
	InternalNetworkName []string `gcfg:"internal-network-name"`
	// AddressSortOrder is a list of address blocks, separated by commas or blanks.
	// Addresses in the first block come first, in ascending order.
	AddressSortOrder string `gcfg:"address-sort-order"`
}

// Route is the section for routes.
type Route struct {
	// RouterID is the ID of the router that gets a route to the Pods of each Node.
	// Without it, no routes are made.
	RouterID string `gcfg:"router-id"`
}

// Metadata is the section for requests.
type Metadata struct {
	// SearchOrder has no effect: neither the metadata service nor a config drive is
	// read. It must be one or both of configDrive and metadataService, separated by a
	// comma.
	// Default: configDrive,metadataService
	SearchOrder string `gcfg:"search-order"`
	// RequestTimeout bounds each request to OpenStack. A number without a unit is in
	// seconds.
	// Default: 1m0s
	RequestTimeout Duration `gcfg:"request-timeout"`
}

const (
	defaultRequestTimeout = Duration(60 * time.Second)
	defaultSearchOrder    = "configDrive,metadataService"
)

// newConfig returns a configuration with the defaults that an explicit zero in
// the file must not become.
func newConfig() *Config {
	return &Config{
		LoadBalancer: LoadBalancer{
			Enabled: true, CascadeDelete: true, LBProvider: defaultLBProvider, ContainerStore: storeBarbican,
			MonitorDelay: defaultMonitorDelay, MonitorTimeout: defaultMonitorTimeout,
			MonitorMaxRetries: defaultMonitorRetries, MonitorMaxRetriesDown: defaultMonitorRetriesDown,
			MaxSharedLB: defaultMaxSharedLB,
		},
		Metadata: Metadata{SearchOrder: defaultSearchOrder},
	}
}

// schema describes the names in cloud-configs for OpenStack that are not in
// Config.
func schema() config.Schema {
	const (
		cinder = "the Cinder CSI driver reads it"
		unused = "it is no longer used"
	)
	foreign := map[config.Name]string{
		{Section: "BlockStorage"}: cinder,
		{Section: "KeyManager"}:   "the Barbican KMS plugin reads it",

		{Section: "LoadBalancer", Key: "use-octavia"}:         unused,
		{Section: "LoadBalancer", Key: "node-security-group"}: unused,
	}
	for _, key := range []string{"kubeconfig-path", "secret-name", "secret-namespace"} {
		foreign[config.Name{Section: "Global", Key: key}] = unused
	}

	return config.Schema{Foreign: foreign}
}
