package aws

// topologyLimit bounds the instances that one DescribeInstanceTopology names.
const topologyLimit = 100

// describeInstanceTopology implements DescribeInstanceTopology. Instances without
// network nodes are missing.
func (c *Cloud) describeInstanceTopology(p params) (any, error) {
	ids := p.list("InstanceId")
	filters, err := parseFilters(p)
	switch {
	case err != nil:
		return nil, err
	case len(ids) > topologyLimit:
		return nil, fail("InvalidParameterValue", "The number of instance IDs exceeds the limit of %d.", topologyLimit)
	case len(ids) > 0 && p.has("MaxResults"):
		return nil, fail("InvalidParameterCombination", "The parameter instanceIds cannot be used with the parameter maxResults")
	}
	found, err := c.candidates(ids, filters)
	if err != nil {
		return nil, err
	}
	if found, err = keep(c, found, filters, instanceFields); err != nil {
		return nil, err
	}
	var known []*instance
	for _, i := range found {
		if len(i.nodes) > 0 && i.state == Running {
			known = append(known, i)
		}
	}
	by := ec2Pager
	by.low, by.high, by.standard = 1, topologyLimit, topologyLimit
	known, next, err := page(c, p, by, known, func(i *instance) string { return i.id })
	if err != nil {
		return nil, err
	}

	return c.renderTopology(known, next), nil
}

type describeTopologyResult struct {
	Instances []topologyXML `xml:"instanceSet>item"`
	NextToken *string       `xml:"nextToken"`
}

type topologyXML struct {
	ID     string   `xml:"instanceId"`
	Type   string   `xml:"instanceType"`
	Nodes  []string `xml:"networkNodeSet>item"`
	Zone   string   `xml:"availabilityZone"`
	ZoneID string   `xml:"zoneId"`
}

func (c *Cloud) renderTopology(instances []*instance, next *string) *describeTopologyResult {
	result := &describeTopologyResult{NextToken: next}
	for _, i := range instances {
		result.Instances = append(result.Instances, topologyXML{i.id, i.kind, i.nodes, i.zone, c.zoneIDOf(i.zone)})
	}

	return result
}
