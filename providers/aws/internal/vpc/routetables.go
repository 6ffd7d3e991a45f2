package vpc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// internetGatewayPrefix is the prefix of the IDs of internet gateways.
const internetGatewayPrefix = "igw"

// tablePage is the maximum size of a page of route tables.
const tablePage = 100

// readTables reads all route tables of the VPC.
func (n *Network) readTables(ctx context.Context) ([]RouteTable, error) {
	pages := ec2.NewDescribeRouteTablesPaginator(n.api, &ec2.DescribeRouteTablesInput{
		Filters: []types.Filter{awstype.Filter(filterVPC, n.id)}, MaxResults: aws.Int32(tablePage),
	})
	tables, err := client.All(ctx, pages, func(page *ec2.DescribeRouteTablesOutput) []types.RouteTable { return page.RouteTables })
	if err != nil {
		return nil, fmt.Errorf("describe route tables: %w", err)
	}

	return lists.Map(tables, toTable), nil
}

func toTable(from types.RouteTable) RouteTable {
	table := RouteTable{ID: aws.ToString(from.RouteTableId)}
	for _, association := range from.Associations {
		table.Main = table.Main || aws.ToBool(association.Main)
		if id := aws.ToString(association.SubnetId); id != "" {
			table.Subnets = append(table.Subnets, id)
		}
	}
	table.Public = slices.ContainsFunc(from.Routes, func(route types.Route) bool {
		return strings.HasPrefix(aws.ToString(route.GatewayId), internetGatewayPrefix)
	})

	return table
}
