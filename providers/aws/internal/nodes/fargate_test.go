package nodes

import (
	"errors"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestFargateAmbiguous: two network interfaces with the address are an error;
// one in another VPC does not count.
func TestFargateAmbiguous(t *testing.T) {
	t.Parallel()
	r := awstest.Start(t, sim.Options{})
	other := r.AddVPC(sim.VPCSpec{CIDR: "10.0.0.0/16"})
	subnet := r.AddSubnet(sim.SubnetSpec{VPC: other, Zone: "us-west-2a", CIDR: "10.0.64.0/18"})
	pod := r.AddFargate(sim.FargateSpec{Subnet: r.Cluster.Private["us-west-2a"], PrivateIP: "10.0.64.20"})
	second := r.AddFargate(sim.FargateSpec{Subnet: subnet, PrivateIP: "10.0.64.20"})
	ref := instance.Ref{ProviderID: "aws:///" + pod.Zone + "/0123abcd/fargate-" + pod.PrivateIP}
	if _, err := sourceIn(t, r, Config{VPC: r.Cluster.VPC}, awstest.Impatient()).Lookup(t.Context(), ref).Get(); err != nil {
		t.Errorf("in the VPC: %v", err)
	}
	_, err := sourceIn(t, r, Config{}, awstest.Impatient()).Lookup(t.Context(), ref).Get()
	if err == nil || instance.ReasonOf(err) != instance.ReasonAmbiguousInstance {
		t.Errorf("AWS-FARGATE-1: two network interfaces, %s and %s: got %v", pod.InterfaceID, second.InterfaceID, err)
	}
}

func TestFargateAddress(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, name, want string }{
		"address":      {"an address as it is", "fargate-10.0.1.2", "10.0.1.2"},
		"host name":    {"the name of the host", "fargate-ip-10-0-1-2.ec2.internal", "10.0.1.2"},
		"short":        {"the domain is optional", "fargate-ip-10-0-1-2", "10.0.1.2"},
		"nothing":      {"no address", "fargate-", ""},
		"no address":   {"no address", "fargate-0123abcd", ""},
		"three groups": {"no address", "fargate-ip-10-0-1.ec2.internal", ""},
		"ipv6":         {"IPv4 alone", "fargate-2001:db8::1", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fargateAddress(tc.name)
			if (err == nil) != (tc.want != "") || err == nil && got.String() != tc.want {
				t.Errorf("%s: got %s, %v", tc.reason, got, err)
			}
			if errors.Is(err, errNoInterface) {
				t.Errorf("%s: a bad name proves nothing about what is there", tc.reason)
			}
		})
	}
}
