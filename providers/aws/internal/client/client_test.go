package client_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/component-base/version"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// describe makes a call of each API and returns the names in the cloud's log.
func describe(ctx context.Context, c *client.Clients) ([]string, error) {
	if _, err := c.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{}); err != nil {
		return nil, err
	}
	if _, err := c.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{}); err != nil {
		return nil, err
	}
	_, err := c.ELBV2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{})

	return []string{"DescribeInstances", "elb.DescribeLoadBalancers", "elbv2.DescribeLoadBalancers"}, err
}

// TestOverride covers AWS-CONFIG-8: an override is the whole endpoint, with the
// region and the name to sign for, and wins over the environment.
func TestOverride(t *testing.T) {
	cloud, _ := start(t, sim.Options{AnyScope: true})
	keys(t, cloud)
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_EC2", "AWS_EC2_METADATA_SERVICE_ENDPOINT"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	list := overrides(cloud)
	for i := range list {
		list[i].SigningRegion = "signing-1"
	}
	list[0].SigningName = "myec2"
	base, clients := connect(t, client.Options{Overrides: list, Tuning: quick()})
	number, _, _ := strings.Cut(version.Get().GitVersion, "+")
	operations, err := describe(t.Context(), clients)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	for i, operation := range operations {
		requests := cloud.Requests(operation)
		if len(requests) != 1 {
			t.Fatalf("%s was called %d times", operation, len(requests))
		}
		name := map[int]string{0: "myec2"}[i]
		if name == "" {
			name = "elasticloadbalancing"
		}
		if got := requests[0]; got.SigningRegion != "signing-1" || got.SigningName != name {
			t.Errorf("AWS-CONFIG-8: %s is signed for %s in %s, want %s in signing-1", operation, got.SigningName, got.SigningRegion, name)
		}
		if agent := requests[0].Header.Get("User-Agent"); !strings.Contains(agent, " kubernetes/"+number) {
			t.Errorf("AWS-AUTH-6: the user agent must contain kubernetes/<version>: %s", agent)
		}
	}
	if got, err := base.IMDS().Region(t.Context()); err != nil || got != region {
		t.Errorf("the override of ec2imds must count whatever its region: %q, %v", got, err)
	}
}

// TestOverrideElsewhere covers AWS-CONFIG-8: an override for another region does
// not apply, and AWS-AUTH-1: endpoints of the environment do.
func TestOverrideElsewhere(t *testing.T) {
	cloud, self := start(t, sim.Options{})
	for _, line := range cloud.Environment() {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	base, clients := connect(t, client.Options{Tuning: quick(), Overrides: []client.Override{
		{Service: client.ServiceEC2, Region: "eu-west-1", URL: "http://127.0.0.1:1", SigningRegion: "eu-west-1"},
	}})
	if _, err := describe(t.Context(), clients); err != nil {
		t.Errorf("describe: %v", err)
	}
	if got, err := base.IMDS().InstanceID(t.Context()); err != nil || got != self {
		t.Errorf("AWS_EC2_METADATA_SERVICE_ENDPOINT must count: %q, %v", got, err)
	}
}

// TestSettingsOfTheSDK covers AWS-AUTH-1: FIPS, dual stack and the CA bundle come
// from the SDK's own variables.
func TestSettingsOfTheSDK(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true", "AWS_CA_BUNDLE": bundle,
		"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
	} {
		t.Setenv(name, value)
	}
	_, clients := connect(t, client.Options{Tuning: quick(), Overrides: []client.Override{
		{Service: client.ServiceELB, Region: region, URL: server.URL, SigningRegion: region},
	}})
	plain, ok := clients.ELBV2.(*elbv2.Client)
	if !ok {
		t.Fatalf("ELBV2 is a %T", clients.ELBV2)
	}
	if o := plain.Options().EndpointOptions; o.UseFIPSEndpoint != aws.FIPSEndpointStateEnabled || o.UseDualStackEndpoint != aws.DualStackEndpointStateEnabled {
		t.Errorf("FIPS %v, dual stack %v", o.UseFIPSEndpoint, o.UseDualStackEndpoint)
	}
	_, err := clients.ELB.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
	if reached.Load() != 1 || apierr.Code(err) != apierr.CodeDenied {
		t.Errorf("AWS_CA_BUNDLE must count: %v", err)
	}
}

const (
	role   = "arn:aws:iam::123456789012:role/ccm"
	source = "arn:aws:eks:us-west-2:123456789012:cluster/demo"
)

// TestRole covers AWS-AUTH-3: one role for all services, assumed once, with the
// headers against the confused deputy, at an endpoint that can be overridden.
func TestRole(t *testing.T) {
	for name, sourceARN := range map[string]string{"with source": source, "without source": ""} {
		t.Run(name, func(t *testing.T) {
			cloud, _ := start(t, sim.Options{})
			keys(t, cloud)
			cloud.RequireRole(role)
			_, clients := connect(t, client.Options{RoleARN: role, SourceARN: sourceARN, Overrides: overrides(cloud), Tuning: quick()})
			for range 2 {
				if _, err := describe(t.Context(), clients); err != nil {
					t.Fatalf("connect: %v", err)
				}
			}
			want := []sim.AssumedRole{{RoleARN: role, SourceAccount: "123456789012", SourceARN: sourceARN}}
			random := cmpopts.IgnoreFields(sim.AssumedRole{}, "SessionName", "AccessKeyID")
			if diff := cmp.Diff(want, cloud.AssumedRoles(), random); diff != "" {
				t.Errorf("AWS-AUTH-3: roles (-want +got):\n%s", diff)
			}
			if got := cloud.Requests("AssumeRole")[0]; got.SigningRegion != region {
				t.Errorf("STS is called in %s, want %s", got.SigningRegion, region)
			}
		})
	}
}

// TestWebIdentity covers AWS-AUTH-1: a token for a service account is a
// credential, at an STS that can be overridden (AWS-AUTH-3).
func TestWebIdentity(t *testing.T) {
	cloud, _ := start(t, sim.Options{})
	cloud.RequireRole(role)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a.b.c"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ROLE_ARN", role)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
	_, clients := connect(t, client.Options{Overrides: overrides(cloud), Tuning: quick()})
	if _, err := describe(t.Context(), clients); err != nil {
		t.Fatalf("connect: %v", err)
	}
	roles := cloud.AssumedRoles()
	if len(roles) != 1 || roles[0].WebIdentityToken != "a.b.c" {
		t.Errorf("AWS-AUTH-3: roles %+v", roles)
	}
}

// TestInstanceProfile covers AWS-AUTH-1: without anything else the instance
// metadata has the credentials.
func TestInstanceProfile(t *testing.T) {
	cloud, _ := start(t, sim.Options{})
	_, clients := connect(t, client.Options{Overrides: overrides(cloud), Tuning: quick()})
	if _, err := describe(t.Context(), clients); err != nil {
		t.Fatalf("connect: %v", err)
	}
	if got := cloud.Requests("DescribeInstances")[0].AccessKeyID; !strings.HasPrefix(got, "ASIA") {
		t.Errorf("the call is signed with %s, not with credentials of the instance", got)
	}
}

// TestNoCredentials checks that a failure to get credentials is never a result of
// the query.
func TestNoCredentials(t *testing.T) {
	cases := map[string]struct {
		reason string
		fault  func(*sim.Cloud)
		role   string
		want   string
	}{
		"no profile": {"the metadata responds with 404", func(c *sim.Cloud) { c.SetProfile("") }, "", apierr.CodeDenied},
		"refused":    {"STS rejects the role", func(c *sim.Cloud) { c.Interceptor().Inject("AssumeRole", always, sim.Denied()) }, role, apierr.CodeDenied},
		"missing":    {"STS has no such role", func(c *sim.Cloud) { c.Interceptor().Inject("AssumeRole", always, sim.Error(404, "RoleNotFound", "no")) }, role, apierr.CodeDenied},
		"down": {"STS is down", func(c *sim.Cloud) {
			c.Interceptor().Inject("AssumeRole", always, sim.Error(503, "ServiceUnavailable", "no"))
		}, role, apierr.CodeUnavailable},
		"throttled": {"STS throttles", func(c *sim.Cloud) { c.Interceptor().Inject("AssumeRole", always, sim.Throttled()) }, role, apierr.CodeUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cloud, _ := start(t, sim.Options{})
			tc.fault(cloud)
			_, clients := connect(t, client.Options{RoleARN: tc.role, Overrides: overrides(cloud), Tuning: quick()})
			_, err := clients.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
			if apierr.Code(err) != tc.want || client.Code(err) != "" {
				t.Errorf("%s: %q with code %q, want %q: %v", tc.reason, apierr.Code(err), client.Code(err), tc.want, err)
			}
			if got := cloud.Interceptor().Count("DescribeInstances"); got != 0 {
				t.Errorf("%s: EC2 was called %d times", tc.reason, got)
			}
		})
	}
}
