package aws

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

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
