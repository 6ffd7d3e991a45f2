// Package cluster determines which resources in an AWS account belong to this
// cluster. It is pure.
//
// What it promises: the tags that it writes, and how it interprets tags, are
// compatible with all AWS cloud controller managers, so that clusters which
// share an account do not interfere with each other.
package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Tags that show which cluster a resource belongs to.
const (
	// TagPrefix is the prefix of the tag of a cluster; the cluster ID follows.
	TagPrefix = "kubernetes.io/cluster/"
	// LegacyTag is the tag that older versions wrote, with the cluster ID as
	// its value.
	LegacyTag = "KubernetesCluster"
	// ServiceNameTag contains the Service that a resource was created for.
	ServiceNameTag = "kubernetes.io/service-name"

	owned = "owned"
)

// ID distinguishes this cluster from others. The zero value is a cluster
// without an ID, which every resource belongs to.
type ID struct {
	Name string
	// Legacy writes the legacy tag in addition to the other.
	Legacy bool
}

// Discover reads the ID of the cluster from the tags of one of its instances.
// The result for an instance without any is the zero value; an instance with
// tags of several clusters is an error.
func Discover(tags map[string]string) (ID, error) {
	id := ID{Name: tags[LegacyTag], Legacy: tags[LegacyTag] != ""}
	names := map[string]bool{}
	for key := range tags {
		if name, ok := strings.CutPrefix(key, TagPrefix); ok && name != "" {
			names[name] = true
		}
	}
	found := slices.Sorted(maps.Keys(names))
	switch {
	case len(found) > 1:
		return ID{}, fmt.Errorf("determine the cluster from tags: there are several: %s%s", TagPrefix, strings.Join(found, ", "+TagPrefix))
	case len(found) == 1 && id.Legacy && id.Name != found[0]:
		return ID{}, fmt.Errorf("determine the cluster from tags: %s%s and %s = %s contradict each other", TagPrefix, found[0], LegacyTag, id.Name)
	case len(found) == 1:
		id.Name = found[0]
	}

	return id, nil
}

// Tag returns the key of the cluster's tag, empty without a cluster ID.
func (id ID) Tag() string {
	if id.Name == "" {
		return ""
	}

	return TagPrefix + id.Name
}

// Tags returns the tags of a new resource that the cluster owns.
func (id ID) Tags() map[string]string {
	tags := map[string]string{}
	if id.Name == "" {
		return tags
	}
	tags[id.Tag()] = owned
	if id.Legacy {
		tags[LegacyTag] = id.Name
	}

	return tags
}

// Member reports whether a resource belongs to this cluster, possibly together
// with other clusters.
func (id ID) Member(tags map[string]string) bool {
	if id.Name == "" {
		return true
	}
	_, tagged := tags[id.Tag()]

	return tagged || tags[LegacyTag] == id.Name
}

// Owns reports whether only this cluster owns a resource, which is then deleted
// along with its Service.
func (id ID) Owns(tags map[string]string) bool {
	if id.Name == "" {
		return true
	}

	return tags[id.Tag()] == owned || tags[LegacyTag] == id.Name
}

// Foreign reports whether a resource has tags of other clusters and none of
// this one.
func (id ID) Foreign(tags map[string]string) bool {
	return !id.Member(tags) && Tagged(tags)
}

// NotOwned returns why a resource must not be changed: it has tags of other
// clusters and none of this one. Otherwise it is nil.
func (id ID) NotOwned(resource string, tags map[string]string) error {
	if !id.Foreign(tags) {
		return nil
	}

	return apierr.Mark(apierr.ErrConflict, fmt.Errorf(
		"%s belongs to another cluster: its tag is %s, not %s", resource, strings.Join(owners(tags), ", "), id.Tag()))
}

// owners returns the tags that name clusters.
func owners(tags map[string]string) []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case strings.HasPrefix(key, TagPrefix):
			list = append(list, key)
		case key == LegacyTag:
			list = append(list, key+"="+tags[key])
		}
	}

	return list
}

// Missing returns the wanted tags that must be added to a resource. Ownership
// tags are added when absent, and never overwritten. Nothing is added to a
// resource whose tags could not be read, which is nil.
func (id ID) Missing(want, have map[string]string) map[string]string {
	if have == nil {
		return nil
	}
	missing := map[string]string{}
	for key, value := range want {
		present, ok := have[key]
		fixed := key == id.Tag() || key == LegacyTag
		if !ok || present != value && !fixed {
			missing[key] = value
		}
	}

	return missing
}

// Tagged reports whether a resource belongs to any cluster at all.
func Tagged(tags map[string]string) bool {
	for key := range tags {
		if strings.HasPrefix(key, TagPrefix) || key == LegacyTag {
			return true
		}
	}

	return false
}
