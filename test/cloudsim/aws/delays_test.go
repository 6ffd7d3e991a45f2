package aws

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"
)

// startSlow is a region whose operations take as long as on AWS.
func startSlow(t *testing.T) *balancing {
	t.Helper()

	return startBalancing(t, Options{Delays: new(TypicalDelays())})
}

// newGroup has a client create a security group, and returns its ID.
func (k *balancing) newGroup(name string) string {
	k.t.Helper()
	out := ok(k, func(ctx context.Context) (*ec2.CreateSecurityGroupOutput, error) {
		return k.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
			GroupName: new(name), Description: new(name), VpcId: new(k.seed.VPC),
		})
	})

	return *out.GroupId
}

func (k *balancing) deleteGroup(id string) error {
	_, err := k.ec2.DeleteSecurityGroup(k.t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: new(id)})

	return err
}

func TestNewSecurityGroupIsUnknownToELB(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*balancing, string) error{
		"classic": func(k *balancing, group string) error {
			in := k.web()
			in.SecurityGroups = []string{group}
			_, err := k.elb.CreateLoadBalancer(k.t.Context(), in)

			return err
		},
		"network": func(k *balancing, group string) error {
			in := k.net()
			in.SecurityGroups = []string{group}
			_, err := k.v2.CreateLoadBalancer(k.t.Context(), in)

			return err
		},
	}
	for name, create := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startSlow(t)
			group := k.newGroup("new")
			wantCode(t, create(k, group), "InvalidSecurityGroup", group)
			if classic, network := k.LoadBalancers(); len(classic)+len(network) > 0 {
				t.Errorf("rejected calls left %v and %v", classic, network)
			}
			k.sleep(TypicalDelays().SecurityGroups)
			wantCode(t, create(k, group), "")
		})
	}
}

func TestDeletedLoadBalancerHoldsItsGroups(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*balancing, string) func() error{
		"classic": func(k *balancing, group string) func() error {
			k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{group} })

			return func() error {
				_, err := k.elb.DeleteLoadBalancer(k.t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: new("web")})

				return err
			}
		},
		"network": func(k *balancing, group string) func() error {
			arn := k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.SecurityGroups = []string{group} })

			return func() error { return k.deleteNet(arn) }
		},
	}
	for name, create := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startSlow(t)
			group := k.newGroup("used")
			k.sleep(time.Minute)
			remove := create(k, group)
			wantCode(t, k.deleteGroup(group), "DependencyViolation")
			wantCode(t, remove(), "")
			k.sleep(TypicalDelays().NetworkInterfaces - time.Second)
			wantCode(t, k.deleteGroup(group), "DependencyViolation")
			k.sleep(time.Second)
			wantCode(t, k.deleteGroup(group), "")
		})
	}
}

func TestTargetGroupIsInUseAfterItsListener(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		end    func(k *balancing, balancer, listener string) error
	}{
		"listener deleted": {"the listener is gone", func(k *balancing, _, listener string) error {
			_, err := k.v2.DeleteListener(k.t.Context(), &elbv2.DeleteListenerInput{ListenerArn: new(listener)})

			return err
		}},
		"load balancer deleted": {"its listeners go with it", func(k *balancing, balancer, _ string) error {
			return k.deleteNet(balancer)
		}},
		"listener modified": {"it forwards elsewhere", func(k *balancing, _, listener string) error {
			_, err := k.v2.ModifyListener(k.t.Context(), &elbv2.ModifyListenerInput{
				ListenerArn: new(listener),
				DefaultActions: []elbv2types.Action{{
					Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: new(k.createGroup("other", nil)),
				}},
			})

			return err
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startSlow(t)
			balancer, group := k.createNet(nil), k.createGroup("group", nil)
			listener := k.listen(balancer, group, 80)
			remove := func() error {
				_, err := k.v2.DeleteTargetGroup(t.Context(), &elbv2.DeleteTargetGroupInput{TargetGroupArn: new(group)})

				return err
			}
			wantCode(t, remove(), "ResourceInUse")
			wantCode(t, tc.end(k, balancer, listener), "")
			wantCode(t, remove(), "ResourceInUse", group)
			k.sleep(TypicalDelays().TargetGroups)
			if err := remove(); err != nil {
				t.Errorf("%s, but the target group stays in use: %v", tc.reason, err)
			}
		})
	}
}

// TestRuleReadsAreEventuallyConsistent checks what reads and writes see of rules
// for some time after a write.
func TestRuleReadsAreEventuallyConsistent(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	g := startGroups(t, Options{Clock: clock, Delays: &Delays{SecurityGroupRules: 5 * time.Second}})
	seen := func() (ports []int32) {
		out, err := g.api.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{g.group}})
		if err != nil {
			t.Fatal(err)
		}
		for _, permission := range out.SecurityGroups[0].IpPermissions {
			ports = append(ports, *permission.FromPort)
		}

		return ports
	}
	later := func(d time.Duration) []int32 {
		clock.SetTime(clock.Now().Add(d))

		return seen()
	}
	wantCode(t, g.authorize(t, allow("tcp", 80, "10.0.0.0/8")), "")
	got := [][]int32{seen()}
	wantCode(t, g.authorize(t, allow("tcp", 80, "10.0.0.0/8")), "InvalidPermission.Duplicate")
	got = append(got, later(3*time.Second))
	wantCode(t, g.revoke(t, allow("tcp", 80, "10.0.0.0/8")), "")
	wantCode(t, g.revoke(t, allow("tcp", 80, "10.0.0.0/8")), "InvalidPermission.NotFound")
	got = append(got, seen(), later(2*time.Second), later(3*time.Second))
	if diff := cmp.Diff([][]int32{nil, nil, nil, {80}, nil}, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}
