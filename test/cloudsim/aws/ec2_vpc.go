package aws

import "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"

var subnetFields = fieldsOf[*subnet]{
	"subnet-id": func(_ *Cloud, s *subnet) []string { return one(s.id) },
	"vpc-id":    func(_ *Cloud, s *subnet) []string { return one(s.vpc) },
}

type ipv6Association struct {
	ID    string `xml:"associationId"`
	Block string `xml:"ipv6CidrBlock"`
	State string `xml:"ipv6CidrBlockState>state"`
}

func (c *Cloud) describeSubnets(p params) (any, error) {
	found, next, err := describe(c, p, kindOf[*subnet]{
		resources: &c.ec2.subnets, ids: "SubnetId", noun: "subnet ID", code: "InvalidSubnetID", fields: subnetFields,
		id: func(s *subnet) string { return s.id }, created: func(s *subnet) *simstate.Created { return &s.Created },
	})
	if err != nil {
		return nil, err
	}
	type item struct {
		ID      string            `xml:"subnetId"`
		ARN     string            `xml:"subnetArn"`
		State   string            `xml:"state"`
		VPCID   string            `xml:"vpcId"`
		CIDR    string            `xml:"cidrBlock"`
		Free    int               `xml:"availableIpAddressCount"`
		Zone    string            `xml:"availabilityZone"`
		ZoneID  string            `xml:"availabilityZoneId"`
		Owner   string            `xml:"ownerId"`
		Outpost *string           `xml:"outpostArn"`
		IPv6    []ipv6Association `xml:"ipv6CidrBlockAssociationSet>item"`
		Tags    []tagXML          `xml:"tagSet>item"`
	}
	var result struct {
		Items     []item  `xml:"subnetSet>item"`
		NextToken *string `xml:"nextToken"`
	}
	result.NextToken = next
	for _, s := range found {
		out := item{
			ID: s.id, ARN: c.arn("ec2", "subnet/"+s.id), State: "available", VPCID: s.vpc, CIDR: s.cidr.String(), Free: s.free(),
			Zone: s.zone, ZoneID: c.zoneIDOf(s.zone), Owner: c.opts.AccountID, Tags: renderTags(s.tags),
		}
		if s.outpost != "" {
			out.Outpost = &s.outpost
		}
		if s.ipv6.IsValid() {
			out.IPv6 = []ipv6Association{{"subnet-cidr-assoc-" + s.id[7:], s.ipv6.String(), "associated"}}
		}
		result.Items = append(result.Items, out)
	}

	return &result, nil
}

// arn returns the ARN of a resource in this region and account.
func (c *Cloud) arn(service, resource string) string {
	part, _ := partition(c.opts.Region)

	return "arn:" + part + ":" + service + ":" + c.opts.Region + ":" + c.opts.AccountID + ":" + resource
}
