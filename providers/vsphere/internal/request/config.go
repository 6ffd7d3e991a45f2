package request

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
)

// DefaultClass is the name of the class of Services without an annotation.
const DefaultClass = "default"

// Config is the part of the cloud-config that load balancers depend on.
type Config struct {
	// LBServiceID is the ID of an LBService that people manage. Without it, there is one for
	// the cluster, of Size, at Tier1.
	LBServiceID string
	Tier1, Size string
	// SNATDisabled leaves clients their addresses.
	SNATDisabled bool
	// Tags are tags of new objects by scope, which may have the owner.
	Tags map[string]string
	// MaxTargets is max-targets, nil if it is not set.
	MaxTargets *int32
	// Classes are those of load balancers by name, the default one included.
	Classes map[string]Class
}

// Owner returns the owner of the objects of a cluster.
func (c *Config) Owner(cluster string) policy.Owner {
	return policy.Owner{Cluster: cluster, Tags: c.Tags}
}

// Class is where addresses come from, and how connections are treated.
type Class struct {
	Name string
	// IPPool and IPPoolIPv6 are the pools of addresses.
	IPPool, IPPoolIPv6 Ref
	// TCP and UDP are the application profiles.
	TCP, UDP Ref
	// PersistencePath is the path of the profile of Services with session affinity.
	PersistencePath string
}

// Ref is an object of NSX-T, by its ID or path if there is one, else by its display name.
type Ref struct{ ID, Name string }

// IsZero reports whether there is neither.
func (r Ref) IsZero() bool { return r == Ref{} }

// Pool returns the pool of addresses of a family: that of IPv6 if there is one, or else that
// of all.
func (c Class) Pool(family address.Family) Ref {
	if family == address.IPv6 && !c.IPPoolIPv6.IsZero() {
		return c.IPPoolIPv6
	}

	return c.IPPool
}

// IsDualStack reports whether there is a pool for each family: from a pool with addresses of both,
// none of a family can be requested.
func (c Class) IsDualStack() bool { return !c.IPPoolIPv6.IsZero() }
