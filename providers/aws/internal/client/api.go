package client

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// The API calls in use, by subject. The IAM policy must allow them. Every error
// is marked with a sentinel of package apierr.
type (
	// Instances reads EC2 instances and their network interfaces.
	Instances interface {
		DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
		DescribeInstanceTopology(context.Context, *ec2.DescribeInstanceTopologyInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTopologyOutput, error)
		DescribeNetworkInterfaces(context.Context, *ec2.DescribeNetworkInterfacesInput, ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error)
	}

	// Network reads the parts of a VPC.
	Network interface {
		DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
		DescribeRouteTables(context.Context, *ec2.DescribeRouteTablesInput, ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error)
		DescribeAvailabilityZones(context.Context, *ec2.DescribeAvailabilityZonesInput, ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error)
	}

	// Routes writes route tables, and enables instances to forward packets.
	Routes interface {
		CreateRoute(context.Context, *ec2.CreateRouteInput, ...func(*ec2.Options)) (*ec2.CreateRouteOutput, error)
		ReplaceRoute(context.Context, *ec2.ReplaceRouteInput, ...func(*ec2.Options)) (*ec2.ReplaceRouteOutput, error)
		DeleteRoute(context.Context, *ec2.DeleteRouteInput, ...func(*ec2.Options)) (*ec2.DeleteRouteOutput, error)
		ModifyInstanceAttribute(context.Context, *ec2.ModifyInstanceAttributeInput, ...func(*ec2.Options)) (*ec2.ModifyInstanceAttributeOutput, error)
		ModifyNetworkInterfaceAttribute(context.Context, *ec2.ModifyNetworkInterfaceAttributeInput, ...func(*ec2.Options)) (*ec2.ModifyNetworkInterfaceAttributeOutput, error)
	}

	// SecurityGroups reads and writes security groups and their rules.
	SecurityGroups interface {
		DescribeSecurityGroups(context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error)
		CreateSecurityGroup(context.Context, *ec2.CreateSecurityGroupInput, ...func(*ec2.Options)) (*ec2.CreateSecurityGroupOutput, error)
		DeleteSecurityGroup(context.Context, *ec2.DeleteSecurityGroupInput, ...func(*ec2.Options)) (*ec2.DeleteSecurityGroupOutput, error)
		AuthorizeSecurityGroupIngress(context.Context, *ec2.AuthorizeSecurityGroupIngressInput, ...func(*ec2.Options)) (*ec2.AuthorizeSecurityGroupIngressOutput, error)
		RevokeSecurityGroupIngress(context.Context, *ec2.RevokeSecurityGroupIngressInput, ...func(*ec2.Options)) (*ec2.RevokeSecurityGroupIngressOutput, error)
		UpdateSecurityGroupRuleDescriptionsIngress(context.Context, *ec2.UpdateSecurityGroupRuleDescriptionsIngressInput, ...func(*ec2.Options)) (*ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput, error)
	}

	// Tags writes the tags of EC2 resources.
	Tags interface {
		CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
		DeleteTags(context.Context, *ec2.DeleteTagsInput, ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error)
	}

	// EC2 is all of EC2 that is in use.
	EC2 interface {
		Instances
		Network
		Routes
		SecurityGroups
		Tags
	}
)

type (
	// classicReads describes classic load balancers.
	classicReads interface {
		DescribeLoadBalancers(context.Context, *elb.DescribeLoadBalancersInput, ...func(*elb.Options)) (*elb.DescribeLoadBalancersOutput, error)
		DescribeLoadBalancerAttributes(context.Context, *elb.DescribeLoadBalancerAttributesInput, ...func(*elb.Options)) (*elb.DescribeLoadBalancerAttributesOutput, error)
		DescribeTags(context.Context, *elb.DescribeTagsInput, ...func(*elb.Options)) (*elb.DescribeTagsOutput, error)
	}

	// ClassicWrites creates, configures and deletes classic load balancers.
	ClassicWrites interface {
		CreateLoadBalancer(context.Context, *elb.CreateLoadBalancerInput, ...func(*elb.Options)) (*elb.CreateLoadBalancerOutput, error)
		DeleteLoadBalancer(context.Context, *elb.DeleteLoadBalancerInput, ...func(*elb.Options)) (*elb.DeleteLoadBalancerOutput, error)
		AttachLoadBalancerToSubnets(context.Context, *elb.AttachLoadBalancerToSubnetsInput, ...func(*elb.Options)) (*elb.AttachLoadBalancerToSubnetsOutput, error)
		DetachLoadBalancerFromSubnets(context.Context, *elb.DetachLoadBalancerFromSubnetsInput, ...func(*elb.Options)) (*elb.DetachLoadBalancerFromSubnetsOutput, error)
		ApplySecurityGroupsToLoadBalancer(context.Context, *elb.ApplySecurityGroupsToLoadBalancerInput, ...func(*elb.Options)) (*elb.ApplySecurityGroupsToLoadBalancerOutput, error)
		ConfigureHealthCheck(context.Context, *elb.ConfigureHealthCheckInput, ...func(*elb.Options)) (*elb.ConfigureHealthCheckOutput, error)
		ModifyLoadBalancerAttributes(context.Context, *elb.ModifyLoadBalancerAttributesInput, ...func(*elb.Options)) (*elb.ModifyLoadBalancerAttributesOutput, error)
		AddTags(context.Context, *elb.AddTagsInput, ...func(*elb.Options)) (*elb.AddTagsOutput, error)
	}

	// classicListeners writes the listeners, their policies and the instances
	// behind them.
	classicListeners interface {
		CreateLoadBalancerListeners(context.Context, *elb.CreateLoadBalancerListenersInput, ...func(*elb.Options)) (*elb.CreateLoadBalancerListenersOutput, error)
		DeleteLoadBalancerListeners(context.Context, *elb.DeleteLoadBalancerListenersInput, ...func(*elb.Options)) (*elb.DeleteLoadBalancerListenersOutput, error)
		SetLoadBalancerListenerSSLCertificate(context.Context, *elb.SetLoadBalancerListenerSSLCertificateInput, ...func(*elb.Options)) (*elb.SetLoadBalancerListenerSSLCertificateOutput, error)
		CreateLoadBalancerPolicy(context.Context, *elb.CreateLoadBalancerPolicyInput, ...func(*elb.Options)) (*elb.CreateLoadBalancerPolicyOutput, error)
		SetLoadBalancerPoliciesOfListener(context.Context, *elb.SetLoadBalancerPoliciesOfListenerInput, ...func(*elb.Options)) (*elb.SetLoadBalancerPoliciesOfListenerOutput, error)
		SetLoadBalancerPoliciesForBackendServer(context.Context, *elb.SetLoadBalancerPoliciesForBackendServerInput, ...func(*elb.Options)) (*elb.SetLoadBalancerPoliciesForBackendServerOutput, error)
		RegisterInstancesWithLoadBalancer(context.Context, *elb.RegisterInstancesWithLoadBalancerInput, ...func(*elb.Options)) (*elb.RegisterInstancesWithLoadBalancerOutput, error)
		DeregisterInstancesFromLoadBalancer(context.Context, *elb.DeregisterInstancesFromLoadBalancerInput, ...func(*elb.Options)) (*elb.DeregisterInstancesFromLoadBalancerOutput, error)
	}

	// ELB is all of Elastic Load Balancing, the classic API, that is in use.
	ELB interface {
		classicReads
		ClassicWrites
		classicListeners
	}
)

type (
	// NetworkReads describes network load balancers and what belongs to them.
	NetworkReads interface {
		DescribeLoadBalancers(context.Context, *elbv2.DescribeLoadBalancersInput, ...func(*elbv2.Options)) (*elbv2.DescribeLoadBalancersOutput, error)
		DescribeLoadBalancerAttributes(context.Context, *elbv2.DescribeLoadBalancerAttributesInput, ...func(*elbv2.Options)) (*elbv2.DescribeLoadBalancerAttributesOutput, error)
		DescribeListeners(context.Context, *elbv2.DescribeListenersInput, ...func(*elbv2.Options)) (*elbv2.DescribeListenersOutput, error)
		DescribeTargetGroups(context.Context, *elbv2.DescribeTargetGroupsInput, ...func(*elbv2.Options)) (*elbv2.DescribeTargetGroupsOutput, error)
		DescribeTargetGroupAttributes(context.Context, *elbv2.DescribeTargetGroupAttributesInput, ...func(*elbv2.Options)) (*elbv2.DescribeTargetGroupAttributesOutput, error)
		DescribeTargetHealth(context.Context, *elbv2.DescribeTargetHealthInput, ...func(*elbv2.Options)) (*elbv2.DescribeTargetHealthOutput, error)
		DescribeTags(context.Context, *elbv2.DescribeTagsInput, ...func(*elbv2.Options)) (*elbv2.DescribeTagsOutput, error)
	}

	// NetworkWrites creates, configures and deletes network load balancers.
	NetworkWrites interface {
		CreateLoadBalancer(context.Context, *elbv2.CreateLoadBalancerInput, ...func(*elbv2.Options)) (*elbv2.CreateLoadBalancerOutput, error)
		DeleteLoadBalancer(context.Context, *elbv2.DeleteLoadBalancerInput, ...func(*elbv2.Options)) (*elbv2.DeleteLoadBalancerOutput, error)
		SetSecurityGroups(context.Context, *elbv2.SetSecurityGroupsInput, ...func(*elbv2.Options)) (*elbv2.SetSecurityGroupsOutput, error)
		ModifyLoadBalancerAttributes(context.Context, *elbv2.ModifyLoadBalancerAttributesInput, ...func(*elbv2.Options)) (*elbv2.ModifyLoadBalancerAttributesOutput, error)
		CreateListener(context.Context, *elbv2.CreateListenerInput, ...func(*elbv2.Options)) (*elbv2.CreateListenerOutput, error)
		ModifyListener(context.Context, *elbv2.ModifyListenerInput, ...func(*elbv2.Options)) (*elbv2.ModifyListenerOutput, error)
		DeleteListener(context.Context, *elbv2.DeleteListenerInput, ...func(*elbv2.Options)) (*elbv2.DeleteListenerOutput, error)
		AddTags(context.Context, *elbv2.AddTagsInput, ...func(*elbv2.Options)) (*elbv2.AddTagsOutput, error)
	}

	// TargetGroups writes target groups and the targets in them.
	TargetGroups interface {
		CreateTargetGroup(context.Context, *elbv2.CreateTargetGroupInput, ...func(*elbv2.Options)) (*elbv2.CreateTargetGroupOutput, error)
		ModifyTargetGroup(context.Context, *elbv2.ModifyTargetGroupInput, ...func(*elbv2.Options)) (*elbv2.ModifyTargetGroupOutput, error)
		ModifyTargetGroupAttributes(context.Context, *elbv2.ModifyTargetGroupAttributesInput, ...func(*elbv2.Options)) (*elbv2.ModifyTargetGroupAttributesOutput, error)
		DeleteTargetGroup(context.Context, *elbv2.DeleteTargetGroupInput, ...func(*elbv2.Options)) (*elbv2.DeleteTargetGroupOutput, error)
		RegisterTargets(context.Context, *elbv2.RegisterTargetsInput, ...func(*elbv2.Options)) (*elbv2.RegisterTargetsOutput, error)
		DeregisterTargets(context.Context, *elbv2.DeregisterTargetsInput, ...func(*elbv2.Options)) (*elbv2.DeregisterTargetsOutput, error)
	}

	// ELBV2 is all of Elastic Load Balancing v2 that is in use.
	ELBV2 interface {
		NetworkReads
		NetworkWrites
		TargetGroups
	}
)

var (
	_ EC2   = (*narrowEC2)(nil)
	_ ELB   = (*elb.Client)(nil)
	_ ELBV2 = (*elbv2.Client)(nil)
)
