package aws

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

func TestFargateInterface(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	seed.AddNodes(2)
	pod := c.AddFargate(FargateSpec{Subnet: seed.Private["us-west-2b"], IPv6: true})
	c.AddFargate(FargateSpec{Subnet: seed.Private["us-west-2c"], NoDNS: true})
	out, err := ec2Client(t, c).DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{
		by("attachment.status", "attached"), by("vpc-id", seed.VPC), by("private-ip-address", pod.PrivateIP),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.NetworkInterfaces) != 1 {
		t.Fatalf("%d interfaces have %s", len(out.NetworkInterfaces), pod.PrivateIP)
	}
	n := out.NetworkInterfaces[0]
	got := []any{*n.NetworkInterfaceId, *n.AvailabilityZone, *n.PrivateDnsName, *n.Ipv6Addresses[0].Ipv6Address, n.Attachment.InstanceId == nil}
	want := []any{pod.InterfaceID, "us-west-2b", pod.PrivateDNSName, pod.IPv6, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("interface (-want +got):\n%s", diff)
	}
	_, err = ec2Client(t, c).ModifyNetworkInterfaceAttribute(t.Context(), &ec2.ModifyNetworkInterfaceAttributeInput{
		NetworkInterfaceId: &pod.InterfaceID, Groups: []string{seed.NodeGroup},
	})
	wantCode(t, err, "AuthFailure", "do not have permission")
	c.RemoveInterface(pod.InterfaceID)
	_, err = ec2Client(t, c).DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{pod.InterfaceID}})
	wantCode(t, err, "InvalidNetworkInterfaceID.NotFound", pod.InterfaceID)
}

func TestSourceDestCheck(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	single := seed.AddNodes(1)[0]
	multi := seed.AddNode(InstanceSpec{Interfaces: []InterfaceSpec{{Subnet: seed.Private["us-west-2a"]}, {Subnet: seed.Private["us-west-2a"], Device: 1}}})
	api := ec2Client(t, c)
	off := &types.AttributeBooleanValue{Value: new(false)}
	modify := func(id string) error {
		_, err := api.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: &id, SourceDestCheck: off})

		return err
	}
	if err := modify(single); err != nil || c.SourceDestCheck(c.Interfaces(single)[0]) {
		t.Errorf("check is still on, error %v", err)
	}
	wantCode(t, modify(multi), "InvalidInstanceID", "multiple interfaces attached to instance '"+multi)
	primary := c.Interfaces(multi)[0]
	_, err := api.ModifyNetworkInterfaceAttribute(t.Context(), &ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: &primary, SourceDestCheck: off})
	if err != nil || c.SourceDestCheck(primary) || !c.SourceDestCheck(c.Interfaces(multi)[1]) {
		t.Errorf("the primary interface alone must have no check, error %v", err)
	}
	wantCode(t, modify("i-0123"), "InvalidInstanceID.NotFound")
	c.Terminate(single)
	wantCode(t, modify(single), "IncorrectInstanceState")
}
