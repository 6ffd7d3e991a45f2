package securitygroup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

const (
	// pageSize is the maximum size of a page of EC2.
	pageSize = 1000
	// filterValues is the number of values in one filter; EC2 accepts 200.
	filterValues = 150
	// filterReferring finds groups by the sources of their rules.
	filterReferring = "ip-permission.group-id"
)

// observe reads the groups of the VPC that belong to the cluster; for a cluster
// without an ID, all groups.
func observe(ctx context.Context, api client.SecurityGroups, vpc string, id cluster.ID) (Groups, error) {
	filters := []types.Filter{awstype.Filter("vpc-id", vpc)}
	if id.Name != "" {
		filters = append(filters, awstype.Filter("tag-key", id.Tag(), cluster.LegacyTag))
	}
	groups, err := describe(ctx, api, filters)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(groups, func(_ string, group *Group) bool { return !id.Member(group.Tags) })

	return groups, nil
}

// ObserveIDs reads groups by their IDs, whatever they are for. IDs that do not
// exist are left out.
func ObserveIDs(ctx context.Context, api client.SecurityGroups, vpc string, ids []string) (Groups, error) {
	return observeBy(ctx, api, vpc, "group-id", ids)
}

// ObserveReferring reads the groups with a rule whose source is one of the groups
// with these IDs, whatever they are for.
func ObserveReferring(ctx context.Context, api client.SecurityGroups, vpc string, ids []string) (Groups, error) {
	return observeBy(ctx, api, vpc, filterReferring, ids)
}

// ObservePorts reads the groups with a rule that begins at one of the ports,
// whatever they are for. The ports of a network load balancer may have changed,
// but every group with its rules also has rules for path MTU discovery: these
// count as ports of all of them. Without ports nothing is read.
func ObservePorts(ctx context.Context, api client.SecurityGroups, vpc string, ports []int32) (Groups, error) {
	if len(ports) == 0 {
		return Groups{}, nil
	}
	values := lists.Map(slices.Concat([]int32{packetTooBig, unreachable}, ports), func(port int32) string { return strconv.Itoa(int(port)) })

	return observeBy(ctx, api, vpc, "ip-permission.from-port", values)
}

// observeNamed reads the group with a name, nil if there is none.
func observeNamed(ctx context.Context, api client.SecurityGroups, vpc, name string) (*Group, error) {
	groups, err := describe(ctx, api, []types.Filter{awstype.Filter("vpc-id", vpc), awstype.Filter("group-name", name)})
	if err != nil {
		return nil, err
	}

	return groups.Named(name), nil
}

func observeBy(ctx context.Context, api client.SecurityGroups, vpc, name string, values []string) (Groups, error) {
	found := Groups{}
	for chunk := range slices.Chunk(values, filterValues) {
		groups, err := describe(ctx, api, []types.Filter{awstype.Filter("vpc-id", vpc), awstype.Filter(name, chunk...)})
		if err != nil {
			return nil, err
		}
		maps.Copy(found, groups)
	}

	return found, nil
}

func describe(ctx context.Context, api client.SecurityGroups, filters []types.Filter) (Groups, error) {
	pages := ec2.NewDescribeSecurityGroupsPaginator(api, &ec2.DescribeSecurityGroupsInput{
		Filters: filters, MaxResults: aws.Int32(pageSize),
	})
	found, err := client.All(ctx, pages, func(page *ec2.DescribeSecurityGroupsOutput) []types.SecurityGroup { return page.SecurityGroups })
	if err != nil {
		return nil, fmt.Errorf("describe security groups by %s: %w", names(filters), err)
	}
	groups := Groups{}
	for i := range found {
		group := toGroup(&found[i])
		groups[group.ID] = group
	}

	return groups, nil
}

func toGroup(seen *types.SecurityGroup) *Group {
	return &Group{
		ID:          aws.ToString(seen.GroupId),
		Name:        aws.ToString(seen.GroupName),
		Description: aws.ToString(seen.Description),
		Tags:        awstype.FromEC2Tags(seen.Tags),
		Rules:       rulesOf(seen.IpPermissions),
	}
}

func names(filters []types.Filter) string {
	return strings.Join(lists.Map(filters, func(f types.Filter) string { return aws.ToString(f.Name) }), " and ")
}
