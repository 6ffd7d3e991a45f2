package aws

import (
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// AWS's bounds on tags.
const (
	tagsPerResource = 50
	tagKeyLength    = 128
	tagValueLength  = 256
	taggedAtOnce    = 1000
)

var resourceID = regexp.MustCompile(`^[a-z]+-[0-9a-f]+$`)

// taggable returns the tags and the creation of the object with the ID, nil when
// there is none.
func (c *Cloud) taggable(id string) (*tagged, *simstate.Created) {
	kind, _, _ := strings.Cut(id, "-")
	switch kind {
	case "i":
		if t := c.instance(id); t != nil {
			return &t.tagged, &t.Created
		}
	case "sg":
		if t := c.group(id); t != nil {
			return &t.tagged, &t.Created
		}
	case "subnet":
		if t := c.subnet(id); t != nil {
			return &t.tagged, &t.Created
		}
	case "vpc":
		if t := c.vpc(id); t != nil {
			return &t.tagged, &t.Created
		}
	case "rtb":
		if t := c.ec2.tables.get(id); t != nil {
			return &t.tagged, &t.Created
		}
	case "eni":
		if t := c.ec2.interfaces.get(id); t != nil {
			return &t.tagged, &t.Created
		}
	case "eipalloc":
		if t := c.allocation(id); t != nil {
			return &t.tagged, &t.Created
		}
	}

	return nil, nil
}

var resourceKinds = map[string]struct{ code, noun string }{
	"i":        {"InvalidInstanceID.NotFound", "instance ID"},
	"sg":       {"InvalidGroup.NotFound", "security group"},
	"subnet":   {"InvalidSubnetID.NotFound", "subnet ID"},
	"vpc":      {"InvalidVpcID.NotFound", "vpc ID"},
	"rtb":      {"InvalidRouteTableID.NotFound", "routeTable ID"},
	"eni":      {"InvalidNetworkInterfaceID.NotFound", "networkInterface ID"},
	"eipalloc": {"InvalidAllocationID.NotFound", "allocation ID"},
}

// taggedResources returns the tags of all resources that a request names, or the
// error about the first that is missing.
func (c *Cloud) taggedResources(p params) ([]*tagged, error) {
	if err := p.require("ResourceId"); err != nil {
		return nil, err
	}
	ids := p.list("ResourceId")
	if len(ids) > taggedAtOnce {
		return nil, fail("InvalidParameterValue", "The number of resource IDs exceeds the limit of %d.", taggedAtOnce)
	}
	var all []*tagged
	for _, id := range ids {
		prefix, _, _ := strings.Cut(id, "-")
		kind, known := resourceKinds[prefix]
		if !known || !resourceID.MatchString(id) {
			return nil, fail("InvalidID", "The ID '%s' is not valid", id)
		}
		t, b := c.taggable(id)
		if t == nil || !c.changeable(b) {
			return nil, fail(kind.code, "The %s '%s' does not exist", kind.noun, id)
		}
		all = append(all, t)
	}

	return all, nil
}

// parseTags parses the tags in a request.
func parseTags(p params) (map[string]string, error) {
	tags := make(map[string]string)
	for _, item := range p.structs("Tag") {
		key, value := item.str("Key"), item.str("Value")
		_, twice := tags[key]
		switch {
		case key == "":
			return nil, fail("InvalidParameterValue", "Tag key cannot be null or empty.")
		case utf8.RuneCountInString(key) > tagKeyLength:
			return nil, fail("InvalidParameterValue", "Tag key exceeds the maximum length of %d characters", tagKeyLength)
		case utf8.RuneCountInString(value) > tagValueLength:
			return nil, fail("InvalidParameterValue", "Tag value exceeds the maximum length of %d characters", tagValueLength)
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return nil, fail("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case twice:
			return nil, fail("InvalidParameterValue", "Duplicate tag key '%s' specified.", key)
		}
		tags[key] = value
	}
	if len(tags) > tagsPerResource {
		return nil, tagLimitExceeded()
	}

	return tags, nil
}

func tagLimitExceeded() *apiError {
	return fail("TagLimitExceeded", "More than %d tags specified", tagsPerResource)
}

// tagSpecifications returns the tags for a new resource of the kind.
func tagSpecifications(p params, kind string) (map[string]string, error) {
	tags := make(map[string]string)
	for _, item := range p.structs("TagSpecification") {
		if item.str("ResourceType") != kind {
			return nil, fail("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", item.str("ResourceType"))
		}
		some, err := parseTags(item)
		if err != nil {
			return nil, err
		}
		maps.Copy(tags, some)
	}

	return tags, nil
}

// createTags implements CreateTags: all resources or none.
func (c *Cloud) createTags(p params) (any, error) {
	all, err := c.taggedResources(p)
	if err != nil {
		return nil, err
	}
	tags, err := parseTags(p)
	switch {
	case err != nil:
		return nil, err
	case len(tags) == 0:
		return nil, fail("MissingParameter", "The request must contain the parameter Tag")
	}
	for _, t := range all {
		merged := maps.Clone(t.tags)
		maps.Copy(merged, tags)
		if len(merged) > tagsPerResource {
			return nil, tagLimitExceeded()
		}
	}
	for _, t := range all {
		maps.Copy(t.tags, tags)
	}

	return &done{true}, nil
}

// deleteTags implements DeleteTags. A tag without value is removed with
// any value; without any tags all are removed.
func (c *Cloud) deleteTags(p params) (any, error) {
	all, err := c.taggedResources(p)
	if err != nil {
		return nil, err
	}
	items := p.structs("Tag")
	for _, t := range all {
		if len(items) == 0 {
			clear(t.tags)
		}
		for _, item := range items {
			key, value := item.str("Key"), item.strPtr("Value")
			if now, ok := t.tags[key]; ok && (value == nil || *value == now) {
				delete(t.tags, key)
			}
		}
	}

	return &done{true}, nil
}
