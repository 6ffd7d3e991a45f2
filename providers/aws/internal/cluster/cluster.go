// Package cluster determines which resources in an AWS account belong to this
// cluster. It is pure.
//
// What it promises: the tags that it writes and the meaning that it reads into
// tags are those of all AWS cloud controller managers, so that clusters which
// share an account leave each other alone.
package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// The tags of the owner of a resource.
const (
	// TagPrefix begins the tag of a cluster; the cluster ID follows.
	TagPrefix = "kubernetes.io/cluster/"
	// LegacyTag is the tag that older versions wrote, with the cluster ID as
	// its value.
	LegacyTag = "KubernetesCluster"
	// ServiceNameTag names the Service that a thing was made for.
	ServiceNameTag = "kubernetes.io/service-name"

	owned = "owned"
)

// ID is what distinguishes this cluster from others. The zero value is a
// cluster without an ID, which everything belongs to.
type ID struct {
	Name string
	// Legacy has the legacy tag written beside the other.
	Legacy bool
}

// Discover reads the ID of the cluster out of the tags of one of its instances.
// The result for an instance without any is the zero value; one with tags of
// several clusters is an error.
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

// Tag is the key of the cluster's tag, empty without a cluster ID.
func (id ID) Tag() string {
	if id.Name == "" {
		return ""
	}
	return TagPrefix + id.Name
}

// Tags are what is written on a new thing that is the cluster's own.
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

// Member reports whether a thing is there for this cluster, maybe among others.
func (id ID) Member(tags map[string]string) bool {
	if id.Name == "" {
		return true
	}
	_, tagged := tags[id.Tag()]
	return tagged || tags[LegacyTag] == id.Name
}

// Owns reports whether a thing is this cluster's alone, to be deleted with what it
// was made for.
func (id ID) Owns(tags map[string]string) bool {
	if id.Name == "" {
		return true
	}
	return tags[id.Tag()] == owned || tags[LegacyTag] == id.Name
}

// Foreign reports whether a resource has tags of other clusters and none of this.
func (id ID) Foreign(tags map[string]string) bool {
	return !id.Member(tags) && Tagged(tags)
}

// NotOwned returns why a resource must not be changed: it has tags of other
// clusters and none of this. Otherwise it is nil.
func (id ID) NotOwned(thing string, tags map[string]string) error {
	if !id.Foreign(tags) {
		return nil
	}
	return apierr.Mark(apierr.ErrConflict, fmt.Errorf(
		"%s belongs to another cluster: its tag is %s, not %s", thing, strings.Join(owners(tags), ", "), id.Tag()))
}

// owners are the tags that name clusters.
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

// Missing are those of the wanted tags that are to be added to a resource. Whose
// it is is added if nothing is said about it, and never changed. Nothing is added
// to what could not be read, which is nil.
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

// Tagged reports whether a thing is there for any cluster at all.
func Tagged(tags map[string]string) bool {
	for key := range tags {
		if strings.HasPrefix(key, TagPrefix) || key == LegacyTag {
			return true
		}
	}
	return false
}
