package aws

import (
	"fmt"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

// Defaults.
const (
	defaultProbePort = 10256
	defaultProbePath = "/healthz"
	// defaultTopologyPattern matches the instance types that need a network
	// topology: those for machine learning and high performance computing.
	defaultTopologyPattern = `^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`
)

// Values of the two modes.
const (
	probeShared      = "Shared"
	probeServicePort = "ServiceNodePort"
	groupsManaged    = "Managed"
)

// Config is the cloud-config of this provider.
type Config struct {
	// Global has all settings except endpoints.
	Global Global
	// ServiceOverride replaces an endpoint of AWS: one section for each endpoint,
	// with any name in quotes. Service, Region, URL and SigningRegion are
	// required.
	ServiceOverride map[string]*ServiceOverride

	// families are the valid items of NodeIPFamilies.
	families []address.Family
	// topologyTypes are the instance types whose network topology must be
	// known.
	topologyTypes *regexp.Regexp
	overrides     []client.Override
	// badNetworkSetting is the error in the settings for network load
	// balancers. Only Services that request one are rejected because of it.
	badNetworkSetting error
	// deleteByName is [NodeDeletion] by-name, one of the settings of all
	// providers.
	deleteByName bool
	// maxTargets is [LoadBalancer] max-targets, another one of them.
	maxTargets *int32
	// deletionLimit is [NodeDeletion] limit, nil for the default.
	deletionLimit *int32
}

// Global is the section for everything but endpoints.
type Global struct {
	// Zone is an availability zone of the cluster. It determines the region and
	// takes precedence over Region.
	Zone string
	// Region is the region of the cluster.
	// Default: that of Zone, AWS_REGION, AWS_DEFAULT_REGION or the instance metadata
	Region string
	// VPC is the VPC of the cluster. With a region and a cluster ID as well, the
	// controller can run where there is no instance metadata.
	// Default: that of the instance the controller runs on
	VPC string
	// SubnetID is the subnet for load balancers if all subnets of the VPC have tags
	// of other clusters.
	// Default: that of the instance the controller runs on
	SubnetID string
	// RouteTableID is the route table for the routes to Nodes.
	// Default: the one with the tags of the cluster
	RouteTableID string
	// RoleARN is a role to assume for every call.
	RoleARN ARN
	// SourceARN is the resource on whose behalf the role is assumed, for
	// policies with this condition. Takes effect only together with RoleARN.
	SourceARN string
	// KubernetesClusterTag is the cluster ID, for clusters whose resources
	// have the old tag KubernetesCluster. New resources also get this tag.
	KubernetesClusterTag string
	// KubernetesClusterID is the cluster ID, by which the tags of a resource name
	// the cluster that it belongs to.
	// Default: from the tags of the instance the controller runs on
	KubernetesClusterID string
	// DisableSecurityGroupIngress leaves the security groups of Nodes unchanged.
	// You must then allow traffic from the load balancers yourself. Existing rules
	// stay, and the security groups that they name cannot be deleted.
	DisableSecurityGroupIngress bool
	// ElbSecurityGroup is a security group for all classic load balancers, instead
	// of one for each. The controller does not change it.
	ElbSecurityGroup string
	// NodeIPFamilies are the IP families of node addresses, ipv4 or ipv6. Use one
	// line for each, the preferred one first.
	// Default: ipv4
	NodeIPFamilies []string
	// ClusterServiceLoadBalancerHealthProbeMode is the target of health checks if
	// the external traffic policy is Cluster: the node port of the Service
	// (ServiceNodePort), or kube-proxy on one port for all Services (Shared).
	// Default: ServiceNodePort
	ClusterServiceLoadBalancerHealthProbeMode string
	// ClusterServiceSharedLoadBalancerHealthProbePort is the port in Shared mode.
	// Default: 10256
	ClusterServiceSharedLoadBalancerHealthProbePort int32
	// ClusterServiceSharedLoadBalancerHealthProbePath is the path in Shared mode.
	// Default: /healthz
	ClusterServiceSharedLoadBalancerHealthProbePath string
	// SupportedTopologyInstanceTypePattern is a regular expression for the
	// instance types whose Nodes are not initialized until their network topology
	// is known.
	// Default: those for machine learning and high performance computing
	SupportedTopologyInstanceTypePattern Pattern
	// NLBSecurityGroupMode gives new network load balancers security groups if it is
	// set to Managed: those of the annotation, or else one that is created. AWS does not allow adding security groups
	// to an existing network load balancer that was created without any. Without
	// Managed, new network load balancers have no security groups, and existing
	// ones keep theirs.
	NLBSecurityGroupMode string
}

// ServiceOverride is the section for one endpoint.
type ServiceOverride struct {
	// Service is the API: EC2, Elastic Load Balancing, Elastic Load Balancing
	// v2, STS or ec2imds. Also accepted: ec2, elasticloadbalancing (both load
	// balancer APIs), elasticloadbalancingv2 and sts.
	Service string
	// Region is the region that the endpoint is for. For ec2imds, any value is
	// accepted.
	Region string
	// URL is the URL of the API.
	URL string
	// SigningRegion is the region that requests are signed for.
	SigningRegion string
	// SigningName is the service name that requests are signed for.
	// Default: that of the service
	SigningName string
	// SigningMethod has no effect: there is only one method.
	SigningMethod string
}

// ARN is the name of an AWS resource.
type ARN string

// UnmarshalText validates the ARN.
func (a *ARN) UnmarshalText(text []byte) error {
	*a = ARN(text)
	if len(text) == 0 {
		return nil
	}
	parsed, err := arn.Parse(string(text))
	switch {
	case err != nil:
		return fmt.Errorf("%q is not an ARN such as arn:aws:iam::123456789012:role/name", text)
	case parsed.AccountID == "":
		return fmt.Errorf("%q names no account", text)
	}

	return nil
}

// Pattern is a regular expression.
type Pattern string

// UnmarshalText validates the expression.
func (p *Pattern) UnmarshalText(text []byte) error {
	if _, err := regexp.Compile(string(text)); err != nil {
		return fmt.Errorf("%q is not a regular expression: %w", text, err)
	}
	*p = Pattern(text)

	return nil
}

// schema describes the keys of files for AWS that are not in Config.
func schema() config.Schema {
	return config.Schema{Foreign: map[config.Name]string{
		{Section: "Global", Key: "DisableStrictZoneCheck"}: "it is no longer used",
	}}
}
