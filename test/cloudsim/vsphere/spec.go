package vsphere

import (
	"time"

	"k8s.io/utils/clock"
)

// Spec describes a fleet of simulated vCenters. It is written in Go or as YAML
// (see [ParseSpec]); whatever is left out has a default that is the same in
// every run.
type Spec struct {
	VCenters []VCenterSpec `yaml:"vcenters"`
	// Linked lists groups of vCenters, by name, that have one directory, as in
	// Enhanced Linked Mode: one account with one password, which failures at any
	// of them lock. The first vCenter of a group names the account. Each of the
	// others has a directory of its own.
	Linked [][]string `yaml:"linked"`
	// Clock times the lockout of accounts. Default: the real one.
	Clock clock.PassiveClock `yaml:"-"`
}

// VCenterSpec describes one vCenter and its inventory.
type VCenterSpec struct {
	// Name distinguishes the vCenters of a fleet; it is not visible to clients.
	Name string `yaml:"name"`
	// User is the only account. Default: administrator@vsphere.local.
	User string `yaml:"user"`
	// Password of the account. Default: "secret".
	Password string `yaml:"password"`
	// Listen is a loopback host and port. Default: 127.0.0.1:0.
	Listen string `yaml:"listen"`
	// InMemory uses no port: only [VCenter.Dial] connects, and Listen is only a
	// name. Such a vCenter can be started in a testing/synctest bubble and goes
	// by its time.
	InMemory bool `yaml:"-"`
	// Plain disables TLS.
	Plain bool `yaml:"plain"`
	// CertFile and KeyFile replace the generated certificate.
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
	// SessionTimeout ends idle SOAP and REST sessions. Default: 30m.
	SessionTimeout time.Duration `yaml:"sessionTimeout"`
	// RESTSessionTimeout ends idle REST sessions. Default: SessionTimeout.
	RESTSessionTimeout time.Duration `yaml:"restSessionTimeout"`
	// Latency is added to every call.
	Latency time.Duration `yaml:"latency"`
	// SessionManagerToken enables the shared session endpoint, which requires
	// this bearer token.
	SessionManagerToken string `yaml:"sessionManagerToken"`
	// Tags exist from the start, attached to nothing.
	Tags Tags `yaml:"tags"`
	// Datacenters of this vCenter.
	Datacenters []DatacenterSpec `yaml:"datacenters"`
}

// DatacenterSpec describes a datacenter. One without any cluster or host gets
// a cluster with a host.
type DatacenterSpec struct {
	Name string `yaml:"name"`
	// Folder is the path of folders above the datacenter, such as "emea/prod".
	Folder string `yaml:"folder"`
	Tags   Tags   `yaml:"tags"`
	// Clusters with their hosts.
	Clusters []ClusterSpec `yaml:"clusters"`
	// Hosts outside clusters.
	Hosts []HostSpec `yaml:"hosts"`
	// Folders for VMs. Those that VMs name need not be listed.
	Folders []FolderSpec `yaml:"folders"`
	VMs     []VMSpec     `yaml:"vms"`
}

// ClusterSpec describes a cluster. One without hosts gets one.
type ClusterSpec struct {
	Name  string     `yaml:"name"`
	Tags  Tags       `yaml:"tags"`
	Hosts []HostSpec `yaml:"hosts"`
	// Pools and VApps below the cluster's root resource pool.
	Pools []PoolSpec `yaml:"pools"`
	VApps []PoolSpec `yaml:"vapps"`
}

// HostSpec describes an ESXi host.
type HostSpec struct {
	Name string `yaml:"name"`
	Tags Tags   `yaml:"tags"`
}

// PoolSpec describes a resource pool or a vApp, and what is nested in it.
type PoolSpec struct {
	Name  string     `yaml:"name"`
	Tags  Tags       `yaml:"tags"`
	Pools []PoolSpec `yaml:"pools"`
	VApps []PoolSpec `yaml:"vapps"`
}

// FolderSpec describes a folder for VMs.
type FolderSpec struct {
	// Path below the datacenter's vm folder, such as "k8s/prod".
	Path string `yaml:"path"`
	Tags Tags   `yaml:"tags"`
}

// VMSpec describes a virtual machine.
type VMSpec struct {
	Name string `yaml:"name"`
	// Hostname is what the guest reports. Default: the name in lower case.
	Hostname string `yaml:"hostname"`
	// UUID is the BIOS UUID. Default: derived from the names of vCenter,
	// datacenter and VM.
	UUID string `yaml:"uuid"`
	// Guest is the guest OS identifier. Default: ubuntu64Guest.
	Guest string `yaml:"guest"`
	// CPUs and MemoryMB size the VM. Default: 2 and 4096.
	CPUs     int `yaml:"cpus"`
	MemoryMB int `yaml:"memoryMB"`
	// Power is the state of the VM. Default: on.
	Power Power `yaml:"power"`
	// NoTools is a guest without VMware Tools: it reports neither a host name
	// nor networks.
	NoTools bool `yaml:"noTools"`
	// Host is the name of the host. Default: the hosts of the pool, or of the
	// datacenter, in turn.
	Host string `yaml:"host"`
	// Pool is a resource pool or vApp as "cluster/pool/…". Default: the root
	// pool of the host.
	Pool string `yaml:"pool"`
	// Folder is the path below the datacenter's vm folder.
	Folder string `yaml:"folder"`
	NICs   []NIC  `yaml:"nics"`
	// ExtraConfig holds keys such as guestinfo.metadata.
	ExtraConfig map[string]string `yaml:"extraConfig"`
	Tags        Tags              `yaml:"tags"`
}

// NIC is a network adapter as the guest reports it.
type NIC struct {
	// Network is the name of the port group. Default: "VM Network", or none for
	// an interface without a device.
	Network string `yaml:"network"`
	// IPs without prefix length, in the order that the guest reports.
	IPs []string `yaml:"ips"`
	// IPStates has the states of some of the IPs. Default: preferred, of no known
	// origin.
	IPStates map[string]IPState `yaml:"ipStates"`
	// MAC address. Default: derived from the VM's UUID.
	MAC string `yaml:"mac"`
	// DeviceConfigID is the key of the virtual device, or -1 for interfaces
	// that exist in the guest alone. Default: 4000 and up.
	DeviceConfigID *int32 `yaml:"deviceConfigID"`
}

// IPState is what the guest reports of an address, in the words of
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/NetIpConfigInfoIpAddress.
type IPState struct {
	// State is preferred, deprecated, tentative and so on. Default: preferred.
	State string `yaml:"state"`
	// Origin is manual, dhcp, linklayer, random or other. Default: none, as Linux
	// guests report it.
	Origin string `yaml:"origin"`
}

// Power is the power state of a VM.
type Power string

// The power states.
const (
	On        Power = "on"
	Off       Power = "off"
	Suspended Power = "suspended"
)

// Tags maps the names of tag categories to names of tags. In YAML a single tag
// may be written without brackets: {k8s-zone: zone-a}.
type Tags map[string]Names

// Names is a list of names; in YAML a single name may be written without
// brackets.
type Names []string
