package request

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

const (
	// longest is how many bytes a text can have: Octavia and Neutron refuse more
	// characters (octavia: api/v2/types; neutron-lib: db/constants.py NAME_FIELD_SIZE).
	longest = 255
	// ServicePrefix begins the name of a load balancer that was made for a Service, and the
	// tag that each Service puts on the load balancer and the listeners that it uses.
	ServicePrefix = "kube_service_"
	// serviceUIDTag begins the tag with the UID of the Service that a load balancer was
	// made for. Clusters with the same name are told apart by it.
	serviceUIDTag = "multicloud-ccm.io/service-uid="
	// floatingIPMark is part of the description of each floating IP that was made for a
	// Service.
	floatingIPMark = "Floating IP for Kubernetes external service"
)

// Part is a kind of resource below a load balancer that has an index in its name.
type Part string

// The kinds of parts.
const (
	PartListener Part = "listener"
	PartPool     Part = "pool"
	PartMonitor  Part = "monitor"
)

// Names are the names, descriptions and tags of everything that belongs to a Service.
// All of them are valid UTF-8 of at most 255 bytes.
type Names struct {
	// Cluster is the flag --cluster-name.
	Cluster string
	Service types.NamespacedName
	UID     types.UID
	legacy  string
	// balancer is the current name of the load balancer, nil if that does not matter.
	balancer *string
}

// NewNames returns the names of a Service.
func NewNames(cluster string, svc *v1.Service) Names {
	return Names{
		Cluster: cluster,
		Service: types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name},
		UID:     svc.UID,
		legacy:  cloudprovider.DefaultLoadBalancerName(svc),
	}
}

// LoadBalancer is the name of the load balancer, and the tag of the Service on load
// balancers and listeners.
func (n Names) LoadBalancer() string {
	return cut(fmt.Sprintf("%s%s_%s_%s", ServicePrefix, n.Cluster, n.Service.Namespace, n.Service.Name))
}

// Legacy is the name of the load balancer that old versions gave it.
func (n Names) Legacy() string { return n.legacy }

// Part is the name of the part for the port with this index in the Service.
func (n Names) Part(kind Part, index int) string {
	return part(kind, index, n.LoadBalancer())
}

// part is the name of a part of a load balancer with this name.
func part(kind Part, index int, balancer string) string {
	return cut(fmt.Sprintf("%s_%d_%s", kind, index, balancer))
}

// IsPart reports whether a name is that of a part of the Service, and its index.
func (n Names) IsPart(kind Part, name string) (index int, ok bool) {
	digits, _, found := strings.Cut(strings.TrimPrefix(name, string(kind)+"_"), "_")
	index, err := strconv.Atoi(digits)

	return index, found && err == nil && index >= 0 && name == n.Part(kind, index)
}

// SerialMember is the name of a member that is written alone, for providers that need
// it.
func SerialMember(node string, addr netip.Addr, nodePort int32) string {
	return cut(fmt.Sprintf("member_%s_%s_%d", node, addr, nodePort))
}

// Description is that of the load balancer, external or not.
func (n Names) Description() string {
	return cut(fmt.Sprintf("Kubernetes external service %s from cluster %s", n.Service, n.Cluster))
}

// FloatingIPDescription is that of a floating IP that is made for the Service.
func (n Names) FloatingIPDescription() string {
	return cut(fmt.Sprintf("%s %s from cluster %s", floatingIPMark, n.Service, n.Cluster))
}

// IsFloatingIPDescription reports whether a description is that of a floating IP that was
// made for this Service, in this cluster or in one of another name: a cluster may have been
// renamed since.
func (n Names) IsFloatingIPDescription(description string) bool {
	return description == n.FloatingIPDescription() ||
		strings.HasPrefix(description, fmt.Sprintf("%s %s from cluster ", floatingIPMark, n.Service))
}

// IsFloatingIPOfService reports whether a floating IP with this description was made for
// a Service, of whatever cluster. One that a user made is never deleted.
func IsFloatingIPOfService(description string) bool {
	return strings.Contains(description, floatingIPMark)
}

// SecurityGroup is the name of the security group of the Service.
func (n Names) SecurityGroup() string {
	return cut(fmt.Sprintf("lb-sg-%s-%s-%s", n.UID, n.Service.Namespace, n.Service.Name))
}

// SecurityGroupDescription is the description of that security group.
func (n Names) SecurityGroupDescription() string {
	return cut(fmt.Sprintf("Security Group for %s Service LoadBalancer in cluster %s", n.Service, n.Cluster))
}

// Tags are those of a new load balancer.
func (n Names) Tags() []string { return []string{n.LoadBalancer(), n.UIDTag()} }

// UIDTag is the tag with the UID of the Service.
func (n Names) UIDTag() string { return cut(serviceUIDTag + string(n.UID)) }

// UIDOf returns the UID of the Service that a load balancer with these tags was made
// for, empty if it is not known.
func UIDOf(tags []string) types.UID {
	for _, tag := range tags {
		if uid, ok := strings.CutPrefix(tag, serviceUIDTag); ok {
			return types.UID(uid)
		}
	}

	return ""
}

// ServiceTags returns the tags of Services that use a load balancer or a listener,
// sorted.
func ServiceTags(tags []string) []string {
	var found []string
	for _, tag := range tags {
		if strings.HasPrefix(tag, ServicePrefix) {
			found = append(found, tag)
		}
	}
	slices.Sort(found)

	return slices.Compact(found)
}

// cut returns the text as valid UTF-8, without the end of what is too long.
func cut(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	end := min(len(text), longest)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}

	return text[:end]
}
