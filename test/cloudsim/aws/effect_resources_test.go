package aws

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestRejectResources(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	ids := c.Seed("demo").AddNodes(3)
	c.Interceptor().Inject("CreateTags", simserver.Always(), RejectResources("TagLimitExceeded", "More than 50 tags specified", ids[1]))
	create := func(resources ...string) error {
		_, err := ec2Client(t, c).CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: resources, Tags: []types.Tag{{Key: new("a"), Value: new("b")}}})

		return err
	}
	wantCode(t, create(ids...), "TagLimitExceeded", "More than 50 tags")
	wantCode(t, create(ids[1]), "TagLimitExceeded")
	if c.Tags(ids[0])["a"] != "" {
		t.Error("a call that is rejected is applied in part")
	}
	if err := create(ids[0], ids[2]); err != nil || c.Tags(ids[0])["a"] != "b" {
		t.Errorf("a call without the resource is rejected: %v", err)
	}
}

func TestSetRouteInstances(t *testing.T) {
	t.Parallel()
	r := startRouting(t, Options{})
	r.AddRoute(r.table, RouteSpec{Destination: "100.96.9.0/24", Instance: r.single})
	for _, shown := range []bool{true, false, true} {
		r.SetRouteInstances(shown)
		out, err := r.api.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{RouteTableIds: []string{r.table}})
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range out.RouteTables[0].Routes {
			if route.DestinationCidrBlock == nil || *route.DestinationCidrBlock != "100.96.9.0/24" {
				continue
			}
			if (route.InstanceId != nil) != shown || (route.InstanceOwnerId != nil) != shown || route.NetworkInterfaceId == nil || route.State != types.RouteStateActive {
				t.Errorf("shown %t: %+v", shown, route)
			}
		}
	}
}
