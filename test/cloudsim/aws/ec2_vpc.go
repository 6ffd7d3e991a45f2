package aws

import "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"

var vpcFields = fieldsOf[*vpc]{
	"cidr":       func(_ *Cloud, v *vpc) []string { return one(v.cidr.String()) },
	"is-default": func(_ *Cloud, v *vpc) []string { return one(boolText(v.isDefault)) },
	"owner-id":   func(c *Cloud, _ *vpc) []string { return one(c.opts.AccountID) },
	"state":      func(*Cloud, *vpc) []string { return one("available") },
	"vpc-id":     func(_ *Cloud, v *vpc) []string { return one(v.id) },
}

var subnetFields = fieldsOf[*subnet]{
	"availability-zone":    func(_ *Cloud, s *subnet) []string { return one(s.zone) },
	"availabilityZone":     func(_ *Cloud, s *subnet) []string { return one(s.zone) },
	"availability-zone-id": func(c *Cloud, s *subnet) []string { return one(c.zoneIDOf(s.zone)) },
	"cidr-block":           func(_ *Cloud, s *subnet) []string { return one(s.cidr.String()) },
	"owner-id":             func(c *Cloud, _ *subnet) []string { return one(c.opts.AccountID) },
	"state":                func(*Cloud, *subnet) []string { return one("available") },
	"subnet-id":            func(_ *Cloud, s *subnet) []string { return one(s.id) },
	"vpc-id":               func(_ *Cloud, s *subnet) []string { return one(s.vpc) },
	"ipv6-cidr-block-association.ipv6-cidr-block": func(_ *Cloud, s *subnet) []string {
		if !s.ipv6.IsValid() {
			return nil
		}

		return one(s.ipv6.String())
	},
}

func boolText(b bool) string {
	if b {
		return "true"
	}

	return "false"
}

type ipv6Association struct {
	ID    string `xml:"associationId"`
	Block string `xml:"ipv6CidrBlock"`
	State string `xml:"ipv6CidrBlockState>state"`
}

func (c *Cloud) describeVPCs(p params) (any, error) {
	found, next, err := describe(c, p, kindOf[*vpc]{
		resources: &c.ec2.vpcs, ids: "VpcId", noun: "vpc ID", code: "InvalidVpcID", fields: vpcFields,
		id: func(v *vpc) string { return v.id }, created: func(v *vpc) *simstate.Created { return &v.Created },
	})
	if err != nil {
		return nil, err
	}
	type item struct {
		ID      string            `xml:"vpcId"`
		State   string            `xml:"state"`
		CIDR    string            `xml:"cidrBlock"`
		Owner   string            `xml:"ownerId"`
		Default bool              `xml:"isDefault"`
		IPv6    []ipv6Association `xml:"ipv6CidrBlockAssociationSet>item"`
		Tags    []tagXML          `xml:"tagSet>item"`
	}
	var result struct {
		Items     []item  `xml:"vpcSet>item"`
		NextToken *string `xml:"nextToken"`
	}
	result.NextToken = next
	for _, v := range found {
		out := item{
			ID: v.id, State: "available", CIDR: v.cidr.String(), Owner: c.opts.AccountID, Default: v.isDefault, Tags: renderTags(v.tags),
		}
		if v.ipv6.IsValid() {
			out.IPv6 = []ipv6Association{{"vpc-cidr-assoc-" + v.id[4:], v.ipv6.String(), "associated"}}
		}
		result.Items = append(result.Items, out)
	}

	return &result, nil
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
