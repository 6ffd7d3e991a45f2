package aws

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
)

// identityTimeout bounds finding the own identity: one query to the instance
// metadata for the region, one for the instance, one to EC2, with the
// credentials for it, each with its retries. The process waits for it.
const identityTimeout = 20 * time.Second

// identity is what this process works for, and the instance it runs on where
// that was requested.
type identity struct {
	Region string
	VPC    string
	// Subnet is the one for load balancers where no other is found, empty
	// without one.
	Subnet  string
	Cluster cluster.ID

	// Zone, InstanceID and NodeName are of the instance that the process runs
	// on. They are empty where that is not known.
	Zone       string
	InstanceID string
	NodeName   string
}

// What to set in the file where nothing else has it.
const (
	sayRegion   = "set Region in [Global] of the cloud-config, or AWS_REGION"
	sayIdentity = "set VPC and KubernetesClusterID in [Global] of the cloud-config to do without"
)

// findRegion is the region of the file, of the environment or of the instance,
// the first that is known.
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
		return "", fmt.Errorf("find the region: %w (%s)", err, sayRegion)
	}
	return region, nil
}

// identify finds the cluster of this process. It queries EC2 for its own
// instance only where the file leaves the VPC or the cluster open.
func identify(ctx context.Context, cfg *Config, imds *client.IMDS, clients *client.Clients) (identity, error) {
	id := identity{
		Region: clients.Region, VPC: cfg.Global.VPC, Subnet: cfg.Global.SubnetID, Cluster: cfg.clusterID(),
	}
	for _, o := range cfg.overrides {
		if o.Service != client.ServiceIMDS && o.Region != id.Region {
			klog.FromContext(ctx).Info("Service override is for another region, it does nothing", "service", o.Service, "region", o.Region, "ours", id.Region)
		}
	}
	if id.VPC != "" && id.Cluster.Name != "" {
		return id, nil
	}
	self, err := describeSelf(ctx, imds, clients.EC2)
	if err != nil {
		return identity{}, fmt.Errorf("find the VPC and the cluster: %w (%s)", err, sayIdentity)
	}
	if err := id.take(self); err != nil {
		return identity{}, err
	}
	if configured := cfg.Global.VPC; configured != "" && configured != id.VPC {
		klog.FromContext(ctx).Info("VPC of the cloud-config is ignored: it counts together with a cluster ID, and this instance is elsewhere",
			"configured", configured, "vpc", id.VPC)
	}
	return id, nil
}

// describeSelf is the instance that this process runs on.
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
	return types.Instance{}, fmt.Errorf("describe instance %s: EC2 knows of none", name)
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
		return fmt.Errorf("instance %s: EC2 does not say in which VPC it is (%s)", id.InstanceID, sayIdentity)
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
