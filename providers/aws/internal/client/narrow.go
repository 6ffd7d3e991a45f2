package client

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// call is an operation of EC2.
type call[In, Out any] func(context.Context, *In, ...func(*ec2.Options)) (*Out, error)

// narrowEC2 contains the operations of EC2 that are in use, and no others.
//
// The SDK's client has a method for each of the hundreds of operations of EC2.
// The linker keeps all methods of a type that is reachable from an interface,
// because some libraries in the binary look methods up by name: if the
// interface EC2 contained the client, or a struct with it, the binary would be
// a third larger. Function values do not refer to the type of their methods.
type narrowEC2 struct {
	describeInstances                          call[ec2.DescribeInstancesInput, ec2.DescribeInstancesOutput]
	describeInstanceTopology                   call[ec2.DescribeInstanceTopologyInput, ec2.DescribeInstanceTopologyOutput]
	describeNetworkInterfaces                  call[ec2.DescribeNetworkInterfacesInput, ec2.DescribeNetworkInterfacesOutput]
	describeSubnets                            call[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput]
	describeRouteTables                        call[ec2.DescribeRouteTablesInput, ec2.DescribeRouteTablesOutput]
	describeAvailabilityZones                  call[ec2.DescribeAvailabilityZonesInput, ec2.DescribeAvailabilityZonesOutput]
	createRoute                                call[ec2.CreateRouteInput, ec2.CreateRouteOutput]
	replaceRoute                               call[ec2.ReplaceRouteInput, ec2.ReplaceRouteOutput]
	deleteRoute                                call[ec2.DeleteRouteInput, ec2.DeleteRouteOutput]
	modifyInstanceAttribute                    call[ec2.ModifyInstanceAttributeInput, ec2.ModifyInstanceAttributeOutput]
	modifyNetworkInterfaceAttribute            call[ec2.ModifyNetworkInterfaceAttributeInput, ec2.ModifyNetworkInterfaceAttributeOutput]
	describeSecurityGroups                     call[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput]
	createSecurityGroup                        call[ec2.CreateSecurityGroupInput, ec2.CreateSecurityGroupOutput]
	deleteSecurityGroup                        call[ec2.DeleteSecurityGroupInput, ec2.DeleteSecurityGroupOutput]
	authorizeSecurityGroupIngress              call[ec2.AuthorizeSecurityGroupIngressInput, ec2.AuthorizeSecurityGroupIngressOutput]
	revokeSecurityGroupIngress                 call[ec2.RevokeSecurityGroupIngressInput, ec2.RevokeSecurityGroupIngressOutput]
	updateSecurityGroupRuleDescriptionsIngress call[ec2.UpdateSecurityGroupRuleDescriptionsIngressInput, ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput]
	createTags                                 call[ec2.CreateTagsInput, ec2.CreateTagsOutput]
	deleteTags                                 call[ec2.DeleteTagsInput, ec2.DeleteTagsOutput]
}

func narrow(c *ec2.Client) *narrowEC2 {
	return &narrowEC2{
		describeInstances:                          c.DescribeInstances,
		describeInstanceTopology:                   c.DescribeInstanceTopology,
		describeNetworkInterfaces:                  c.DescribeNetworkInterfaces,
		describeSubnets:                            c.DescribeSubnets,
		describeRouteTables:                        c.DescribeRouteTables,
		describeAvailabilityZones:                  c.DescribeAvailabilityZones,
		createRoute:                                c.CreateRoute,
		replaceRoute:                               c.ReplaceRoute,
		deleteRoute:                                c.DeleteRoute,
		modifyInstanceAttribute:                    c.ModifyInstanceAttribute,
		modifyNetworkInterfaceAttribute:            c.ModifyNetworkInterfaceAttribute,
		describeSecurityGroups:                     c.DescribeSecurityGroups,
		createSecurityGroup:                        c.CreateSecurityGroup,
		deleteSecurityGroup:                        c.DeleteSecurityGroup,
		authorizeSecurityGroupIngress:              c.AuthorizeSecurityGroupIngress,
		revokeSecurityGroupIngress:                 c.RevokeSecurityGroupIngress,
		updateSecurityGroupRuleDescriptionsIngress: c.UpdateSecurityGroupRuleDescriptionsIngress,
		createTags:                                 c.CreateTags,
		deleteTags:                                 c.DeleteTags,
	}
}

func (n *narrowEC2) DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, options ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	return n.describeInstances(ctx, in, options...)
}

func (n *narrowEC2) DescribeInstanceTopology(ctx context.Context, in *ec2.DescribeInstanceTopologyInput, options ...func(*ec2.Options)) (*ec2.DescribeInstanceTopologyOutput, error) {
	return n.describeInstanceTopology(ctx, in, options...)
}

func (n *narrowEC2) DescribeNetworkInterfaces(ctx context.Context, in *ec2.DescribeNetworkInterfacesInput, options ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error) {
	return n.describeNetworkInterfaces(ctx, in, options...)
}

func (n *narrowEC2) DescribeSubnets(ctx context.Context, in *ec2.DescribeSubnetsInput, options ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	return n.describeSubnets(ctx, in, options...)
}

func (n *narrowEC2) DescribeRouteTables(ctx context.Context, in *ec2.DescribeRouteTablesInput, options ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error) {
	return n.describeRouteTables(ctx, in, options...)
}

func (n *narrowEC2) DescribeAvailabilityZones(ctx context.Context, in *ec2.DescribeAvailabilityZonesInput, options ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error) {
	return n.describeAvailabilityZones(ctx, in, options...)
}

func (n *narrowEC2) CreateRoute(ctx context.Context, in *ec2.CreateRouteInput, options ...func(*ec2.Options)) (*ec2.CreateRouteOutput, error) {
	return n.createRoute(ctx, in, options...)
}

func (n *narrowEC2) ReplaceRoute(ctx context.Context, in *ec2.ReplaceRouteInput, options ...func(*ec2.Options)) (*ec2.ReplaceRouteOutput, error) {
	return n.replaceRoute(ctx, in, options...)
}

func (n *narrowEC2) DeleteRoute(ctx context.Context, in *ec2.DeleteRouteInput, options ...func(*ec2.Options)) (*ec2.DeleteRouteOutput, error) {
	return n.deleteRoute(ctx, in, options...)
}

func (n *narrowEC2) ModifyInstanceAttribute(ctx context.Context, in *ec2.ModifyInstanceAttributeInput, options ...func(*ec2.Options)) (*ec2.ModifyInstanceAttributeOutput, error) {
	return n.modifyInstanceAttribute(ctx, in, options...)
}

func (n *narrowEC2) ModifyNetworkInterfaceAttribute(ctx context.Context, in *ec2.ModifyNetworkInterfaceAttributeInput, options ...func(*ec2.Options)) (*ec2.ModifyNetworkInterfaceAttributeOutput, error) {
	return n.modifyNetworkInterfaceAttribute(ctx, in, options...)
}

func (n *narrowEC2) DescribeSecurityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput, options ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	return n.describeSecurityGroups(ctx, in, options...)
}

func (n *narrowEC2) CreateSecurityGroup(ctx context.Context, in *ec2.CreateSecurityGroupInput, options ...func(*ec2.Options)) (*ec2.CreateSecurityGroupOutput, error) {
	return n.createSecurityGroup(ctx, in, options...)
}

func (n *narrowEC2) DeleteSecurityGroup(ctx context.Context, in *ec2.DeleteSecurityGroupInput, options ...func(*ec2.Options)) (*ec2.DeleteSecurityGroupOutput, error) {
	return n.deleteSecurityGroup(ctx, in, options...)
}

func (n *narrowEC2) AuthorizeSecurityGroupIngress(ctx context.Context, in *ec2.AuthorizeSecurityGroupIngressInput, options ...func(*ec2.Options)) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
	return n.authorizeSecurityGroupIngress(ctx, in, options...)
}

func (n *narrowEC2) RevokeSecurityGroupIngress(ctx context.Context, in *ec2.RevokeSecurityGroupIngressInput, options ...func(*ec2.Options)) (*ec2.RevokeSecurityGroupIngressOutput, error) {
	return n.revokeSecurityGroupIngress(ctx, in, options...)
}

func (n *narrowEC2) UpdateSecurityGroupRuleDescriptionsIngress(ctx context.Context, in *ec2.UpdateSecurityGroupRuleDescriptionsIngressInput, options ...func(*ec2.Options)) (*ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput, error) {
	return n.updateSecurityGroupRuleDescriptionsIngress(ctx, in, options...)
}

func (n *narrowEC2) CreateTags(ctx context.Context, in *ec2.CreateTagsInput, options ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
	return n.createTags(ctx, in, options...)
}

func (n *narrowEC2) DeleteTags(ctx context.Context, in *ec2.DeleteTagsInput, options ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error) {
	return n.deleteTags(ctx, in, options...)
}
