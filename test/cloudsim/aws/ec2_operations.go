package aws

func (c *Cloud) ec2Operations() map[string]operation {
	return map[string]operation{
		"AuthorizeSecurityGroupIngress":              c.authorizeIngress,
		"CreateRoute":                                c.createRoute,
		"CreateSecurityGroup":                        c.createSecurityGroup,
		"CreateTags":                                 c.createTags,
		"DeleteRoute":                                c.deleteRoute,
		"DeleteSecurityGroup":                        c.deleteSecurityGroup,
		"DeleteTags":                                 c.deleteTags,
		"DescribeAvailabilityZones":                  c.describeAvailabilityZones,
		"DescribeInstanceTopology":                   c.describeInstanceTopology,
		"DescribeInstances":                          c.describeInstances,
		"DescribeNetworkInterfaces":                  c.describeNetworkInterfaces,
		"DescribeRouteTables":                        c.describeRouteTables,
		"DescribeSecurityGroups":                     c.describeSecurityGroups,
		"DescribeSubnets":                            c.describeSubnets,
		"ModifyInstanceAttribute":                    c.modifyInstanceAttribute,
		"ModifyNetworkInterfaceAttribute":            c.modifyNetworkInterfaceAttribute,
		"ReplaceRoute":                               c.replaceRoute,
		"RevokeSecurityGroupIngress":                 c.revokeIngress,
		"UpdateSecurityGroupRuleDescriptionsIngress": c.describeIngress,
	}
}
