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
)

// maxFilterValues is how many values EC2 takes in one filter.
const maxFilterValues = 200

// subnetPage is how many subnets EC2 returns at a time at most.
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
// left out, which the same request by ID in place of a filter would not do.
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
	ids, names := split(wanted)
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
	return distinct(all), nil
}

func (n *Network) describeSubnets(ctx context.Context, filters ...types.Filter) ([]Subnet, error) {
	var subnets []Subnet
	pages := ec2.NewDescribeSubnetsPaginator(n.api, &ec2.DescribeSubnetsInput{
		Filters: filters, MaxResults: aws.Int32(subnetPage),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe subnets: %w", err)
		}
		for i := range page.Subnets {
			subnets = append(subnets, toSubnet(&page.Subnets[i]))
		}
	}
	return subnets, nil
}

// toSubnet keeps what counts. A CIDR that cannot be read is as good as none.
func toSubnet(from *types.Subnet) Subnet {
	cidr, _ := netip.ParsePrefix(aws.ToString(from.CidrBlock))
	return Subnet{
		ID:               aws.ToString(from.SubnetId),
		AvailabilityZone: aws.ToString(from.AvailabilityZone),
		CIDR:             cidr,
		Tags:             awstype.FromEC2Tags(from.Tags),
	}
}

// distinct keeps the first of the subnets with the same ID.
func distinct(subnets []Subnet) []Subnet {
	seen := map[string]bool{}
	return filter(subnets, func(s Subnet) bool {
		first := !seen[s.ID]
		seen[s.ID] = true
		return first
	})
}
