package vpc

import (
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestSparse reads responses that leave out all that can be left out (AWS-API-1).
func TestSparse(t *testing.T) {
	t.Parallel()

	got := toSubnet(types.Subnet{Tags: []types.Tag{{}}, CidrBlock: new("10.0.0.0")})
	if diff := cmp.Diff(Subnet{Tags: map[string]string{"": ""}}, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("AWS-API-1: subnet: -want +got:\n%s", diff)
	}
	table := toTable(types.RouteTable{Associations: []types.RouteTableAssociation{{}}, Routes: []types.Route{{}}})
	if diff := cmp.Diff(RouteTable{}, table); diff != "" {
		t.Errorf("AWS-API-1: route table: -want +got:\n%s", diff)
	}
	egress := toTable(types.RouteTable{Routes: []types.Route{{EgressOnlyInternetGatewayId: new("eigw-1"), GatewayId: new("local")}}})
	if egress.Public {
		t.Error("only an internet gateway makes a table public")
	}
}
