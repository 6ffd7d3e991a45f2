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

func TestTargetGroupCreateAgain(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	arn := k.createGroup("group", nil)
	if again := k.createGroup("group", nil); again != arn {
		t.Errorf("the same request returns %q, want %q", again, arn)
	}
	for what, change := range map[string]func(*elbv2.CreateTargetGroupInput){
		"port":         func(in *elbv2.CreateTargetGroupInput) { in.Port = new(int32(30081)) },
		"protocol":     func(in *elbv2.CreateTargetGroupInput) { in.Protocol = elbv2types.ProtocolEnumTls },
		"health check": local,
		"tags":         func(in *elbv2.CreateTargetGroupInput) { in.Tags = []elbv2types.Tag{{Key: new("a"), Value: new("b")}} },
	} {
		in := k.group80("group")
		change(in)
		_, err := k.v2.CreateTargetGroup(t.Context(), in)
		if got := code(err); got != "DuplicateTargetGroupName" {
			t.Errorf("with another %s it returns %v", what, err)
		}
	}
}

func TestTargetGroupCreateRejected(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	for what, tc := range map[string]struct {
		change func(*elbv2.CreateTargetGroupInput)
		code   string
	}{
		"long name":     {func(in *elbv2.CreateTargetGroupInput) { in.Name = new(strings.Repeat("a", 33)) }, "ValidationError"},
		"name":          {func(in *elbv2.CreateTargetGroupInput) { in.Name = new("k8s-default-") }, "ValidationError"},
		"no port":       {func(in *elbv2.CreateTargetGroupInput) { in.Port = nil }, "ValidationError"},
		"port 0":        {func(in *elbv2.CreateTargetGroupInput) { in.Port = new(int32(0)) }, "ValidationError"},
		"no vpc":        {func(in *elbv2.CreateTargetGroupInput) { in.VpcId = nil }, "ValidationError"},
		"vpc":           {func(in *elbv2.CreateTargetGroupInput) { in.VpcId = new("vpc-0") }, "ValidationError"},
		"protocol":      {func(in *elbv2.CreateTargetGroupInput) { in.Protocol = "tcp" }, "ValidationError"},
		"type":          {func(in *elbv2.CreateTargetGroupInput) { in.TargetType = elbv2types.TargetTypeEnumIp }, "ValidationError"},
		"check off":     {func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckEnabled = new(false) }, "ValidationError"},
		"udp check":     {func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckProtocol = elbv2types.ProtocolEnumUdp }, "ValidationError"},
		"path with tcp": {func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckPath = new("/healthz") }, "ValidationError"},
		"path": {func(in *elbv2.CreateTargetGroupInput) {
			local(in)
			in.HealthCheckPath = new("healthz")
		}, "ValidationError"},
		"check port": {func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckPort = new("http") }, "ValidationError"},
		"interval":   {func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckIntervalSeconds = new(int32(4)) }, "ValidationError"},
		"timeout": {func(in *elbv2.CreateTargetGroupInput) {
			local(in)
			in.HealthCheckTimeoutSeconds = new(int32(11))
		}, "ValidationError"},
		"interval below the default timeout of TCP": {func(in *elbv2.CreateTargetGroupInput) {
			in.HealthCheckIntervalSeconds = new(int32(9))
		}, "ValidationError"},
		"interval below the default timeout of HTTPS": {func(in *elbv2.CreateTargetGroupInput) {
			in.HealthCheckProtocol, in.HealthCheckIntervalSeconds = elbv2types.ProtocolEnumHttps, new(int32(9))
		}, "ValidationError"},
		"interval below the default timeout of HTTP": {func(in *elbv2.CreateTargetGroupInput) {
			in.HealthCheckProtocol, in.HealthCheckIntervalSeconds = elbv2types.ProtocolEnumHttp, new(int32(5))
		}, "ValidationError"},
		"short timeout": {func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckTimeoutSeconds = new(int32(1)) }, "ValidationError"},
		"long timeout": {func(in *elbv2.CreateTargetGroupInput) {
			in.HealthCheckTimeoutSeconds, in.HealthCheckIntervalSeconds = new(int32(121)), new(int32(300))
		}, "ValidationError"},
		"threshold": {func(in *elbv2.CreateTargetGroupInput) { in.HealthyThresholdCount = new(int32(11)) }, "ValidationError"},
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

func TestTargetGroupModify(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	arn := k.createGroup("group", local)
	for _, step := range []struct {
		reason string
		change elbv2.ModifyTargetGroupInput
		code   string
		want   TargetHealthCheck
	}{
		{"one threshold alone", elbv2.ModifyTargetGroupInput{UnhealthyThresholdCount: new(int32(4))}, "", TargetHealthCheck{"HTTP", "32000", "/healthz", "200-399", 10, 10, 2, 4}},
		{"timeout", elbv2.ModifyTargetGroupInput{HealthCheckTimeoutSeconds: new(int32(5))}, "", TargetHealthCheck{"HTTP", "32000", "/healthz", "200-399", 10, 5, 2, 4}},
		{"interval below the timeout", elbv2.ModifyTargetGroupInput{HealthCheckIntervalSeconds: new(int32(3))}, "ValidationError", TargetHealthCheck{"HTTP", "32000", "/healthz", "200-399", 10, 5, 2, 4}},
		{"to TCP", elbv2.ModifyTargetGroupInput{HealthCheckProtocol: elbv2types.ProtocolEnumTcp, HealthCheckPort: new("traffic-port")}, "", TargetHealthCheck{"TCP", "traffic-port", "", "", 10, 5, 2, 4}},
		{"path of TCP", elbv2.ModifyTargetGroupInput{HealthCheckPath: new("/")}, "ValidationError", TargetHealthCheck{"TCP", "traffic-port", "", "", 10, 5, 2, 4}},
		{"to HTTPS", elbv2.ModifyTargetGroupInput{HealthCheckProtocol: elbv2types.ProtocolEnumHttps, Matcher: &elbv2types.Matcher{HttpCode: new("200")}}, "", TargetHealthCheck{"HTTPS", "traffic-port", "/", "200", 10, 5, 2, 4}},
	} {
		step.change.TargetGroupArn = new(arn)
		_, err := k.v2.ModifyTargetGroup(t.Context(), &step.change)
		if got := code(err); got != step.code {
			t.Errorf("%s: %v, want %q", step.reason, err, step.code)
		}
		if diff := cmp.Diff(step.want, k.TargetGroups()[0].HealthCheck); diff != "" {
			t.Errorf("%s, -want +got:\n%s", step.reason, diff)
		}
	}
	_, err := k.v2.ModifyTargetGroup(t.Context(), &elbv2.ModifyTargetGroupInput{TargetGroupArn: new(arn + "0")})
	wantCode(t, err, "TargetGroupNotFound")
}

func TestTargetGroupDelete(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	balancer, group := k.createNet(nil), k.createGroup("group", nil)
	listener := k.listen(balancer, group, 80)
	remove := func(arn string) error {
		_, err := k.v2.DeleteTargetGroup(t.Context(), &elbv2.DeleteTargetGroupInput{TargetGroupArn: new(arn)})

		return err
	}
	wantCode(t, remove(group), "ResourceInUse", "currently in use by a listener")
	wantCode(t, remove(listener), "ValidationError")
	wantCode(t, k.deleteNet(balancer), "")
	if got := k.TargetGroups(); len(got) != 1 {
		t.Errorf("target groups outlive their load balancer, got %v", got)
	}
	wantCode(t, remove(group), "")
	wantCode(t, remove(group), "")
}

func TestTargetGroupAttributes(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	tcp := k.createGroup("tcp", nil)
	udp := k.createGroup("udp", func(in *elbv2.CreateTargetGroupInput) { in.Protocol = elbv2types.ProtocolEnumUdp })
	modify := func(arn, key, value string) error {
		_, err := k.v2.ModifyTargetGroupAttributes(t.Context(), &elbv2.ModifyTargetGroupAttributesInput{
			TargetGroupArn: new(arn), Attributes: []elbv2types.TargetGroupAttribute{{Key: new(key), Value: new(value)}},
		})

		return err
	}
	wantCode(t, modify(tcp, "preserve_client_ip.enabled", "false"), "")
	wantCode(t, modify(tcp, "proxy_protocol_v2.enabled", "true"), "")
	wantCode(t, modify(udp, "preserve_client_ip.enabled", "false"), "InvalidConfigurationRequest")
	wantCode(t, modify(udp, "preserve_client_ip.enabled", "true"), "")
	wantCode(t, modify(tcp, "preserve_client_ip.enabled", ""), "ValidationError")
	wantCode(t, modify(tcp, "slow_start.duration_seconds", "30"), "ValidationError")
	wantCode(t, modify(tcp+"0", "preserve_client_ip.enabled", "true"), "TargetGroupNotFound")
	out := ok(k, func(ctx context.Context) (*elbv2.DescribeTargetGroupAttributesOutput, error) {
		return k.v2.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: new(tcp)})
	})
	got := make(map[string]string)
	for _, attribute := range out.Attributes {
		got[*attribute.Key] = *attribute.Value
	}
	want := defaultGroupAttributes("TCP")
	want["preserve_client_ip.enabled"], want["proxy_protocol_v2.enabled"] = "false", "true"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes, -want +got:\n%s", diff)
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
