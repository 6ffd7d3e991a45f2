package client_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

var always = simserver.Always()

// TestFailures breaks calls on the wire: what they mean, and how often they are
// tried: three attempts (AWS-API-8).
func TestFailures(t *testing.T) {
	hold := simserver.NewHold()
	t.Cleanup(hold.Release)
	cases := map[string]struct {
		reason   string
		when     simserver.When
		fault    simserver.Fault
		want     string
		code     string
		attempts int
	}{
		"well":              {"", simserver.Nth(9), simserver.Drop(), apierr.CodeOK, "", 1},
		"throttled twice":   {"the third attempt succeeds", simserver.First(2), sim.Throttled(), apierr.CodeOK, "", 3},
		"throttled":         {"three attempts are throttled", always, sim.Throttled(), apierr.CodeThrottled, "RequestLimitExceeded", 3},
		"Throttling":        {"AWS-API-2: a code of AWS for throttling", always, sim.Error(400, "Throttling", "no"), apierr.CodeThrottled, "Throttling", 3},
		"TooManyRequests":   {"AWS-API-2: a code of AWS for throttling", always, sim.Error(400, "TooManyRequests", "no"), apierr.CodeThrottled, "TooManyRequests", 3},
		"ThrottlingExcepti": {"AWS-API-2: a code of AWS for throttling", always, sim.Error(400, "ThrottlingException", "no"), apierr.CodeThrottled, "ThrottlingException", 3},
		"denied":            {"not again", always, sim.Denied(), apierr.CodeDenied, "UnauthorizedOperation", 1},
		"not found":         {"not again", always, sim.Error(400, "InvalidInstanceID.NotFound", "no"), apierr.CodeNotFound, "InvalidInstanceID.NotFound", 1},
		"500":               {"again", always, sim.Error(500, "InternalError", "no"), apierr.CodeUnavailable, "InternalError", 3},
		"proxy":             {"a response of no API", always, simserver.Status(502), apierr.CodeUnavailable, "UnknownError", 3},
		"dropped":           {"again", always, simserver.Drop(), apierr.CodeUnavailable, "", 3},
		"hangs":             {"every attempt is bounded", always, hold.Before, apierr.CodeTimeout, "", 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cloud, _ := start(t, sim.Options{})
			keys(t, cloud)
			tuning := quick()
			if name == "hangs" {
				tuning.Timeout = time.Second
			}
			_, clients := connect(t, client.Options{Overrides: overrides(cloud), Tuning: tuning})
			cloud.Interceptor().Inject("DescribeInstances", tc.when, tc.fault)
			_, err := clients.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
			if apierr.Code(err) != tc.want || client.Code(err) != tc.code {
				t.Errorf("%s: %q with code %q, want %q with %q: %v", tc.reason, apierr.Code(err), client.Code(err), tc.want, tc.code, err)
			}
			if _, ok := errors.AsType[smithy.APIError](err); ok != (tc.code != "") {
				t.Errorf("%s: the SDK's error must stay: %v", tc.reason, err)
			}
			if tc.want == apierr.CodeTimeout && !errors.Is(err, apierr.ErrUnavailable) {
				t.Errorf("%s: must mean unavailable: %v", tc.reason, err)
			}
			if got := cloud.Interceptor().Count("DescribeInstances"); got != tc.attempts {
				t.Errorf("%s: %d attempts, want %d", tc.reason, got, tc.attempts)
			}
		})
	}
}

// TestMetrics covers AWS-API-8 and FW-METRIC-1: what is counted, once for a call
// with all its attempts.
func TestMetrics(t *testing.T) {
	cloud, _ := start(t, sim.Options{})
	keys(t, cloud)
	registry := kmetrics.NewKubeRegistry()
	m := client.NewMetrics(metrics.NewSet(registry, clock.RealClock{}).Recorder("aws"))
	m.Register(registry.MustRegister)
	base, clients := connect(t, client.Options{RoleARN: role, Overrides: overrides(cloud), Metrics: m, Tuning: quick()})
	ctx := t.Context()

	interceptor := cloud.Interceptor()
	interceptor.Inject("DescribeInstances", simserver.First(2), sim.Throttled())
	interceptor.Inject("DescribeRouteTables", always, sim.Throttled())
	interceptor.Inject("DescribeSubnets", always, sim.Denied())
	interceptor.Inject("CreateTags", always, sim.Error(http.StatusBadRequest, "InvalidID", "no"))
	interceptor.Inject("elb.DescribeLoadBalancers", always, simserver.Drop())
	var errs []error
	note := func(_ any, err error) { errs = append(errs, err) }
	note(clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{}))
	note(clients.EC2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{}))
	note(clients.EC2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{}))
	note(clients.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{"x"}, Tags: []types.Tag{{}}}))
	note(clients.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{}))
	note(base.IMDS().InstanceID(ctx))
	if errs[0] != nil || errs[5] != nil {
		t.Fatalf("%v, %v", errs[0], errs[5])
	}

	for name, want := range map[string][]string{
		"multicloud_ccm_cloud_requests_total": {
			"denied,DescribeSubnets,aws,ec2 1", "invalid,CreateTags,aws,ec2 1", "ok,AssumeRole,aws,sts 1", "ok,DescribeInstances,aws,ec2 1",
			"ok,GetMetadata,aws,imds 1", "ok,getToken,aws,imds 1", "throttled,DescribeRouteTables,aws,ec2 1",
			"unavailable,DescribeLoadBalancers,aws,elasticloadbalancing 1",
		},
		"cloudprovider_aws_api_request_duration_seconds": {"describe_instance 1"},
		"cloudprovider_aws_api_request_errors":           {"create_tags 1", "describe_route_tables 1"},
		"cloudprovider_aws_api_response_status_total":    {"CreateTags,EC2,400 1", "DescribeRouteTables,EC2,503 1", "DescribeSubnets,EC2,403 1"},
		"cloudprovider_aws_api_throttled_requests_total": {"DescribeInstances 2", "DescribeRouteTables 3"},
		"multicloud_ccm_aws_throttled_attempts_total":    {"DescribeInstances,ec2 2", "DescribeRouteTables,ec2 3"},
		"multicloud_ccm_aws_rate_limiter_duration_seconds": {
			"AssumeRole,sts 1", "CreateTags,ec2 1", "DescribeInstances,ec2 3", "DescribeLoadBalancers,elasticloadbalancing 3",
			"DescribeRouteTables,ec2 3", "DescribeSubnets,ec2 1",
		},
	} {
		if diff := cmp.Diff(want, counted(t, registry, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// counted is one line for each series of a metric: the values of its labels, and
// the count, or the number of observations.
func counted(t *testing.T, registry kmetrics.KubeRegistry, name string) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, label := range m.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			count := int(m.GetCounter().GetValue()) + int(m.GetHistogram().GetSampleCount())
			lines = append(lines, strings.Join(labels, ",")+" "+strconv.Itoa(count))
		}
	}
	slices.Sort(lines)

	return lines
}

// TestAllMetrics covers FW-METRIC-2: the names and labels that dashboards use.
func TestAllMetrics(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"cloudprovider_aws_api_request_duration_seconds": {"request"},
		"cloudprovider_aws_api_request_errors":           {"request"},
		"cloudprovider_aws_api_throttled_requests_total": {"operation_name"},
		"cloudprovider_aws_api_response_status_total":    {"service", "operation", "status_code"},

		"multicloud_ccm_aws_rate_limiter_duration_seconds": {"service", "operation"},
		"multicloud_ccm_aws_throttled_attempts_total":      {"service", "operation"},
	}
	got := map[string][]string{}
	for _, m := range client.AllMetrics() {
		got[m.Name] = m.Labels
		if m.Help == "" || m.Type == metrics.Gauge {
			t.Errorf("%s: help %q, type %s", m.Name, m.Help, m.Type)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestIMDS checks the queries of the instance metadata, and what its failures
// mean.
func TestIMDS(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  func(*sim.Cloud)
		want   string
	}{
		"well":        {"version 2 with its token", func(*sim.Cloud) {}, apierr.CodeOK},
		"off":         {"version 1 does not help", func(c *sim.Cloud) { c.SetMetadata(false) }, apierr.CodeDenied},
		"no instance": {"the instance ID is not found", func(c *sim.Cloud) { c.SetSelf("") }, apierr.CodeNotFound},
		"down":        {"the service responds with an error", func(c *sim.Cloud) { c.Interceptor().Inject("imds", always, simserver.Status(503)) }, apierr.CodeUnavailable},
		"gone":        {"connections are closed", func(c *sim.Cloud) { c.Interceptor().Inject("imds", always, simserver.Drop()) }, apierr.CodeUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, self := start(t, sim.Options{})
			tc.fault(cloud)
			base, err := client.Load(t.Context(), client.Options{Overrides: overrides(cloud), Tuning: quick()})
			if err != nil {
				t.Fatal(err)
			}
			id, idErr := base.IMDS().InstanceID(t.Context())
			got, regionErr := base.IMDS().Region(t.Context())
			if apierr.Code(idErr) != tc.want || apierr.Code(regionErr) != tc.want {
				t.Errorf("%s: %q and %q, want %q: %v, %v", tc.reason, apierr.Code(idErr), apierr.Code(regionErr), tc.want, idErr, regionErr)
			}
			if tc.want == apierr.CodeOK && (id != self || got != region) {
				t.Errorf("%s: instance %q in %q, want %q in %q", tc.reason, id, got, self, region)
			}
		})
	}
}
