package aws

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

// What holds where the file says nothing.
const (
	defaultProbePort = 10256
	defaultProbePath = "/healthz"
	// defaultTopologyPattern are types whose place in the network matters: for
	// machine learning and high performance computing.
	defaultTopologyPattern = `^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`
)

// Values of the two modes.
const (
	probeShared      = "Shared"
	probeServicePort = "ServiceNodePort"
	groupsManaged    = "Managed"
)

// Config is what this provider reads from a cloud-config.
type Config struct {
	// Global holds everything but endpoints.
	Global Global
	// ServiceOverride is one section for each endpoint to be used in place of
	// that of AWS, with any name in quotes. It needs all keys but the last two.
	ServiceOverride map[string]*ServiceOverride

	// families are the usable ones of NodeIPFamilies.
	families []address.Family
	// topologyTypes are the instance types whose network topology must be
	// answered.
	topologyTypes *regexp.Regexp
	overrides     []client.Override
	// badNetworkSetting is what is wrong with the settings for network load
	// balancers. Only Services that ask for one are refused because of it.
	badNetworkSetting error
	// deleteByName is [NodeDeletion] by-name, one of the settings of all
	// providers.
	deleteByName bool
}

// Global is the section for everything but endpoints.
type Global struct {
	// Zone is an availability zone of the cluster. It says which region the
	// cluster is in, and goes before Region.
	Zone string
	// Region is the region of the cluster.
	// Default: that of Zone, AWS_REGION, AWS_DEFAULT_REGION or the instance metadata
	Region string
	// VPC is the VPC of the cluster. Together with a region and a cluster ID it
	// lets the controller run where no instance metadata is.
	// Default: that of the instance the controller runs on
	VPC string
	// SubnetID is the subnet for load balancers where all subnets of the VPC have
	// tags of other clusters.
	// Default: that of the instance the controller runs on
	SubnetID string
	// RouteTableID is the route table that gets the routes to Nodes.
	// Default: the one with the tags of the cluster
	RouteTableID string
	// RoleARN is a role to assume for every call.
	RoleARN ARN
	// SourceARN is the resource on whose behalf the role is assumed, for
	// policies that ask. It counts only together with RoleARN.
	SourceARN string
	// KubernetesClusterTag is the cluster ID, for clusters whose resources
	// have the old tag KubernetesCluster. New ones then get it, too.
	KubernetesClusterTag string
	// KubernetesClusterID is the cluster ID: what tags of resources say whose
	// they are.
	// Default: from the tags of the instance the controller runs on
	KubernetesClusterID string
	// DisableSecurityGroupIngress leaves the security groups of Nodes alone.
	// They must let load balancers through by themselves then. Rules that were
	// made before stay, and keep the groups that they name from being deleted.
	DisableSecurityGroupIngress bool
	// ElbSecurityGroup is a security group for all classic load balancers, in
	// place of one for each. It is never changed.
	ElbSecurityGroup string
	// NodeIPFamilies are the families of node addresses, ipv4 or ipv6, a line
	// for each, the preferred one first.
	// Default: ipv4
	NodeIPFamilies Families
	// ClusterServiceLoadBalancerHealthProbeMode says what load balancers probe
	// where the traffic policy is Cluster: the node port of the Service
	// (ServiceNodePort), or kube-proxy on one port for all Services (Shared).
	// Default: ServiceNodePort
	ClusterServiceLoadBalancerHealthProbeMode string
	// ClusterServiceSharedLoadBalancerHealthProbePort is the port for Shared.
	// Default: 10256
	ClusterServiceSharedLoadBalancerHealthProbePort int32
	// ClusterServiceSharedLoadBalancerHealthProbePath is the path for Shared.
	// Default: /healthz
	ClusterServiceSharedLoadBalancerHealthProbePath string
	// SupportedTopologyInstanceTypePattern is a regular expression for the
	// instance types whose Nodes are not initialized before their place in the
	// network is known.
	// Default: those for machine learning and high performance computing
	SupportedTopologyInstanceTypePattern Pattern
	// NLBSecurityGroupMode is Managed to give network load balancers security
	// groups; one that was made without cannot get any. Without Managed new ones
	// get none, and those that have some keep them.
	NLBSecurityGroupMode string
}

// ServiceOverride is the section for one endpoint.
type ServiceOverride struct {
	// Service is the API: EC2, Elastic Load Balancing, Elastic Load Balancing
	// v2, STS or ec2imds. The names ec2, elasticloadbalancing (both load
	// balancer APIs), elasticloadbalancingv2 and sts do, too.
	Service string
	// Region is the region that the endpoint is for. For ec2imds any does.
	Region string
	// URL is where the API is.
	URL string
	// SigningRegion is the region that requests are signed for.
	SigningRegion string
	// SigningName is the service name that requests are signed for.
	// Default: that of the service
	SigningName string
	// SigningMethod does nothing: there is one method.
	SigningMethod string
}

// ARN is the name of an AWS resource.
type ARN string

// UnmarshalText checks the name.
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

// UnmarshalText checks that the expression is one.
func (p *Pattern) UnmarshalText(text []byte) error {
	if _, err := regexp.Compile(string(text)); err != nil {
		return fmt.Errorf("%q is not a regular expression: %w", text, err)
	}
	*p = Pattern(text)
	return nil
}

// Families are names of IP families, the preferred one first. Each line of a
// file adds one.
type Families []string

// UnmarshalText adds a name. Whether it is one is known once all are read.
func (f *Families) UnmarshalText(text []byte) error {
	*f = append(*f, strings.TrimSpace(string(text)))
	return nil
}

// String is the list on one line.
func (f Families) String() string { return strings.Join(f, ",") }

// schema tells what files for AWS hold beside the keys of Config.
func schema() config.Schema {
	return config.Schema{Foreign: map[config.Name]string{
		{Section: "Global", Key: "DisableStrictZoneCheck"}: "nothing reads it any more",
	}}
}
