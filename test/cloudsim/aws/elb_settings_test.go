package aws

import (
	"context"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestClassicHealthCheck(t *testing.T) {
	t.Parallel()
	check := func(target string, interval, timeout, healthy, unhealthy int32) *elbtypes.HealthCheck {
		return &elbtypes.HealthCheck{
			Target: new(target), Interval: new(interval), Timeout: new(timeout), HealthyThreshold: new(healthy), UnhealthyThreshold: new(unhealthy),
		}
	}
	cases := map[string]struct {
		reason string
		check  *elbtypes.HealthCheck
		code   string
	}{
		"tcp":                {"a port without a path", check("TCP:30080", 10, 5, 2, 6), ""},
		"http":               {"ETP Local", check("HTTP:32000/healthz", 10, 5, 2, 6), ""},
		"smallest":           {"minimums", check("SSL:1", 5, 2, 2, 2), ""},
		"http without path":  {"", check("HTTP:80", 10, 5, 2, 6), "ValidationError"},
		"tcp with path":      {"path is dropped otherwise", check("TCP:80/x", 10, 5, 2, 6), "ValidationError"},
		"unknown protocol":   {"", check("UDP:80", 10, 5, 2, 6), "ValidationError"},
		"port":               {"", check("TCP:65536", 10, 5, 2, 6), "ValidationError"},
		"short interval":     {"5 at least", check("TCP:80", 4, 2, 2, 6), "ValidationError"},
		"timeout = interval": {"", check("TCP:80", 5, 5, 2, 6), "ValidationError"},
		"threshold":          {"2 at least", check("TCP:80", 10, 5, 1, 6), "ValidationError"},
		"large threshold":    {"", check("TCP:80", 10, 5, 2, 11), "ValidationError"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			k.createWeb(nil)
			out, err := k.elb.ConfigureHealthCheck(t.Context(), &elb.ConfigureHealthCheckInput{LoadBalancerName: new("web"), HealthCheck: tc.check})
			if got := code(err); got != tc.code {
				t.Fatalf("error code %q, want %q (%s)", got, tc.code, tc.reason)
			}
			want := *tc.check
			if err != nil {
				want = *check("TCP:30080", 30, 5, 10, 2)
			} else if diff := cmp.Diff(tc.check, out.HealthCheck, cmpopts.IgnoreUnexported(elbtypes.HealthCheck{})); diff != "" {
				t.Errorf("response, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(&want, describeWeb(k).HealthCheck, cmpopts.IgnoreUnexported(elbtypes.HealthCheck{})); diff != "" {
				t.Errorf("description, -want +got:\n%s", diff)
			}
		})
	}
}

func TestClassicAttributes(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	k.createWeb(nil)
	describe := func() *elbtypes.LoadBalancerAttributes {
		t.Helper()
		out := ok(k, func(ctx context.Context) (*elb.DescribeLoadBalancerAttributesOutput, error) {
			return k.elb.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: new("web")})
		})

		return out.LoadBalancerAttributes
	}
	opts := cmpopts.IgnoreUnexported(elbtypes.LoadBalancerAttributes{}, elbtypes.AccessLog{}, elbtypes.ConnectionDraining{},
		elbtypes.ConnectionSettings{}, elbtypes.CrossZoneLoadBalancing{}, elbtypes.AdditionalAttribute{})
	want := &elbtypes.LoadBalancerAttributes{
		AccessLog:              &elbtypes.AccessLog{},
		ConnectionDraining:     &elbtypes.ConnectionDraining{Timeout: new(int32(300))},
		ConnectionSettings:     &elbtypes.ConnectionSettings{IdleTimeout: new(int32(60))},
		CrossZoneLoadBalancing: &elbtypes.CrossZoneLoadBalancing{},
		AdditionalAttributes:   []elbtypes.AdditionalAttribute{{Key: new("elb.http.desyncmitigationmode"), Value: new("defensive")}},
	}
	if diff := cmp.Diff(want, describe(), opts); diff != "" {
		t.Errorf("a new load balancer, -want +got:\n%s", diff)
	}

	want.AccessLog = &elbtypes.AccessLog{Enabled: true, EmitInterval: new(int32(5)), S3BucketName: new("logs"), S3BucketPrefix: new("web")}
	want.ConnectionDraining = &elbtypes.ConnectionDraining{Enabled: true, Timeout: new(int32(30))}
	want.ConnectionSettings.IdleTimeout = new(int32(4000))
	want.CrossZoneLoadBalancing.Enabled = true
	want.AdditionalAttributes[0].Value = new("strictest")
	out := ok(k, func(ctx context.Context) (*elb.ModifyLoadBalancerAttributesOutput, error) {
		return k.elb.ModifyLoadBalancerAttributes(ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerName: new("web"), LoadBalancerAttributes: want})
	})
	for what, got := range map[string]*elbtypes.LoadBalancerAttributes{"response": out.LoadBalancerAttributes, "description": describe()} {
		if diff := cmp.Diff(want, got, opts); diff != "" {
			t.Errorf("%s, -want +got:\n%s", what, diff)
		}
	}

	for what, attributes := range map[string]elbtypes.LoadBalancerAttributes{
		"log without bucket":  {AccessLog: &elbtypes.AccessLog{Enabled: true}},
		"invalid interval":    {AccessLog: &elbtypes.AccessLog{Enabled: true, EmitInterval: new(int32(10)), S3BucketName: new("logs")}},
		"idle timeout":        {ConnectionSettings: &elbtypes.ConnectionSettings{IdleTimeout: new(int32(4001))}},
		"draining timeout":    {ConnectionDraining: &elbtypes.ConnectionDraining{Enabled: true, Timeout: new(int32(0))}},
		"second one is wrong": {CrossZoneLoadBalancing: &elbtypes.CrossZoneLoadBalancing{}, ConnectionSettings: &elbtypes.ConnectionSettings{IdleTimeout: new(int32(0))}},
	} {
		_, err := k.elb.ModifyLoadBalancerAttributes(t.Context(), &elb.ModifyLoadBalancerAttributesInput{LoadBalancerName: new("web"), LoadBalancerAttributes: &attributes})
		if got := code(err); got != "ValidationError" {
			t.Errorf("%s: error code %q", what, got)
		}
	}
	if diff := cmp.Diff(want, describe(), opts); diff != "" {
		t.Errorf("after rejected changes, -want +got:\n%s", diff)
	}
}

func TestClassicInstances(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.Subnets = in.Subnets[:2] })
	instances := func(ids ...string) []elbtypes.Instance {
		out := []elbtypes.Instance{}
		for _, id := range ids {
			out = append(out, elbtypes.Instance{InstanceId: new(id)})
		}

		return out
	}
	register := func(ids ...string) error {
		_, err := k.elb.RegisterInstancesWithLoadBalancer(t.Context(), &elb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: new("web"), Instances: instances(ids...)})

		return err
	}
	deregister := func(ids ...string) error {
		_, err := k.elb.DeregisterInstancesFromLoadBalancer(t.Context(), &elb.DeregisterInstancesFromLoadBalancerInput{LoadBalancerName: new("web"), Instances: instances(ids...)})

		return err
	}
	stopped, asleep := k.seed.AddNode(InstanceSpec{}), k.seed.AddNode(InstanceSpec{State: Stopped})
	terminated := k.seed.AddNode(InstanceSpec{})
	k.Terminate(terminated)
	foreign := k.Seed("other").AddNodes(1)[0]
	for _, step := range []struct {
		what string
		err  error
		code string
	}{
		{"running", register(k.nodes...), ""},
		{"again", register(k.nodes[0]), ""},
		{"running, stopped later", register(stopped), ""},
		{"stopped, with others", register(k.nodes[0], asleep), "InvalidInstance"},
		{"terminated", register(terminated), "InvalidInstance"},
		{"unknown", register("i-0"), "InvalidInstance"},
		{"another VPC", register(foreign), "InvalidInstance"},
		{"none", register(), "ValidationError"},
		{"deregister", deregister(k.nodes[1]), ""},
		{"deregister again", deregister(k.nodes[1]), ""},
		{"deregister unknown", deregister("i-0"), "InvalidInstance"},
	} {
		if got := code(step.err); got != step.code {
			t.Errorf("%s: error code %q, want %q", step.what, got, step.code)
		}
	}
	k.SetState(stopped, Stopped)
	if got := describeWeb(k).Instances; len(got) != 3 {
		t.Errorf("instances %v, want two nodes and the stopped one", got)
	}
}
