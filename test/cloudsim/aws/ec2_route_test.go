package aws

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// routing is a route table with a node of one network interface and one of two.
type routing struct {
	*Cloud
	seed          *Seed
	api           *ec2.Client
	table         string
	single, multi string
}

func startRouting(t *testing.T, opts Options) *routing {
	t.Helper()
	c := start(t, opts)
	seed := c.Seed("demo")

	return &routing{
		Cloud: c, seed: seed, api: ec2Client(t, c), table: seed.PrivateTable, single: seed.AddNodes(1)[0],
		multi: seed.AddNode(InstanceSpec{Interfaces: []InterfaceSpec{{Subnet: seed.Private["us-west-2a"]}, {Subnet: seed.Private["us-west-2a"], Device: 1}}}),
	}
}

func (r *routing) create(t *testing.T, in ec2.CreateRouteInput) error {
	t.Helper()
	in.RouteTableId = &r.table
	_, err := r.api.CreateRoute(t.Context(), &in)

	return err
}

func TestRouteRejected(t *testing.T) {
	t.Parallel()
	r := startRouting(t, Options{Limits: Limits{RoutesPerTable: 2}})
	r.AddRoute(r.table, RouteSpec{Destination: "100.96.9.0/24", Instance: r.single})
	tests := map[string]struct {
		reason string
		in     ec2.CreateRouteInput
		want   string
		texts  []string
	}{
		"twice":      {"the destination exists", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.9.0/24"), InstanceId: &r.single}, "RouteAlreadyExists", []string{"100.96.9.0/24"}},
		"interfaces": {"an instance with several interfaces needs the interface", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24"), InstanceId: &r.multi}, "InvalidInstanceID", []string{"multiple interfaces"}},
		"unknown":    {"", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24"), InstanceId: new("i-0123")}, "InvalidInstanceID.NotFound", nil},
		"limit":      {"", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24"), InstanceId: &r.single}, "RouteLimitExceeded", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCode(t, r.create(t, tc.in), tc.want, tc.texts...)
		})
	}
	_, err := r.api.DeleteRoute(t.Context(), &ec2.DeleteRouteInput{RouteTableId: &r.table, DestinationCidrBlock: new("1.2.3.0/24")})
	wantCode(t, err, "InvalidRoute.NotFound", "1.2.3.0/24")
	_, err = r.api.ReplaceRoute(t.Context(), &ec2.ReplaceRouteInput{RouteTableId: &r.table, DestinationCidrBlock: new("1.2.3.0/24"), InstanceId: &r.single})
	wantCode(t, err, "InvalidParameterValue", "no route defined for '1.2.3.0/24'")
	_, err = r.api.DeleteRoute(t.Context(), &ec2.DeleteRouteInput{RouteTableId: new("rtb-0"), DestinationCidrBlock: new("1.2.3.0/24")})
	wantCode(t, err, "InvalidRouteTableID.NotFound", "rtb-0")
}
