package certainty

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// Ownership is what a load balancer is to a Service.
type Ownership int

// The kinds of ownership.
const (
	// Foreign means that the Service must not touch the load balancer.
	Foreign Ownership = iota
	// Unproven means that the load balancer has the name of the Service and nothing else:
	// its members and networks decide, see [Adoption].
	Unproven
	// Sharer means that the load balancer was made for another Service or by a user, and
	// that this one may have listeners in it.
	Sharer
	// Owner means that the load balancer was made for the Service.
	Owner
)

// String names the ownership.
func (o Ownership) String() string {
	switch o {
	case Unproven:
		return "unproven"
	case Sharer:
		return "sharer"
	case Owner:
		return "owner"
	case Foreign:
	}

	return "foreign"
}

// Reasons why a load balancer is [Foreign].
var (
	// ErrForeignProject means that the load balancer belongs to another project, which only
	// an operator can read.
	ErrForeignProject = apierr.Mark(apierr.ErrDenied, errors.New("the load balancer belongs to another project"))
	// ErrForeignService means that a tag of the load balancer names another Service, which
	// has the same name: that of a second cluster with the same cluster name, or one that
	// was deleted.
	ErrForeignService = apierr.Mark(apierr.ErrConflict, errors.New("the load balancer was made for another Service of the same name"))
	// ErrForeignName means that nothing but a list relates the load balancer to the Service.
	ErrForeignName = apierr.Mark(apierr.ErrConflict, errors.New("the load balancer does not have the name of the Service"))
)

// LoadBalancer is what a verdict about a load balancer depends on.
type LoadBalancer struct {
	Name, Project string
	Tags          []string
	// Pinned is the project that all logins lead to, empty before the first one.
	Pinned string
	// Annotated means that an annotation of the Service has the ID of the load balancer. Former is the
	// UID of the Service that it takes the load balancer over from, empty for none.
	Annotated bool
	Former    types.UID
}

// isOf reports whether a tag of the load balancer names this Service.
func (l LoadBalancer) isOf(names request.Names) bool {
	return names.UID != "" && slices.Contains(l.Tags, names.UIDTag())
}

// isOfOther reports whether a tag names another Service as the one that the load balancer
// was made for, which this one does not take over.
func (l LoadBalancer) isOfOther(names request.Names) bool {
	uid := request.UIDOf(l.Tags)

	return !l.isOf(names) && uid != "" && (uid != l.Former || !l.Annotated)
}

// isNamed reports whether the load balancer has a name of the Service.
func (l LoadBalancer) isNamed(names request.Names) bool {
	return l.Name != "" && (l.Name == names.LoadBalancer() || l.Name == names.Legacy())
}

// Ownership returns what the load balancer is to a Service, and the reason if it is
// Foreign. The first line that fits decides:
//
//	another project, or no login yet               foreign
//	a tag names this Service by its UID            owner
//	its name, a tag names another UID, and this
//	one does not take over                         foreign
//	its legacy name, which has the UID             owner
//	its name, annotated                            owner
//	its name                                       unproven
//	not annotated                                  foreign
//	its name in a cluster of another name, and
//	no tag names another UID                       owner
//	otherwise                                      sharer
//
// Two clusters of the same name in one project are told apart by the UID alone: the
// name of the load balancer has only the names of the cluster and of the Service.
func (l LoadBalancer) Ownership(names request.Names) (Ownership, error) {
	_, renamed := names.Renamed(l.Name)
	switch {
	case l.Pinned == "":
		return Foreign, ErrNoProject
	case l.Project != l.Pinned:
		return Foreign, ErrForeignProject
	case l.isOf(names):
		return Owner, nil
	case l.isNamed(names) && l.isOfOther(names):
		return Foreign, ErrForeignService
	case l.isNamed(names) && (l.Annotated || l.Name == names.Legacy()):
		return Owner, nil
	case l.isNamed(names):
		return Unproven, nil
	case !l.Annotated:
		return Foreign, ErrForeignName
	case renamed && request.UIDOf(l.Tags) == "":
		return Owner, nil
	}

	return Sharer, nil
}

// Adoption is what decides about an [Unproven] load balancer, besides its networks.
type Adoption struct {
	// Members are the addresses of its members.
	Members []netip.Addr
	// IsNode reports whether an address is that of a Node of this cluster.
	IsNode func(netip.Addr) bool
	// Deletes means that the Service is deleted.
	Deletes bool
}

// IsPossible reports whether the load balancer can be that of the Service: one of its members
// is a Node of this cluster, or it has none and is not to be deleted. It still has to be in a
// network of the cluster: private addresses are unique within a network only.
func (a Adoption) IsPossible() bool {
	if len(a.Members) == 0 {
		return !a.Deletes
	}

	return slices.ContainsFunc(a.Members, a.IsNode)
}

// IsDeletable reports whether a whole load balancer may be deleted along with a Service:
// nothing in it is of another Service or of a user. Tags holds the tags of each of its
// listeners, nil if they were not read.
//
//	another project, a tag names another UID and
//	the load balancer has the name of the Service   no
//	another Service has its tag on it, or on one of
//	its listeners                                   no
//	a tag names this Service by its UID             yes
//	a name of the Service                           yes
//	the name of another Service, the tag of this
//	one, and each listener has that tag, too        yes: the others have left
//	otherwise                                       no
func (l LoadBalancer) IsDeletable(names request.Names, tags [][]string) bool {
	tag := names.LoadBalancer()
	current := names.In(l.Name)
	isOther := func(t string) bool { return t != tag && !isFormer(current, t) }
	lacks := func(of []string) bool { return !slices.Contains(of, tag) }
	isOfOther := func(of []string) bool { return slices.ContainsFunc(request.ServiceTags(of), isOther) && lacks(of) }
	switch {
	case l.Pinned == "" || l.Project != l.Pinned:
		return false
	case slices.ContainsFunc(request.ServiceTags(l.Tags), isOther), slices.ContainsFunc(tags, isOfOther):
		return false
	case l.isOf(names):
		return true
	case l.isNamed(names):
		return !l.isOfOther(names)
	}

	return strings.HasPrefix(l.Name, request.ServicePrefix) && slices.Contains(l.Tags, tag) && tags != nil && !slices.ContainsFunc(tags, lacks)
}

// isFormer reports whether a tag is that of the Service in a cluster of another name, which
// the load balancer still has, see [request.Names.In].
func isFormer(names request.Names, tag string) bool {
	_, former := names.Renamed(tag)

	return former
}

// IsOwnPart reports whether a listener, pool or health monitor belongs to a Service: it
// has its tag, or it has no tag of any Service, and exactly the name of a part of the
// Service in a load balancer that was made for it. What users made there has another name.
// In such a load balancer, tags and names with another cluster name count as well, if that is
// the one in the current name of the load balancer, see [request.Names.In].
func IsOwnPart(names request.Names, kind request.Part, name string, tags []string, ownLoadBalancer bool) bool {
	tag, services := names.LoadBalancer(), request.ServiceTags(tags)
	if uid := request.UIDOf(tags); uid != "" && uid != names.UID {
		return false
	}
	if slices.Contains(services, tag) {
		return true
	}
	isOther := func(t string) bool { return !isFormer(names, t) }
	if !ownLoadBalancer || slices.ContainsFunc(services, isOther) {
		return false
	}
	_, current := names.IsPart(kind, name)
	_, former := names.RenamedPart(kind, name)

	return len(services) > 0 || current || former
}

// IsOwnFloatingIP reports whether a floating IP may be deleted with the load balancer: it
// is on the port of the VIP, and was made for a Service, which need not be this one in a
// shared load balancer. One with only one of both is used, and never deleted.
func IsOwnFloatingIP(portID, vipPortID, description string) bool {
	return vipPortID != "" && portID == vipPortID && request.IsFloatingIPOfService(description)
}

// IsLeftFloatingIP reports whether a floating IP was left by a deletion of the load
// balancer of a Service: it is on no port, it was made for this very Service, whatever the
// cluster was called then, and it has the address that the Service had.
func IsLeftFloatingIP(names request.Names, portID, description string, addr, published netip.Addr) bool {
	return portID == "" && names.IsFloatingIPDescription(description) && published.IsValid() && addr.Unmap() == published.Unmap()
}

// IsOwnSecurityGroup reports whether a security group is that of a Service: its name has
// the UID of the Service, and it is in the project that all logins lead to.
func IsOwnSecurityGroup(names request.Names, project, pinned, name string) bool {
	return names.UID != "" && pinned != "" && project == pinned && name == names.SecurityGroup()
}
