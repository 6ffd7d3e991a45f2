package securitygroup

import (
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Group is a security group with its inbound rules.
type Group struct {
	ID, Name, Description string
	Tags                  map[string]string
	Rules                 Rules
}

// Groups are security groups by ID.
type Groups map[string]*Group

// Sorted lists the groups in the order of their IDs.
func (g Groups) Sorted() []*Group {
	return lists.Map(slices.Sorted(maps.Keys(g)), func(id string) *Group { return g[id] })
}

// Named finds the group of a name, or nil. Names are unique within a VPC.
func (g Groups) Named(name string) *Group {
	for _, group := range g.Sorted() {
		if group.Name == name {
			return group
		}
	}

	return nil
}

// networkDescription is the description of the group that is created for a
// network load balancer.
const networkDescription = "[k8s] Managed SecurityGroup for LoadBalancer"

// classicDescription returns the description of the group that is created for a
// classic load balancer.
func classicDescription(r *request.Request) string {
	return "Security group for Kubernetes ELB " + r.Name + " (" + r.Service.String() + ")"
}

// Owned returns the groups that were created for the load balancers of a
// Service, and are to be deleted with them. Attached are the IDs of their
// current groups. Groups of an annotation or the configuration are never
// included.
func Owned(groups Groups, r *request.Request, c request.Config, attached []string) []*Group {
	spared := append(append([]string{c.ClassicSecurityGroup}, r.SecurityGroups...), r.ExtraSecurityGroups...)

	return lists.Filter(groups.Sorted(), func(group *Group) bool {
		return ours(group, r, c, slices.Contains(attached, group.ID)) && !slices.Contains(spared, group.ID)
	})
}

// ours reports whether a group was created for the Service. A group that is
// only recognized by its description, because the name of the cluster has
// changed, must be in use by the Service and have the unchanged part of the
// name.
func ours(group *Group, r *request.Request, c request.Config, attached bool) bool {
	if !c.Cluster.Owns(group.Tags) {
		return false
	}
	switch group.Name {
	case request.ClassicGroupName(r.Name), request.NetworkGroupName(c.ClusterName, r.Service, r.UID):
		return true
	}
	switch group.Description {
	case classicDescription(r):
		return attached
	case networkDescription:
		return attached && strings.HasPrefix(group.Name, request.NamePrefix(r.Service))
	default:
		return false
	}
}
