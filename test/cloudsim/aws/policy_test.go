package aws

import (
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
)

func TestDeniedActions(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	balancer := k.createNet(nil)
	k.createWeb(nil)
	deleteWeb := func() error {
		_, err := k.elb.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: new("web")})

		return err
	}
	deleteNet := func() error { return k.deleteNet(balancer) }
	deleteGroup := func() error { return k.deleteGroup(k.seed.NodeGroup) }
	for _, step := range []struct {
		reason string
		deny   []string
		call   func() error
		code   string
		text   string
	}{
		{"both load balancer APIs have the same actions", []string{"elasticloadbalancing:DeleteLoadBalancer"}, deleteWeb, "AccessDenied", "elasticloadbalancing:DeleteLoadBalancer"},
		{"both load balancer APIs have the same actions", []string{"elasticloadbalancing:DeleteLoadBalancer"}, deleteNet, "AccessDenied", "not authorized"},
		{"another API", []string{"ec2:DeleteSecurityGroup"}, deleteGroup, "UnauthorizedOperation", "ec2:DeleteSecurityGroup"},
		{"wildcards", []string{"ec2:*"}, deleteGroup, "UnauthorizedOperation", "not authorized"},
		{"wildcards", []string{"ec2:Describe*", "elasticloadbalancing:*"}, deleteGroup, "DependencyViolation", ""},
		{"allowed again", nil, deleteNet, "", ""},
		{"allowed again", nil, deleteWeb, "", ""},
	} {
		k.SetDenied(step.deny...)
		if err := step.call(); code(err) != step.code {
			t.Errorf("%s: %v denied: %v, want %q", step.reason, step.deny, err, step.code)
		} else if err != nil {
			wantCode(t, err, step.code, step.text)
		}
	}
}
