package aws

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// TestEnvironment uses the SDK's own way to find everything. It changes the
// process's environment, so it runs alone.
func TestEnvironment(t *testing.T) {
	c := start(t, Options{Region: "eu-central-1"})
	c.Seed("demo").AddNodes(1)
	for _, name := range []string{"AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	for _, variable := range c.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	describe := func(t *testing.T) {
		t.Helper()
		cfg, err := sdk.LoadDefaultConfig(t.Context(), sdk.WithHTTPClient(config(t, c).HTTPClient), sdk.WithEC2IMDSRegion(func(o *sdk.UseEC2IMDSRegion) {
			o.Client = imds.New(imds.Options{Endpoint: c.URL(), HTTPClient: config(t, c).HTTPClient})
		}))
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Region != "eu-central-1" {
			t.Errorf("region is %q", cfg.Region)
		}
		if _, err := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
			t.Errorf("describe VPCs: %v", err)
		}
	}
	t.Run("static", describe)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Run("metadata", func(t *testing.T) {
		c.RequireRole("arn:aws:iam::123456789012:role/node-role")
		describe(t)
	})
}
