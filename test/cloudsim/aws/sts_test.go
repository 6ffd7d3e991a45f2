package aws

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	testingclock "k8s.io/utils/clock/testing"
)

const ccmRole = "arn:aws:iam::111122223333:role/teams/ccm"

func TestAssumeRole(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Now())
	c := start(t, Options{Clock: clock})
	c.RequireRole(ccmRole)
	cfg := config(t, c)
	_, err := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	wantCode(t, err, "UnauthorizedOperation")

	source := sts.NewFromConfig(cfg, sts.WithAPIOptions(
		smithyhttp.AddHeaderValue("x-amz-source-account", "111122223333"), smithyhttp.AddHeaderValue("x-amz-source-arn", "arn:aws:eks:us-west-2:1:cluster/c"),
	))
	provider := stscreds.NewAssumeRoleProvider(source, ccmRole, func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = "ccm" })
	got, err := provider.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Credentials = given(got.AccessKeyID, got.SecretAccessKey, got.SessionToken)
	if _, err := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
		t.Errorf("the role is rejected: %v", err)
	}
	identity, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || *identity.Account != "111122223333" || *identity.Arn != "arn:aws:sts::111122223333:assumed-role/ccm/ccm" {
		t.Errorf("caller is %v, error %v", identity, err)
	}
	want := []AssumedRole{{
		RoleARN: ccmRole, SessionName: "ccm", SourceAccount: "111122223333", SourceARN: "arn:aws:eks:us-west-2:1:cluster/c",
		AccessKeyID: got.AccessKeyID,
	}}
	if diff := cmp.Diff(want, c.AssumedRoles()); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	_, err = ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	wantCode(t, err, "RequestExpired")
}

func TestWebIdentity(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	api := sts.NewFromConfig(config(t, c))
	_, err := api.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: new(ccmRole), RoleSessionName: new("pod"), WebIdentityToken: new("jwt"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []AssumedRole{{RoleARN: ccmRole, SessionName: "pod", WebIdentityToken: "jwt"}}
	if diff := cmp.Diff(want, c.AssumedRoles(), cmpopts.IgnoreFields(AssumedRole{}, "AccessKeyID")); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}

func TestAssumeRoleRejected(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	api := sts.NewFromConfig(config(t, c))
	for name, in := range map[string]*sts.AssumeRoleInput{
		"arn":      {RoleArn: new("arn:aws:iam::12:role/x"), RoleSessionName: new("ccm")},
		"session":  {RoleArn: new(ccmRole), RoleSessionName: new("a b")},
		"duration": {RoleArn: new(ccmRole), RoleSessionName: new("ccm"), DurationSeconds: new(int32(60))},
	} {
		_, err := api.AssumeRole(t.Context(), in)
		if code(err) != "ValidationError" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
