package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
)

// The scopes of tags.
const (
	ScopeOwner   = "owner"
	ScopeCluster = "cluster"
	ScopeService = "service"
	ScopePort    = "port"
	ScopeIPPool  = "ippoolid"
	ScopeClass   = "lbclass"
)

// Program is the name of the upstream controller manager, which is the owner of objects by
// default.
const Program = "vsphere-cloud-controller-manager"

// Owner is the cluster that objects belong to.
type Owner struct {
	Cluster string
	// Tags are the tags of the cloud-config, by scope, with that of the owner.
	Tags map[string]string
}

// OwnScopes are the scopes that tags of a cloud-config cannot have, apart from the owner.
func OwnScopes() []string {
	return []string{ScopeCluster, ScopeService, ScopePort, ScopeIPPool, ScopeClass}
}

// Name returns the owner.
func (o Owner) Name() string {
	if name := o.Tags[ScopeOwner]; name != "" {
		return name
	}

	return Program
}

// IsOf reports whether an object belongs to the cluster.
func (o Owner) IsOf(object *Object) bool {
	return object.Tag(ScopeOwner) == o.Name() && object.Tag(ScopeCluster) == o.Cluster
}

// tags returns those of a new object, sorted by scope.
func (o Owner) tags(more map[string]string) []nsx.Tag {
	all := map[string]string{}
	for _, tags := range []map[string]string{o.Tags, {ScopeOwner: o.Name(), ScopeCluster: o.Cluster}, more} {
		maps.Copy(all, tags)
	}
	var list []nsx.Tag
	for scope, tag := range all {
		list = append(list, nsx.Tag{Scope: scope, Tag: tag})
	}
	slices.SortFunc(list, func(a, b nsx.Tag) int { return strings.Compare(a.Scope, b.Scope) })

	return list
}

// Tag returns the first tag with a scope, empty if there is none. The scope of a tag of
// others may be empty.
func (o *Object) Tag(scope string) string {
	for _, tag := range o.Tags {
		if tag.Scope == scope {
			return tag.Tag
		}
	}

	return ""
}

// Service returns the namespace and name of the Service that an object belongs to.
func (o *Object) Service() string { return o.Tag(ScopeService) }
