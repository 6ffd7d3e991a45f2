package aws

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

// local is the health check of a Service with externalTrafficPolicy Local.
func local(in *elbv2.CreateTargetGroupInput) {
	in.HealthCheckProtocol, in.HealthCheckPort, in.HealthCheckPath = elbv2types.ProtocolEnumHttp, new("32000"), new("/healthz")
	in.HealthCheckIntervalSeconds, in.HealthCheckTimeoutSeconds = new(int32(10)), new(int32(10))
	in.HealthyThresholdCount, in.UnhealthyThresholdCount = new(int32(2)), new(int32(2))
}

func TestTargetGroupCreateRejected(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	for what, tc := range map[string]struct {
		change func(*elbv2.CreateTargetGroupInput)
		code   string
	}{
		"interval below the default timeout of TCP": {func(in *elbv2.CreateTargetGroupInput) {
			in.HealthCheckIntervalSeconds = new(int32(9))
		}, "ValidationError"},
		"short timeout": {func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckTimeoutSeconds = new(int32(1)) }, "ValidationError"},
		"quota": {func(*elbv2.CreateTargetGroupInput) {
			k.createGroup("first", nil)
			k.SetQuotas(Quotas{TargetGroups: 1})
		}, "TooManyTargetGroups"},
	} {
		in := k.group80("group")
		tc.change(in)
		k.sleep(time.Second) // for the rate of calls
		_, err := k.v2.CreateTargetGroup(t.Context(), in)
		if got := code(err); got != tc.code && !strings.Contains(fmt.Sprint(err), "missing required field") {
			t.Errorf("%s: %v, want %q", what, err, tc.code)
		}
		k.SetQuotas(Quotas{})
	}
	if got := k.TargetGroups(); len(got) != 1 || got[0].Name != "first" {
		t.Errorf("rejected calls left target groups: %+v", got)
	}
}

// health returns state and reason by instance.
func (k *balancing) health(group string, named ...string) map[string]string {
	k.t.Helper()
	out := ok(k, func(ctx context.Context) (*elbv2.DescribeTargetHealthOutput, error) {
		return k.v2.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: new(group), Targets: targets(named...)})
	})
	states := make(map[string]string)
	for _, d := range out.TargetHealthDescriptions {
		states[*d.Target.Id] = strings.TrimSpace(string(d.TargetHealth.State) + " " + string(d.TargetHealth.Reason))
	}

	return states
}

func TestTargetHealth(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	k.SetRegistrationDelay(time.Minute)
	group := k.createGroup("group", nil)
	a, b, c := k.nodes[0], k.nodes[1], k.nodes[2]
	expect := func(what string, want map[string]string, named ...string) {
		t.Helper()
		if diff := cmp.Diff(want, k.health(group, named...)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", what, diff)
		}
	}
	wantCode(t, k.register(group, a, b, c), "")
	unused := "unused Target.NotInUse"
	expect("without a listener", map[string]string{a: unused, b: unused, c: unused})
	balancer := k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.SubnetMappings = in.SubnetMappings[:2] })
	k.listen(balancer, group, 80)
	initial := "initial Elb.RegistrationInProgress"
	expect("at first", map[string]string{a: initial, b: initial, c: unused})
	k.sleep(time.Minute)
	expect("later; the zone of the third is not enabled", map[string]string{a: "healthy", b: "healthy", c: unused})
	k.SetState(b, Stopped)
	expect("stopped", map[string]string{b: "unused Target.InvalidState"}, b)
	expect("unknown", map[string]string{"i-0": "unused Target.NotRegistered"}, "i-0")
}

func TestTargetsDrain(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	group := k.createGroup("group", nil)
	listener := k.listen(k.createNet(nil), group, 80)
	a, b := k.nodes[0], k.nodes[1]
	wantCode(t, k.register(group, a, b), "")
	wantCode(t, k.deregister(group, a, "i-0"), "")
	want := map[string]string{a: "draining Target.DeregistrationInProgress", b: "healthy"}
	if diff := cmp.Diff(want, k.health(group)); diff != "" {
		t.Errorf("deregistered, -want +got:\n%s", diff)
	}
	if got := k.TargetGroups()[0]; !cmp.Equal(got.Targets, []Target{{b, 30080}}) || !cmp.Equal(got.Draining, []Target{{a, 30080}}) {
		t.Errorf("targets %v, draining %v", got.Targets, got.Draining)
	}
	wantCode(t, k.register(group, a), "")
	if got := k.health(group, a)[a]; got != "healthy" {
		t.Errorf("registered while it drains: %s", got)
	}
	wantCode(t, k.deregister(group, a), "")
	k.sleep(5 * time.Minute)
	if diff := cmp.Diff(map[string]string{b: "healthy"}, k.health(group)); diff != "" {
		t.Errorf("after deregistration_delay, -want +got:\n%s", diff)
	}
	k.SetDrainingDelay(time.Second)
	wantCode(t, k.deregister(group, b), "")
	k.sleep(time.Second)
	if got := k.health(group); len(got) != 0 {
		t.Errorf("after the shorter delay: %v", got)
	}
	wantCode(t, k.register(group, a), "")
	ok(k, func(ctx context.Context) (*elbv2.DeleteListenerOutput, error) {
		return k.v2.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: new(listener)})
	})
	wantCode(t, k.deregister(group, a), "")
	if got := k.health(group); len(got) != 0 {
		t.Errorf("groups that are not in use drain at once, got %v", got)
	}
}
