package aws

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
)

// identityTimeout bounds the discovery of the identity: one query to the
// instance metadata for the region, one for the instance, and one to EC2, with
// the credentials for it, each with its retries. The process waits for it.
const identityTimeout = inventory.DefaultTimeout

// identity is the region, VPC and cluster of this process, and the instance it
// runs on if that was queried.
type identity struct {
	Region string
	VPC    string
	// Subnet is used for load balancers if no other subnet is found. It can be
	// empty.
	Subnet  string
	Cluster cluster.ID

	// Zone, InstanceID and NodeName belong to the instance that the process
	// runs on. They are empty if that is not known.
	Zone       string
	InstanceID string
	NodeName   string
}

// Hints for settings that could not be determined.
const (
	hintRegion   = "set Region in [Global] of the cloud-config, or AWS_REGION"
	hintIdentity = "set VPC and KubernetesClusterID in [Global] of the cloud-config to do without"
)

// findRegion returns the region of the file, of the environment or of the
// instance, the first that is set.
func findRegion(ctx context.Context, cfg *Config, imds *client.IMDS) (string, error) {
	environment, err := awsconfig.NewEnvConfig()
	if err != nil {
		return "", fmt.Errorf("read the AWS variables of the environment: %w", err)
	}
	if region := cmp.Or(cfg.Global.Region, environment.Region); region != "" {
		return region, nil
	}
	region, err := imds.Region(ctx)
	if err != nil {
		return "", fmt.Errorf("find the region: %w (%s)", err, hintRegion)
	}

	return region, nil
}

// identify determines the cluster of this process. It queries EC2 for its own
// instance only if the file does not set the VPC or the cluster.
func identify(ctx context.Context, cfg *Config, imds *client.IMDS, clients *client.Clients) (identity, error) {
	id := identity{
		Region: clients.Region, VPC: cfg.Global.VPC, Subnet: cfg.Global.SubnetID, Cluster: cfg.clusterID(),
	}
	for _, o := range cfg.overrides {
		if o.Service != client.ServiceIMDS && o.Region != id.Region {
			klog.FromContext(ctx).Info("Service override is for another region and has no effect", "service", o.Service, "region", o.Region, "ours", id.Region)
		}
	}
	if id.VPC != "" && id.Cluster.Name != "" {
		return id, nil
	}
	self, err := describeSelf(ctx, imds, clients.EC2)
	if err != nil {
		return identity{}, fmt.Errorf("find the VPC and the cluster: %w (%s)", err, hintIdentity)
	}
	if err := id.take(self); err != nil {
		return identity{}, err
	}
	if configured := cfg.Global.VPC; configured != "" && configured != id.VPC {
		klog.FromContext(ctx).Info("VPC of the cloud-config is ignored: it takes effect only with a cluster ID, and this instance is in another VPC",
			"configured", configured, "vpc", id.VPC)
	}

	return id, nil
}

// describeSelf returns the instance that this process runs on.
func describeSelf(ctx context.Context, imds *client.IMDS, api client.EC2) (types.Instance, error) {
	name, err := imds.InstanceID(ctx)
	if err != nil {
		return types.Instance{}, err
	}
	out, err := api.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{name}})
	if err != nil {
		return types.Instance{}, fmt.Errorf("describe instance %s: %w", name, err)
	}
	for _, reservation := range out.Reservations {
		for _, instance := range reservation.Instances {
			return instance, nil
		}
	}

	return types.Instance{}, fmt.Errorf("describe instance %s: EC2 returned none", name)
}

// take completes the identity with the tags and network of the own instance.
func (id *identity) take(self types.Instance) error {
	id.VPC = cmp.Or(aws.ToString(self.VpcId), id.VPC)
	id.Subnet = cmp.Or(id.Subnet, aws.ToString(self.SubnetId))
	id.InstanceID = aws.ToString(self.InstanceId)
	id.NodeName = aws.ToString(self.PrivateDnsName)
	if self.Placement != nil {
		id.Zone = aws.ToString(self.Placement.AvailabilityZone)
	}
	if id.VPC == "" {
		return fmt.Errorf("instance %s: EC2 does not return its VPC (%s)", id.InstanceID, hintIdentity)
	}
	if id.Cluster.Name != "" {
		return nil
	}
	found, err := cluster.Discover(awstype.FromEC2Tags(self.Tags))
	if err != nil {
		return fmt.Errorf("instance %s: %w", id.InstanceID, err)
	}
	id.Cluster = found

	return nil
}
