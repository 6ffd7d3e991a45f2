package vsphere

import (
	"time"

	"k8s.io/utils/clock"
)

// Spec describes a fleet of simulated vCenters. Whatever is left out has a default
// that is the same in every run.
type Spec struct {
	VCenters []VCenterSpec
	// Linked lists groups of vCenters, by name, that have one directory, as in
	// Enhanced Linked Mode: one account with one password, which failures at any
	// of them lock. The first vCenter of a group names the account. Each of the
	// others has a directory of its own.
	Linked [][]string
	// Clock times the lockout of accounts. Default: the real one.
	Clock clock.PassiveClock
}

// VCenterSpec describes one vCenter and its inventory.
type VCenterSpec struct {
	// Name distinguishes the vCenters of a fleet; it is not visible to clients.
	Name string
	// User is the only account. Default: administrator@vsphere.local.
	User string
	// Password of the account. Default: "secret".
	Password string
	// Listen is a loopback host and port. Default: 127.0.0.1:0.
	Listen string
	// InMemory uses no port: only [VCenter.Dial] connects, and Listen is only a
	// name. Such a vCenter can be started in a testing/synctest bubble and goes
	// by its time.
	InMemory bool
	// Plain disables TLS.
	Plain bool
	// Latency is added to every call.
	Latency time.Duration
	// SessionManagerToken enables the shared session endpoint, which requires
	// this bearer token.
	SessionManagerToken string
	// Tags exist from the start, attached to nothing.
	Tags Tags
	// Datacenters of this vCenter.
	Datacenters []DatacenterSpec
}

// DatacenterSpec describes a datacenter. One without any cluster or host gets
// a cluster with a host.
type DatacenterSpec struct {
	Name string
	// Folder is the path of folders above the datacenter, such as "emea/prod".
	Folder string
	Tags   Tags
	// Clusters with their hosts.
	Clusters []ClusterSpec
	// Hosts outside clusters.
	Hosts []HostSpec
	// Folders for VMs. Those that VMs name need not be listed.
	Folders []FolderSpec
	VMs     []VMSpec
}

// ClusterSpec describes a cluster. One without hosts gets one.
type ClusterSpec struct {
	Name  string
	Tags  Tags
	Hosts []HostSpec
	// Pools and VApps below the cluster's root resource pool.
	Pools []PoolSpec
	VApps []PoolSpec
}

// HostSpec describes an ESXi host.
type HostSpec struct {
	Name string
	Tags Tags
}

// PoolSpec describes a resource pool or a vApp, and what is nested in it.
type PoolSpec struct {
	Name  string
	Tags  Tags
	Pools []PoolSpec
	VApps []PoolSpec
}

// FolderSpec describes a folder for VMs.
type FolderSpec struct {
	// Path below the datacenter's vm folder, such as "k8s/prod".
	Path string
	Tags Tags
}

// VMSpec describes a virtual machine.
type VMSpec struct {
	Name string
	// Hostname is what the guest reports. Default: the name in lower case.
	Hostname string
	// UUID is the BIOS UUID. Default: derived from the names of vCenter,
	// datacenter and VM.
	UUID string
	// Guest is the guest OS identifier. Default: ubuntu64Guest.
	Guest string
	// CPUs and MemoryMB size the VM. Default: 2 and 4096.
	CPUs     int
	MemoryMB int
	// Power is the state of the VM. Default: on.
	Power Power
	// NoTools is a guest without VMware Tools: it reports neither a host name
	// nor networks.
	NoTools bool
	// Host is the name of the host. Default: the hosts of the pool, or of the
	// datacenter, in turn.
	Host string
	// Pool is a resource pool or vApp as "cluster/pool/…". Default: the root
	// pool of the host.
	Pool string
	// Folder is the path below the datacenter's vm folder.
	Folder string
	NICs   []NIC
	// ExtraConfig holds keys such as guestinfo.metadata.
	ExtraConfig map[string]string
	Tags        Tags
}

// NIC is a network adapter as the guest reports it.
type NIC struct {
	// Network is the name of the port group. Default: "VM Network", or none for
	// an interface without a device.
	Network string
	// IPs without prefix length, in the order that the guest reports.
	IPs []string
	// IPStates has the states of some of the IPs. Default: preferred, of no known
	// origin.
	IPStates map[string]IPState
	// MAC address. Default: derived from the VM's UUID.
	MAC string
	// DeviceConfigID is the key of the virtual device, or -1 for interfaces
	// that exist in the guest alone. Default: 4000 and up.
	DeviceConfigID *int32
}

// IPState is what the guest reports of an address, in the words of
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/NetIpConfigInfoIpAddress.
type IPState struct {
	// State is preferred, deprecated, tentative and so on. Default: preferred.
	State string
	// Origin is manual, dhcp, linklayer, random or other. Default: none, as Linux
	// guests report it.
	Origin string
}

// Power is the power state of a VM.
type Power string

// The power states.
const (
	On        Power = "on"
	Off       Power = "off"
	Suspended Power = "suspended"
)

// Tags maps the names of tag categories to names of tags.
type Tags map[string][]string
