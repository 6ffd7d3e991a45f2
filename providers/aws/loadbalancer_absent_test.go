package aws

import (
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// unknownVPC has the cloud-config name a VPC that the account does not have in
// the region.
func unknownVPC(c *loadBalancerConfig) {
	c.Settings.VPC = "vpc-0123456789abcdef0"
	c.Network = vpc.NewNetwork(c.EC2, c.Settings.VPC, vpc.NewZones(c.EC2))
}

// AWS-DELETE-5: a cloud-config for another region or account finds nothing of a
// Service that is deleted. That is an error, so that the Service stays until it
// is corrected.
func TestServiceStaysWithAConfigurationForAnotherAccount(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		for variant, settings := range map[string][]func(*loadBalancerConfig){"": nil, ", nodes left alone": {leaveNodes}} {
			t.Run(name+variant, func(t *testing.T) {
				t.Parallel()
				b := balance(t, settings...)
				before := b.Leaks()
				svc := web(options...)
				hostname := b.ensure(svc)
				other := balance(t, append(settings, unknownVPC)...)
				_, exists, err := other.lb.GetLoadBalancer(t.Context(), flagged, svc)
				for _, err := range []error{err, other.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc)} {
					if err == nil {
						t.Errorf("no error, and Get reports %t", exists)

						continue
					}
					for _, part := range []string{hostname, other.Region(), "vpc-0123456789abcdef0", "Region", "VPC"} {
						if !strings.Contains(err.Error(), part) {
							t.Errorf("the error lacks %q: %v", part, err)
						}
					}
				}
				b.remove(svc)
				b.same(before)
			})
		}
	}
}

// A Service that never had a load balancer is deleted with any cloud-config:
// nothing can be leaked.
func TestServiceWithoutAHostnameNeedsNoVPC(t *testing.T) {
	t.Parallel()
	b := balance(t, unknownVPC)
	calls := b.calls(func() {
		if b.exists(web()) {
			t.Error("Get reports a load balancer")
		}
		b.remove(web())
	})
	if calls["DescribeSubnets"] > 0 {
		t.Errorf("it reads subnets: %v", calls)
	}
}
