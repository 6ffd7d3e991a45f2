package vsphere

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nodes"
)

// Defaults.
const (
	defaultPort             = 443
	defaultRoundtripCount   = 3
	defaultSecretsDirectory = "/etc/cloud/secrets"
)

// Config is what this provider reads from a cloud-config. The names of keys are
// those of INI files; YAML files have them in camelCase, and call VirtualCenter
// vcenter.
type Config struct {
	// Global has the settings of all vCenters. The section of a vCenter takes
	// precedence over it.
	Global Global
	// VirtualCenter is one section for each vCenter, with its address or any
	// other name in quotes.
	VirtualCenter map[string]*VirtualCenter
	// Labels names the tag categories of zones and regions.
	Labels Labels
	// Nodes selects the addresses of a VM that become addresses of its Node.
	Nodes nodes.Networks
	// LoadBalancer has the settings of load balancers.
	LoadBalancer LoadBalancer
	// LoadBalancerClass is one section for each class of load balancers, with its name in
	// quotes.
	LoadBalancerClass map[string]*LoadBalancerClass
	// Route selects the gateway that gets routes to Pods.
	Route Route
	// NSXT is how to reach the NSX-T manager.
	NSXT NSXT

	// deleteByName is [NodeDeletion] by-name, one of the settings of all
	// providers.
	deleteByName bool
	// maxTargets is [LoadBalancer] max-targets, another one of them.
	maxTargets *int32
	// deletionLimit is [NodeDeletion] limit, nil for the default.
	deletionLimit *int32
	// skipNodeDeletion is set by SKIP_NODE_DELETION in the environment: a VM
	// that is gone is then an error, and its Node stays.
	skipNodeDeletion bool
}

// Global is the section for all vCenters.
type Global struct {
	// Server adds a vCenter with this address unless a section with that name
	// exists. Prefer one section for each vCenter.
	Server string `gcfg:"server"`
	Connection
	// SecretsDirectory is a directory with a file for each credential, named like
	// the keys of the Secret. If a Secret is set, it takes precedence.
	// Default: /etc/cloud/secrets if that directory exists
	SecretsDirectory string `gcfg:"secrets-directory"`
}

// VirtualCenter is the section for one vCenter.
type VirtualCenter struct {
	// Server is the address of the vCenter: a host name or an IP address.
	// Credentials in Secrets and directories are looked up by it. Required in YAML
	// files.
	// Default: the name of the section
	Server string `gcfg:"server"`
	// Retired is for a vCenter that is being replaced, or is broken for long. While it
	// responds, its VMs are found. Nothing waits for it, and the Nodes of VMs that are
	// missing in the other vCenters are deleted without it. Nodes with the label of
	// this vCenter are kept. At least one vCenter must not be retired.
	// Default: false
	Retired bool `gcfg:"retired"`
	Connection
}

// Connection defines how to reach a vCenter. In the section of one it takes
// precedence over [Global].
type Connection struct {
	// User is the user name, or a certificate in PEM format. If a Secret or a
	// directory has the credentials, it is not needed and not taken from [Global].
	User Username `gcfg:"user"`
	// Password is the password of the user, or the private key of the
	// certificate in PEM format.
	Password config.Secret `gcfg:"password"`
	// Port is the HTTPS port.
	// Default: 443
	Port Port `gcfg:"port"`
	// InsecureFlag accepts every certificate. If it is true in [Global], a vCenter
	// cannot set it back to false.
	// Default: false
	InsecureFlag bool `gcfg:"insecure-flag"`
	// Datacenters are the datacenters with VMs of this cluster, by name, by
	// inventory path or as Datacenter:<id>.
	// Default: all of the vCenter
	Datacenters config.List `gcfg:"datacenters"`
	// SoapRoundtripCount is the number of attempts of a call that fails because of
	// the network.
	// Default: 3
	SoapRoundtripCount uint `gcfg:"soap-roundtrip-count"`
	// CAFile is the path of the CA certificates, in PEM format, that the
	// certificate of the vCenter is verified with.
	// Default: the certificates of the system
	CAFile string `gcfg:"ca-file"`
	// Thumbprint is the SHA-1 or SHA-256 fingerprint, in hexadecimal, of a server
	// certificate to accept even if its chain cannot be verified.
	Thumbprint Thumbprint `gcfg:"thumbprint"`
	// SecretName is the name of the Kubernetes Secret with the credentials. Takes
	// effect only together with secret-namespace.
	SecretName string `gcfg:"secret-name"`
	// SecretNamespace is the namespace of that Secret.
	SecretNamespace string `gcfg:"secret-namespace"`
	// IPFamily lists the IP families of node addresses, the preferred one first.
	// A Node must have an address of each.
	// Default: ipv4
	IPFamily Families `gcfg:"ip-family"`
}

// Labels is the section for topology.
type Labels struct {
	// Zone is the tag category of zones.
	Zone string `gcfg:"zone"`
	// Region is the tag category of regions.
	Region string `gcfg:"region"`
}

// schema describes what files for vSphere hold beside the keys of Config.
func schema() config.Schema {
	const (
		inTree = "the in-tree cloud provider of old Kubernetes versions reads it"
		csi    = "the vSphere CSI driver reads it"
		api    = "the node API no longer exists"
	)
	foreign := map[config.Name]string{
		{Section: "Workspace"}:                      inTree,
		{Section: "Disk"}:                           inTree,
		{Section: "Network"}:                        inTree,
		{Section: "Global", Key: "service-account"}: "it is no longer used",
		{Section: "Global", Key: "api-disable"}:     api,
		{Section: "Global", Key: "api-binding"}:     api,

		{Section: "NetPermissions"}:                     csi,
		{Section: "Snapshot"}:                           csi,
		{Section: "TopologyCategory"}:                   csi,
		{Section: "Labels", Key: "topology-categories"}: csi,
	}
	for _, key := range []string{"datacenter", "datastore", "working-dir", "vm-uuid", "vm-name"} {
		foreign[config.Name{Section: "Global", Key: key}] = inTree
	}
	for _, key := range []string{
		"cluster-id", "cluster-distribution", "supervisor-id", "query-limit", "list-volume-threshold",
		"csi-auth-check-intervalinmin", "csi-fetch-preferred-datastores-intervalinmin",
	} {
		foreign[config.Name{Section: "Global", Key: key}] = csi
	}
	for _, key := range []string{"targetvSANFileShareDatastoreURLs", "targetvSANFileShareClusters", "migration-datastore-url"} {
		foreign[config.Name{Section: "VirtualCenter", Key: key}] = csi
	}

	return config.Schema{
		Aliases: map[string]string{"vcenter": "VirtualCenter", "nsxt": "NSXT"},
		Foreign: foreign,
	}
}

// Username is the user to log in as, or a certificate in PEM form, which is not
// shown.
type Username string

// UnmarshalText takes the name over as it is.
func (u *Username) UnmarshalText(text []byte) error {
	*u = Username(text)

	return nil
}

// String is the name, or a word for a certificate.
func (u Username) String() string {
	if strings.Contains(string(u), "-----BEGIN ") {
		return "<PEM certificate>"
	}

	return string(u)
}

// Port is a TCP port. Zero is the default.
type Port uint16

// UnmarshalText reads a port; an empty one is the default.
func (p *Port) UnmarshalText(text []byte) error {
	*p = 0
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return nil
	}
	number, err := strconv.ParseUint(trimmed, 10, 16)
	if err != nil {
		return fmt.Errorf("%q is not a port number (1 to 65535)", text)
	}
	*p = Port(number)

	return nil
}

// Thumbprint is a fingerprint of a certificate as it was written.
type Thumbprint string

// UnmarshalText takes hexadecimal digits, with colons or without.
func (t *Thumbprint) UnmarshalText(text []byte) error {
	const sha1, sha256 = 20, 32
	trimmed := strings.TrimSpace(string(text))
	sum, err := hex.DecodeString(strings.ReplaceAll(trimmed, ":", ""))
	if size := len(sum); err != nil || size != 0 && size != sha1 && size != sha256 {
		return fmt.Errorf("%q is neither a SHA-1 nor a SHA-256 fingerprint in hexadecimal", text)
	}
	*t = Thumbprint(trimmed)

	return nil
}

// Families are IP families, the preferred one first.
type Families []address.Family

// UnmarshalText reads a comma-separated list.
func (f *Families) UnmarshalText(text []byte) error {
	var names config.List
	if err := names.UnmarshalText(text); err != nil {
		return err
	}
	families, err := address.ParseFamilies(names...)
	if err != nil {
		return fmt.Errorf("Invalid IP Family type: %w", err) //nolint:staticcheck // a text that users know
	}
	*f = families

	return nil
}

// String formats the list as it is read.
func (f Families) String() string {
	return strings.Join(lists.Map(f, func(family address.Family) string { return string(family) }), ",")
}
