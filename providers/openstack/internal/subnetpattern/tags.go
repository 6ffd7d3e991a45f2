package subnetpattern

import (
	"fmt"
	"slices"
	"strings"
)

// Tags selects subnets by their tags. The zero Tags selects all of them.
type Tags struct {
	// List has no empty tag and no tag twice.
	List []string
	// All requires all tags of the list instead of one of them. Not selects the other
	// subnets.
	All, Not bool
}

// ParseTags reads a list of tags. An empty text is the zero Tags. Blanks around a tag
// do not count.
func ParseTags(text string) (Tags, error) {
	if strings.TrimSpace(text) == "" {
		return Tags{}, nil
	}
	var t Tags
	rest := strings.TrimSpace(text)
	rest, t.Not = strings.CutPrefix(rest, negation)
	rest, t.All = strings.CutPrefix(rest, "&")
	for tag := range strings.SplitSeq(rest, ",") {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(t.List, tag) {
			t.List = append(t.List, tag)
		}
	}
	if len(t.List) == 0 {
		return Tags{}, fmt.Errorf("parse subnet tags %q: no tag in it", text)
	}

	return t, nil
}

// Matches reports whether a subnet with these tags is selected.
func (t Tags) Matches(tags []string) bool {
	if t.IsZero() {
		return true
	}
	has := func(tag string) bool { return slices.Contains(tags, tag) }
	found := slices.ContainsFunc(t.List, has)
	if t.All {
		found = !slices.ContainsFunc(t.List, func(tag string) bool { return !has(tag) })
	}

	return found != t.Not
}

// Query returns the filter of Neutron that selects the same subnets, and its value. Both
// are empty for the zero Tags. In Neutron, not-tags selects those that do not have all
// tags, and not-tags-any those that have none (api-ref network v2: filtering by tags).
// A Neutron without the extension for tags ignores filters: what it returns must be
// checked by Matches.
func (t Tags) Query() (key, value string) {
	if t.IsZero() {
		return "", ""
	}
	key = "tags"
	if t.Not {
		key = "not-tags"
	}
	if !t.All {
		key += "-any"
	}

	return key, strings.Join(t.List, ",")
}

// IsZero reports whether all subnets are selected, since there are no tags.
func (t Tags) IsZero() bool { return len(t.List) == 0 }
