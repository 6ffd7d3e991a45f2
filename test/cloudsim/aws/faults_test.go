package aws

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		effect simserver.Fault
		want   string
	}{
		"throttled":    {Throttled(), "RequestLimitExceeded"},
		"denied":       {Denied(), "UnauthorizedOperation"},
		"auth":         {Error(http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials"), "AuthFailure"},
		"expired":      {Error(http.StatusBadRequest, "RequestExpired", "Request has <expired> & gone"), "RequestExpired"},
		"unhealthy":    {Error(http.StatusInternalServerError, "InternalError", "An internal error has occurred"), "InternalError"},
		"bare":         {simserver.Status(http.StatusBadGateway), "UnknownError"},
		"cut":          {simserver.Drop(), "no response"},
		"cut response": {simserver.DropResponse(), "no response"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, Options{})
			c.Interceptor().Inject("DescribeVpcs", simserver.Nth(1), tc.effect)
			api := ec2Client(t, c)
			_, err := api.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
			wantCode(t, err, tc.want)
			if _, err := api.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
				t.Errorf("the call after the fault: %v", err)
			}
		})
	}
}

func TestQueryFaults(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	api := sts.NewFromConfig(config(t, c))
	call := func() error {
		_, err := api.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})

		return err
	}
	c.Interceptor().Inject("sts", simserver.Nth(1), Throttled())
	wantCode(t, call(), "Throttling", "Rate exceeded")
	c.Interceptor().Inject("GetCallerIdentity", simserver.Nth(1), Denied())
	wantCode(t, call(), "AccessDenied")
	if err := call(); err != nil {
		t.Error(err)
	}
}

// TestDropResponse shows that the work of a call is done when its response is
// lost.
func TestDropResponse(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	c.Interceptor().Inject("CreateSecurityGroup", simserver.Nth(1), simserver.DropResponse())
	in := &ec2.CreateSecurityGroupInput{GroupName: new("g"), Description: new("d"), VpcId: &seed.VPC}
	cfg := config(t, c)
	cfg.RetryMaxAttempts = 3
	cfg.Retryer = func() awssdk.Retryer { return impatient{awssdk.NopRetryer{}} }
	_, err := ec2.NewFromConfig(cfg).CreateSecurityGroup(t.Context(), in)
	wantCode(t, err, "InvalidGroup.Duplicate")
	if diff := cmp.Diff(map[string]int{"CreateSecurityGroup": 2}, c.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// impatient retries every error once, without backoff.
type impatient struct{ awssdk.Retryer }

func (impatient) MaxAttempts() int                             { return 2 }
func (impatient) IsErrorRetryable(err error) bool              { return code(err) == "no response" }
func (impatient) RetryDelay(int, error) (time.Duration, error) { return 0, nil }
func (impatient) GetInitialToken() func(error) error           { return func(error) error { return nil } }

func (impatient) GetRetryToken(context.Context, error) (func(error) error, error) {
	return func(error) error { return nil }, nil
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	c := start(t, Options{Clock: clock})
	api := ec2Client(t, c)
	vpcs := func() string {
		_, err := api.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})

		return code(err)
	}
	subnets := func() string {
		_, err := api.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})

		return code(err)
	}
	c.SetThrottle("DescribeVpcs", 2, 2)
	got := []string{vpcs(), vpcs(), vpcs(), subnets()}
	clock.SetTime(clock.Now().Add(500 * time.Millisecond))
	got = append(got, vpcs(), vpcs())
	c.SetThrottle("DescribeVpcs", 0, 0)
	c.SetThrottle("ec2", 1, 1)
	got = append(got, vpcs(), subnets())
	want := []string{"", "", "RequestLimitExceeded", "", "", "RequestLimitExceeded", "", "RequestLimitExceeded"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("token bucket (-want +got):\n%s", diff)
	}
	if n := c.Throttles("ec2"); n != 1 {
		t.Errorf("the group throttled %d calls, want 1", n)
	}
	c.SetThrottle("ec2", 0, 0)
	c.SetThrottle(simserver.Any, 1, 1)
	_, err := sts.NewFromConfig(config(t, c)).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	wantCode(t, err, "")
	if got := subnets(); got != "RequestLimitExceeded" {
		t.Errorf("the bound of all APIs lets a second call pass: %q", got)
	}
}

func TestConsistency(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	c := start(t, Options{Clock: clock})
	seed := c.Seed("demo")
	api := ec2Client(t, c)
	tagIt := func(id string) string {
		_, err := api.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{tag("a", "b")}})

		return code(err)
	}
	look := func(id string) string {
		_, err := api.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})

		return code(err)
	}
	const missing = "InvalidInstanceID.NotFound"

	c.SetConsistency(Consistency{Reads: 2})
	id := seed.AddNodes(1)[0]
	if diff := cmp.Diff([]string{"", missing, missing, "", ""}, []string{tagIt(id), look(id), look(id), look(id), look(id)}); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	c.SetConsistency(Consistency{Reads: 1, Writes: true})
	id = seed.AddNodes(1)[0]
	if diff := cmp.Diff([]string{missing, "", ""}, []string{tagIt(id), tagIt(id), look(id)}); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	c.SetConsistency(Consistency{Delay: time.Minute})
	id = seed.AddNodes(1)[0]
	got := []string{look(id)}
	clock.SetTime(clock.Now().Add(time.Minute))
	if diff := cmp.Diff([]string{missing, ""}, append(got, look(id))); diff != "" {
		t.Errorf("delay (-want +got):\n%s", diff)
	}
}

func TestMutating(t *testing.T) {
	t.Parallel()
	want := map[string]bool{
		"DescribeInstances": false, "CreateTags": true, "elb.DescribeLoadBalancers": false, "elbv2.RegisterTargets": true,
		"imds.GetToken": false, "AssumeRole": false, "GetCallerIdentity": false, "ModifyInstanceAttribute": true, "GET /": false,
	}
	got := make(map[string]bool)
	for op := range want {
		got[op] = Mutating(op)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	lax := start(t, Options{AnyScope: true})
	tests := map[string]struct {
		reason string
		cloud  *Cloud
		change func(*ec2.Options)
		want   string
	}{
		"good":        {"", c, func(*ec2.Options) {}, ""},
		"unknown key": {"", c, func(o *ec2.Options) { o.Credentials = given("AKIAOTHER", staticSecret, "") }, "AuthFailure"},
		"bad secret":  {"", c, func(o *ec2.Options) { o.Credentials = given(staticKey, "wrong", "") }, "AuthFailure"},
		"extra token": {"", c, func(o *ec2.Options) { o.Credentials = given(staticKey, staticSecret, "token") }, "AuthFailure"},
		"anonymous":   {"", c, func(o *ec2.Options) { o.Credentials = awssdk.AnonymousCredentials{} }, "MissingAuthenticationToken"},
		"region":      {"SigningRegion", c, func(o *ec2.Options) { o.Region = "eu-west-1" }, "AuthFailure"},
		"any region":  {"SigningRegion", lax, func(o *ec2.Options) { o.Region = "eu-west-1" }, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ec2.NewFromConfig(config(t, tc.cloud), tc.change).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
			wantCode(t, err, tc.want)
		})
	}
	t.Cleanup(func() {
		regions := make(map[string]bool)
		for _, r := range lax.Requests("DescribeVpcs") {
			regions[r.SigningRegion+" "+r.SigningName+" "+r.AccessKeyID] = true
		}
		if diff := cmp.Diff(map[string]bool{"eu-west-1 ec2 " + staticKey: true}, regions); diff != "" {
			t.Errorf("request log (-want +got):\n%s", diff)
		}
	})
}

func given(id, secret, token string) awssdk.CredentialsProvider {
	return awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
		return awssdk.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token}, nil
	})
}

func TestRequestLog(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	_, err := ec2Client(t, c).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{MaxResults: new(int32(7)), Filters: []types.Filter{by("vpc-id", "vpc-1", "vpc-2")}})
	if err != nil {
		t.Fatal(err)
	}
	form := c.Requests("DescribeInstances")[0].Form
	got := []string{form.Get("MaxResults"), form.Get("Filter.1.Name"), form.Get("Filter.1.Value.2")}
	if !slices.Equal(got, []string{"7", "vpc-id", "vpc-2"}) {
		t.Errorf("request log has %v", got)
	}
}
