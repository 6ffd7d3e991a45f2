package aws

import (
	"context"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"
)

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
			_, err := ec2.NewFromConfig(config(t, tc.cloud), tc.change).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
			wantCode(t, err, tc.want)
		})
	}
	t.Cleanup(func() {
		regions := make(map[string]bool)
		for _, r := range lax.Requests("DescribeSubnets") {
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
