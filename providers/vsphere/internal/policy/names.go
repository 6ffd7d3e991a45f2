package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
)

// Port is a port of a load balancer with an address of one family.
type Port struct {
	Protocol v1.Protocol
	Port     int32
	// Family is that of a second address; that of the first one is empty.
	Family address.Family
}

// String returns the port as it is in tags: TCP/80, or TCP/80/IPv6 for a second address.
func (p Port) String() string {
	text := string(p.Protocol) + "/" + strconv.Itoa(int(p.Port))
	if p.Family == "" {
		return text
	}

	return text + "/" + FamilyName(p.Family)
}

// FamilyName returns the name of an IP family as Kubernetes writes it.
func FamilyName(family address.Family) string { return strings.Replace(string(family), "ip", "IP", 1) }

// Names are the names and IDs of the objects of one Service.
type Names struct {
	Owner   Owner
	Service types.NamespacedName
	UID     types.UID
}

// namespace is that of the UUIDs that are the IDs of objects.
var namespace = uuid.MustParse("5e1b6b0e-0c5e-4d7e-9d6c-3f1a4a5d3c10")

// id returns the ID of an object, given all that it depends on.
func id(parts ...string) string {
	return uuid.NewSHA1(namespace, []byte(strings.Join(parts, "\n"))).String()
}

// LBServicePath returns the path of the LBService that is created for a tier-1 gateway.
func (o Owner) LBServicePath(tier1 string) string {
	return CollectionPath(LBServices, "") + "/" + id(o.Name(), o.Cluster, string(LBServices), tier1)
}

// path returns the path of an object of the Service.
func (n Names) path(kind Kind, what string) string {
	return CollectionPath(kind, "") + "/" + id(n.Owner.Name(), n.Owner.Cluster, string(n.UID), string(kind), what)
}

// PartPath returns the path of a new virtual server or pool.
func (n Names) PartPath(kind Kind, port Port) string { return n.path(kind, port.String()) }

// IsDerived reports whether an object has the ID that is derived from the Service.
func (n Names) IsDerived(o *Object) bool {
	switch o.Kind {
	case VirtualServers, Pools:
		return o.Path == n.path(o.Kind, o.Tag(ScopePort))
	case Monitors:
		return o.Path == n.path(Monitors, o.ResourceType+" "+o.Tag(ScopePort))
	case Groups:
		return o.Path == n.GroupPath()
	case Allocations:
		return o.ID == n.AllocationID("") || n.IsOfSecondAddress(o)
	case LBServices:
	}

	return false
}

// MonitorPath returns the path of a new monitor.
func (n Names) MonitorPath(resourceType string, port Port) string {
	return n.path(Monitors, resourceType+" "+port.String())
}

// GroupPath returns the path of the new group of source ranges.
func (n Names) GroupPath() string { return n.path(Groups, "") }

// AllocationID returns the ID of the new allocation of an address: of the second one of the
// Service if there is a family.
func (n Names) AllocationID(second address.Family) string {
	return id(n.Owner.Name(), n.Owner.Cluster, string(n.UID), string(Allocations), string(second))
}

// AllocationPath returns the path of that allocation in a pool.
func (n Names) AllocationPath(ipPool string, second address.Family) string {
	return CollectionPath(Allocations, ipPool) + "/" + n.AllocationID(second)
}

// IsOfSecondAddress reports whether an allocation is that of a second address.
func (n Names) IsOfSecondAddress(allocation *Object) bool {
	return allocation.ID == n.AllocationID(address.IPv4) || allocation.ID == n.AllocationID(address.IPv6)
}

// String returns the namespace and name of the Service, as it is in tags.
func (n Names) String() string { return n.Service.String() }

// DisplayName returns the display name of virtual servers and pools.
func (n Names) DisplayName() string {
	return nsx.Cut(fmt.Sprintf("cluster:%s:%s", n.Owner.Cluster, n), nsx.MaxName)
}

// describe returns the description of an object of a cluster.
func describe(format string, args ...any) string {
	return fmt.Sprintf(format, args...) + " created by " + Program
}
