package aws

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func imdsClient(t *testing.T, c *Cloud) *imds.Client {
	t.Helper()

	return imds.New(imds.Options{
		Endpoint: c.URL(), HTTPClient: config(t, c).HTTPClient, DisableDefaultTimeout: true,
		Retryer: awssdk.NopRetryer{},
	})
}

func read(ctx context.Context, api *imds.Client, path string) (string, error) {
	out, err := api.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if err != nil {
		return "", err
	}
	defer out.Content.Close()
	text, err := io.ReadAll(out.Content)

	return string(text), err
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	id := seed.AddNodes(2)[0]
	api := imdsClient(t, c)
	mac, err := read(t.Context(), api, "mac")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	want := map[string]string{
		"instance-id": id, "placement/availability-zone": "us-west-2a", "placement/region": "us-west-2",
		"local-hostname": c.PrivateDNSName(id), "network/interfaces/macs/": mac + "/",
		"network/interfaces/macs/" + mac + "/vpc-id": seed.VPC, "placement": "availability-zone\navailability-zone-id\nregion",
		"services/domain": "amazonaws.com", "iam/security-credentials/": "node-role",
	}
	for path := range want {
		if got[path], err = read(t.Context(), api, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if n := c.Interceptor().Count("imds.GetToken"); n != 1 {
		t.Errorf("%d tokens were fetched, want 1", n)
	}
	region, err := api.GetRegion(t.Context(), nil)
	if err != nil || region.Region != "us-west-2" {
		t.Errorf("region %v, error %v", region, err)
	}
	document, err := api.GetInstanceIdentityDocument(t.Context(), nil)
	if err != nil || document.InstanceID != id || document.AccountID != c.AccountID() || document.PrivateIP != c.PrivateIPs(id)[0] {
		t.Errorf("identity document is %+v, error %v", document, err)
	}
}

func TestMetadataCredentials(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	c.Seed("demo").AddNodes(1)
	cfg := config(t, c)
	cfg.Credentials = ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = imdsClient(t, c) })
	c.RequireRole("arn:aws:iam::123456789012:role/node-role")
	if _, err := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
		t.Errorf("credentials of the instance profile: %v", err)
	}
	c.SetProfile("")
	if _, err := cfg.Credentials.Retrieve(t.Context()); err == nil {
		t.Error("there are credentials without instance profile")
	}
}

func TestMetadataRejected(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	client := config(t, c).HTTPClient
	call := func(method, path, header, value string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, c.URL()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, value)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)

		return resp.StatusCode
	}
	if got := call("GET", "/latest/meta-data/instance-id", "Accept", "*/*"); got != http.StatusUnauthorized {
		t.Errorf("without token: status %d", got)
	}
	if got := call("GET", "/latest/meta-data/instance-id", tokenHeader, "invalid"); got != http.StatusUnauthorized {
		t.Errorf("with a bad token: status %d", got)
	}
	if got := call("PUT", "/latest/api/token", tokenTTLHeader, "0"); got != http.StatusBadRequest {
		t.Errorf("a token without life: status %d", got)
	}
	if _, err := read(t.Context(), imdsClient(t, c), "instance-id"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("there is no instance, error %v", err)
	}
	c.SetMetadata(false)
	if _, err := read(t.Context(), imdsClient(t, c), "instance-id"); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("the service is off, error %v", err)
	}
	c.SetMetadata(true)
	c.Interceptor().Inject("imds", simserver.Always(), Error(http.StatusServiceUnavailable, "", "busy"))
	if _, err := read(t.Context(), imdsClient(t, c), "instance-id"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("the service is broken, error %v", err)
	}
}
