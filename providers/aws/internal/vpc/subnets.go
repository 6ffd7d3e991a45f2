package vpc

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// maxFilterValues is the maximum number of values in one filter of EC2.
const maxFilterValues = 200

// subnetPage is the maximum size of a page of subnets.
const subnetPage = 1000

const (
	filterVPC    = "vpc-id"
	filterSubnet = "subnet-id"
	filterName   = "tag:Name"
)

// readSubnets reads all subnets of the VPC.
func (n *Network) readSubnets(ctx context.Context) ([]Subnet, error) {
	return n.describeSubnets(ctx, awstype.Filter(filterVPC, n.id))
}

// readSubnetsByID reads the subnets with these IDs. Those that do not exist are
// left out; without a filter, EC2 would reject such a request.
func (n *Network) readSubnetsByID(ctx context.Context, ids []string) ([]Subnet, error) {
	var all []Subnet
	for chunk := range slices.Chunk(ids, maxFilterValues) {
		subnets, err := n.describeSubnets(ctx, awstype.Filter(filterSubnet, chunk...))
		if err != nil {
			return nil, err
		}
		all = append(all, subnets...)
	}

	return all, nil
}

// readWanted reads the subnets that are wanted by ID or by name.
func (n *Network) readWanted(ctx context.Context, wanted []string) ([]Subnet, error) {
	ids, names := lists.Split(wanted, isID)
	all, err := n.readSubnetsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(names, maxFilterValues) {
		subnets, err := n.describeSubnets(ctx, awstype.Filter(filterName, chunk...), awstype.Filter(filterVPC, n.id))
		if err != nil {
			return nil, err
		}
		all = append(all, subnets...)
	}
	// A subnet may be wanted by its ID and by its name.
	return lists.DistinctBy(all, func(s Subnet) string { return s.ID }), nil
}

func (n *Network) describeSubnets(ctx context.Context, filters ...types.Filter) ([]Subnet, error) {
	pages := ec2.NewDescribeSubnetsPaginator(n.api, &ec2.DescribeSubnetsInput{
		Filters: filters, MaxResults: aws.Int32(subnetPage),
	})
	subnets, err := client.All(ctx, pages, func(page *ec2.DescribeSubnetsOutput) []types.Subnet { return page.Subnets })
	if err != nil {
		return nil, fmt.Errorf("describe subnets: %w", err)
	}

	return lists.Map(subnets, toSubnet), nil
}

// toSubnet converts a subnet. A CIDR that cannot be parsed is left empty.
func toSubnet(from types.Subnet) Subnet {
	cidr, _ := netip.ParsePrefix(aws.ToString(from.CidrBlock))

	return Subnet{
		ID:               aws.ToString(from.SubnetId),
		AvailabilityZone: aws.ToString(from.AvailabilityZone),
		CIDR:             cidr,
		Outpost:          aws.ToString(from.OutpostArn),
		Tags:             awstype.FromEC2Tags(from.Tags),
	}
}
