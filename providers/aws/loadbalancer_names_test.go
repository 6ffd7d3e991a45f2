package aws

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// AWS-CONFIG-9, AWS-AUTH-3: sections with the older names, in any case and with
// blanks around the URL, lead every API of the provider to the cloud that they
// name, STS too.
func TestOlderNamesOfServices(t *testing.T) {
	t.Parallel()
	for name, services := range map[string][]string{
		"both APIs at once": {"ec2", "elasticloadbalancing", "sts"},
		"one by one":        {"Ec2", "Elastic Load Balancing", "elasticloadbalancingV2", "STS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			var text strings.Builder
			fmt.Fprintf(&text, "[Global]\nRegion = %s\nVPC = %s\nKubernetesClusterID = %s\nRoleARN = arn:aws:iam::123456789012:role/ccm\n",
				b.Region(), b.seed.VPC, demo)
			for _, service := range services {
				fmt.Fprintf(&text, "[ServiceOverride %q]\nService = %s\nRegion = %s\nURL = \" %s \"\nSigningRegion = %[3]s\n",
					service, service, b.Region(), b.URL())
			}
			c := b.connectFile(cloudTuning{}, text.String())
			balancers, ok := c.LoadBalancer()
			if !ok {
				t.Fatal("there are no load balancers")
			}
			for _, svc := range []*v1.Service{web(), apiService(nlb())} {
				if _, err := balancers.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); err != nil {
					t.Errorf("AWS-CONFIG-9: ensure: %v", err)
				}
			}
			classic, network := b.LoadBalancers()
			if len(classic) != 1 || len(network) != 1 {
				t.Errorf("AWS-CONFIG-9: load balancers are %v and %v", classic, network)
			}
			if len(b.Requests("AssumeRole")) == 0 {
				t.Error("AWS-AUTH-3: STS got no call for the role")
			}
		})
	}
}
