package aws

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

// instancesOf asks for all pages.
func instancesOf(t *testing.T, api *ec2.Client, in *ec2.DescribeInstancesInput) ([]types.Instance, error) {
	t.Helper()
	var all []types.Instance
	pages := ec2.NewDescribeInstancesPaginator(api, in)
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			return nil, err
		}
		for _, r := range out.Reservations {
			all = append(all, r.Instances...)
		}
	}
	return all, nil
}

func idsOf(instances []types.Instance) []string {
	ids := make([]string, 0, len(instances))
	for _, i := range instances {
		ids = append(ids, *i.InstanceId)
	}
	slices.Sort(ids)
	return ids
}

func TestInstanceFields(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	group := c.AddSecurityGroup(SecurityGroupSpec{VPC: seed.VPC, Name: "extra"})
	id := seed.AddNode(InstanceSpec{
		Type: "p5.48xlarge", Tags: map[string]string{"Name": "n"},
		Interfaces: []InterfaceSpec{
			{Subnet: seed.Private["us-west-2a"], Device: 1, Card: 1, Groups: []string{group}, IPv6: true},
			{
				Subnet: seed.Private["us-west-2a"], Groups: []string{seed.NodeGroup}, Public: true, IPv6: true,
				PrivateIPs: []string{"10.0.64.10", "10.0.64.11"},
			},
		},
	})
	got, err := instancesOf(t, ec2Client(t, c), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	i := got[0]
	view := map[string]any{
		"state": i.State.Name, "code": *i.State.Code, "zone": *i.Placement.AvailabilityZone, "dns": *i.PrivateDnsName,
		"ip": *i.PrivateIpAddress, "public": *i.PublicIpAddress, "public dns": *i.PublicDnsName, "vpc": *i.VpcId == seed.VPC,
		"subnet": *i.SubnetId == seed.Private["us-west-2a"], "type": i.InstanceType, "groups": *i.SecurityGroups[0].GroupName,
		"tags": len(i.Tags), "check": *i.SourceDestCheck, "v6": *i.Ipv6Address,
	}
	want := map[string]any{
		"state": types.InstanceStateNameRunning, "code": int32(16), "zone": "us-west-2a",
		"dns": "ip-10-0-64-10.us-west-2.compute.internal", "ip": "10.0.64.10", "public": "100.64.0.1",
		"public dns": "ec2-100-64-0-1.us-west-2.compute.amazonaws.com", "vpc": true, "subnet": true,
		"type": types.InstanceType("p5.48xlarge"), "groups": "nodes.demo", "tags": 2, "check": true, "v6": "2001:db8:1:80::5",
	}
	if diff := cmp.Diff(want, view); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
	var interfaces []string
	for _, n := range i.NetworkInterfaces {
		for _, a := range n.PrivateIpAddresses {
			interfaces = append(interfaces, string(n.Status)+" "+string(n.Attachment.Status)+" "+
				itoa(int(*n.Attachment.DeviceIndex))+" "+itoa(int(*n.Attachment.NetworkCardIndex))+" "+*a.PrivateIpAddress)
		}
	}
	if diff := cmp.Diff([]string{
		"in-use attached 0 0 10.0.64.10", "in-use attached 0 0 10.0.64.11", "in-use attached 1 1 10.0.64.4",
	}, interfaces); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}
