package aws

import (
	"maps"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// tagsOf returns the tags and the creation of the resource that an ARN names.
func (c *Cloud) tagsOf(arn string) (map[string]string, *simstate.Created, error) {
	switch c.kindOf(arn) {
	case "loadbalancer":
		if n := c.balancers.networks[arn]; n != nil {
			return n.tags, &n.Created, nil
		}

		return nil, nil, noNetwork(arn)
	case "targetgroup":
		if g := c.balancers.groups[arn]; g != nil {
			return g.tags, &g.Created, nil
		}

		return nil, nil, noTargetGroup(arn)
	case "listener":
		if l := c.balancers.listeners[arn]; l != nil {
			return l.tags, &l.Created, nil
		}

		return nil, nil, noListener(arn)
	}

	return nil, nil, invalid("'%s' is not a valid ARN of a load balancer, target group or listener", arn)
}

// taggedByARN returns the tags of the resources that a call names.
func (c *Cloud) taggedByARN(p params, sees func(*simstate.Created) bool) ([]map[string]string, []string, error) {
	arns := p.list("ResourceArns.member")
	if len(arns) == 0 || len(arns) > tagNames {
		return nil, nil, invalid("Between 1 and %d resources can be specified, not %d", tagNames, len(arns))
	}
	var all []map[string]string
	for _, arn := range arns {
		tags, created, err := c.tagsOf(arn)
		if err != nil {
			return nil, nil, err
		}
		if !sees(created) {
			return nil, nil, c.unseen(arn)
		}
		all = append(all, tags)
	}

	return all, arns, nil
}

// unseen is the error for a resource that does not exist.
func (c *Cloud) unseen(arn string) error {
	switch c.kindOf(arn) {
	case "loadbalancer":
		return noNetwork(arn)
	case "targetgroup":
		return noTargetGroup(arn)
	}

	return noListener(arn)
}

// networkAddTags implements AddTags: to all resources or to none.
func (c *Cloud) networkAddTags(p params) (any, error) {
	resources, _, err := c.taggedByARN(p, c.changeable)
	if err != nil {
		return nil, err
	}
	tags, err := readTags(p)
	if err != nil {
		return nil, err
	}
	if len(tags) == 0 {
		return nil, invalid("Tags must not be empty")
	}
	for _, into := range resources {
		if err := fits(into, tags); err != nil {
			return nil, err
		}
	}
	for _, into := range resources {
		maps.Copy(into, tags)
	}

	return nil, nil
}

// networkRemoveTags implements RemoveTags.
func (c *Cloud) networkRemoveTags(p params) (any, error) {
	resources, _, err := c.taggedByARN(p, c.changeable)
	if err != nil {
		return nil, err
	}
	keys := p.list("TagKeys.member")
	if len(keys) == 0 {
		return nil, invalid("TagKeys must not be empty")
	}
	for _, tags := range resources {
		for _, key := range keys {
			delete(tags, key)
		}
	}

	return nil, nil
}

type lbNetworkTagsXML struct {
	Descriptions []networkTagDescription `xml:"TagDescriptions>member"`
}

type networkTagDescription struct {
	ResourceArn string
	Tags        []lbPairXML `xml:"Tags>member"`
}

// networkDescribeTags implements DescribeTags.
func (c *Cloud) networkDescribeTags(p params) (any, error) {
	resources, arns, err := c.taggedByARN(p, c.visible)
	if err != nil {
		return nil, err
	}
	var out lbNetworkTagsXML
	for i, tags := range resources {
		out.Descriptions = append(out.Descriptions, networkTagDescription{arns[i], tagList(tags)})
	}

	return out, nil
}
