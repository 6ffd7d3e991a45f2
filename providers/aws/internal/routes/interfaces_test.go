package routes

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// TestMovable: a route that others made for their gateway is never replaced, even
// where the gateway's network interface is described as well.
func TestMovable(t *testing.T) {
	t.Parallel()
	some := aws.String
	cases := map[string]struct {
		reason string
		route  types.Route
		want   bool
	}{
		"instance":                   {"ours", types.Route{InstanceId: some("i-1"), NetworkInterfaceId: some("eni-1")}, true},
		"interface":                  {"ours, described without the instance", types.Route{NetworkInterfaceId: some("eni-1")}, true},
		"black hole":                 {"it cannot be used", types.Route{State: types.RouteStateBlackhole}, true},
		"NAT gateway":                {"of others", types.Route{NatGatewayId: some("nat-1")}, false},
		"NAT gateway and interface":  {"of others", types.Route{NatGatewayId: some("nat-1"), NetworkInterfaceId: some("eni-1")}, false},
		"transit gateway, interface": {"of others", types.Route{TransitGatewayId: some("tgw-1"), NetworkInterfaceId: some("eni-1")}, false},
		"peering, gone":              {"of others", types.Route{VpcPeeringConnectionId: some("pcx-1"), State: types.RouteStateBlackhole}, false},
		"peering":                    {"of others", types.Route{VpcPeeringConnectionId: some("pcx-1")}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := movable(&tc.route); got != tc.want {
				t.Errorf("%s: movable = %t", tc.reason, got)
			}
		})
	}
}
