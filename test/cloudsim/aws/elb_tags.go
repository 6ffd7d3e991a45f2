package aws

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// lbPairXML is a tag or an attribute, of either API.
type lbPairXML struct {
	Key   string
	Value string
}

func tagList(tags map[string]string) []lbPairXML {
	out := make([]lbPairXML, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, lbPairXML{Key: key, Value: tags[key]})
	}

	return out
}

// readTags returns the tags of a request.
func readTags(p params) (map[string]string, error) {
	tags := make(map[string]string)
	for _, tag := range p.structs("Tags.member") {
		key, value := tag.str("Key"), tag.str("Value")
		switch {
		case key == "" || utf8.RuneCountInString(key) > 128:
			return nil, invalid("Tag key '%s' must have 1 to 128 characters", key)
		case utf8.RuneCountInString(value) > 256:
			return nil, invalid("Tag value '%s' must not have more than 256 characters", value)
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return nil, invalid("Tag key '%s' begins with 'aws:', which is reserved", key)
		}
		if _, twice := tags[key]; twice {
			return nil, fail("DuplicateTagKeys", "Tag key '%s' was specified more than once", key)
		}
		tags[key] = value
	}
	if len(tags) > tagLimit {
		return nil, tooManyBalancerTags()
	}

	return tags, nil
}

func tooManyBalancerTags() error {
	return fail("TooManyTags", "The maximum number of tags for a load balancing resource is %d", tagLimit)
}

// fits returns an error if a resource cannot have more tags.
func fits(into, tags map[string]string) error {
	all := maps.Clone(into)
	maps.Copy(all, tags)
	if len(all) > tagLimit {
		return tooManyBalancerTags()
	}

	return nil
}

// classicAddTags implements AddTags.
func (c *Cloud) classicAddTags(p params) (any, error) {
	b, tags, err := c.taggedClassic(p)
	if err != nil {
		return nil, err
	}
	if len(tags) == 0 {
		return nil, invalid("Tags must not be empty")
	}
	if err := fits(b.Tags, tags); err != nil {
		return nil, err
	}
	maps.Copy(b.Tags, tags)

	return nil, nil
}

// taggedClassic returns the one load balancer that a call names, and its tags.
func (c *Cloud) taggedClassic(p params) (*classicBalancer, map[string]string, error) {
	names := p.list("LoadBalancerNames.member")
	if len(names) != 1 {
		return nil, nil, invalid("Exactly one load balancer must be named, not %d", len(names))
	}
	b, err := c.classicNamed(names[0])
	if err != nil {
		return nil, nil, err
	}
	tags, err := readTags(p)

	return b, tags, err
}

type lbClassicTagsXML struct {
	Descriptions []classicTagDescription `xml:"TagDescriptions>member"`
}

type classicTagDescription struct {
	LoadBalancerName string
	Tags             []lbPairXML `xml:"Tags>member"`
}

// classicDescribeTags implements DescribeTags.
func (c *Cloud) classicDescribeTags(p params) (any, error) {
	names := p.list("LoadBalancerNames.member")
	if len(names) == 0 || len(names) > tagNames {
		return nil, invalid("Between 1 and %d load balancers can be described, not %d", tagNames, len(names))
	}
	var out lbClassicTagsXML
	for _, name := range names {
		b := c.balancers.classics[name]
		if b == nil || !c.visible(&b.Created) {
			return nil, noClassic(name)
		}
		out.Descriptions = append(out.Descriptions, classicTagDescription{name, tagList(b.Tags)})
	}

	return out, nil
}
