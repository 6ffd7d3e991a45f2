package aws

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
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

func TestRoutes(t *testing.T) {
	t.Parallel()
	r := startRouting(t, Options{})
	primary := r.Interfaces(r.multi)[0]
	for _, in := range []ec2.CreateRouteInput{
		{DestinationCidrBlock: new("100.96.1.7/24"), InstanceId: &r.single},
		{DestinationCidrBlock: new("100.96.2.0/24"), NetworkInterfaceId: &primary},
		{DestinationIpv6CidrBlock: new("2001:db8:ffff:1::/80"), NetworkInterfaceId: &primary},
	} {
		if err := r.create(t, in); err != nil {
			t.Fatal(err)
		}
	}
	base := "0.0.0.0/0 " + r.Routes(r.table)[0][len("0.0.0.0/0 "):]
	want := []string{
		base, "100.96.1.0/24 " + r.single + " active", "100.96.2.0/24 " + r.multi + " active",
		"2001:db8:ffff:1::/80 " + r.multi + " active",
	}
	if diff := cmp.Diff(want, r.Routes(r.table)); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"route " + r.table + " 100.96.1.0/24", "route " + r.table + " 100.96.2.0/24", "route " + r.table + " 2001:db8:ffff:1::/80"}, r.Leaks()); diff != "" {
		t.Errorf("leaks (-want +got):\n%s", diff)
	}

	r.SetState(r.single, Stopped)
	r.Terminate(r.multi)
	out, err := r.api.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: []types.Filter{by("tag-key", ClusterTag("demo"))}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, route := range out.RouteTables[0].Routes {
		if route.State == types.RouteStateBlackhole {
			text := "v6"
			if route.DestinationCidrBlock != nil {
				text = *route.DestinationCidrBlock
			}
			if route.InstanceId != nil {
				text += " " + *route.InstanceId
			}
			got = append(got, text)
		}
	}
	if diff := cmp.Diff([]string{"100.96.1.0/24 " + r.single, "100.96.2.0/24", "v6"}, got); diff != "" {
		t.Errorf("black holes (-want +got):\n%s", diff)
	}

	_, err = r.api.ReplaceRoute(t.Context(), &ec2.ReplaceRouteInput{RouteTableId: &r.table, DestinationCidrBlock: new("100.96.2.0/24"), InstanceId: &r.single})
	if err != nil {
		t.Fatal(err)
	}
	r.SetState(r.single, Running)
	if diff := cmp.Diff("100.96.2.0/24 "+r.single+" active", r.Routes(r.table)[2]); diff != "" {
		t.Errorf("replaced route (-want +got):\n%s", diff)
	}
	for _, in := range []ec2.DeleteRouteInput{
		{DestinationCidrBlock: new("100.96.1.0/24")},
		{DestinationCidrBlock: new("100.96.2.0/24")},
		{DestinationIpv6CidrBlock: new("2001:db8:ffff:1::/80")},
	} {
		in.RouteTableId = &r.table
		if _, err := r.api.DeleteRoute(t.Context(), &in); err != nil {
			t.Fatal(err)
		}
	}
	if leaks := r.Leaks(); len(leaks) != 0 {
		t.Errorf("left behind: %v", leaks)
	}
}

func TestRouteRejected(t *testing.T) {
	t.Parallel()
	r := startRouting(t, Options{Limits: Limits{RoutesPerTable: 2}})
	other := r.Cloud.Seed("other").AddNodes(1)[0]
	r.AddRoute(r.table, RouteSpec{Destination: "100.96.9.0/24", Instance: r.single})
	tests := map[string]struct {
		reason string
		in     ec2.CreateRouteInput
		want   string
		texts  []string
	}{
		"twice":       {"the destination exists", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.9.0/24"), InstanceId: &r.single}, "RouteAlreadyExists", []string{"100.96.9.0/24"}},
		"local":       {"", ec2.CreateRouteInput{DestinationCidrBlock: new("10.0.0.0/16"), InstanceId: &r.single}, "RouteAlreadyExists", nil},
		"interfaces":  {"an instance with several interfaces needs the interface", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24"), InstanceId: &r.multi}, "InvalidInstanceID", []string{"multiple interfaces"}},
		"family":      {"an IPv6 range in the field for IPv4", ec2.CreateRouteInput{DestinationCidrBlock: new("2001:db8::/64"), InstanceId: &r.single}, "InvalidParameterValue", []string{"not a valid CIDR block"}},
		"no target":   {"", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24")}, "InvalidParameterCombination", nil},
		"unknown":     {"", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24"), InstanceId: new("i-0123")}, "InvalidInstanceID.NotFound", nil},
		"no eni":      {"", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24"), NetworkInterfaceId: new("eni-0123")}, "InvalidNetworkInterfaceID.NotFound", nil},
		"other vpc":   {"", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24"), InstanceId: &other}, "InvalidParameterValue", []string{"different networks"}},
		"destination": {"", ec2.CreateRouteInput{InstanceId: &r.single}, "MissingParameter", nil},
		"gateway":     {"", ec2.CreateRouteInput{DestinationCidrBlock: new("10.0.3.0/24"), GatewayId: new("igw-1")}, "InvalidParameterValue", []string{"only an interface or an instance"}},
		"limit":       {"", ec2.CreateRouteInput{DestinationCidrBlock: new("100.96.3.0/24"), InstanceId: &r.single}, "RouteLimitExceeded", nil},
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

func TestRouteTables(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	out, err := ec2Client(t, c).DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: []types.Filter{by("vpc-id", seed.VPC)}})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]string)
	for _, table := range out.RouteTables {
		about := []string{}
		for _, a := range table.Associations {
			if *a.Main {
				about = append(about, "main")
			}
		}
		for _, route := range table.Routes {
			switch {
			case route.GatewayId != nil:
				about = append(about, (*route.GatewayId)[:3])
			case route.NatGatewayId != nil:
				about = append(about, "nat")
			}
		}
		got[*table.RouteTableId] = append(about, strconv.Itoa(len(table.Associations)))
	}
	want := map[string][]string{
		seed.MainTable:    {"main", "loc", "loc", "1"},
		seed.PublicTable:  {"loc", "loc", "igw", "igw", "4"},
		seed.PrivateTable: {"loc", "loc", "nat", "3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables of the seed (-want +got):\n%s", diff)
	}
	subnets, err := ec2Client(t, c).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{by("vpc-id", seed.VPC), by("tag-key", "kubernetes.io/role/internal-elb")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(subnets.Subnets) != 3 || *subnets.Subnets[0].AvailableIpAddressCount != 16379 {
		t.Errorf("%d private subnets", len(subnets.Subnets))
	}
}
