package aws

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"
)

// emptyHash is the SHA-256 of nothing.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// changing is what differs between responses.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// TestWire compares responses with golden files, in which AWS's documentation and
// the deserializers of its SDK can be checked against. Requests are as an old
// client sends them: signed GETs with the parameters in the query.
func TestWire(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"describe-instances":       "Action=DescribeInstances&Version=2016-11-15&InstanceId.1=i-0a",
		"instance-not-found":       "Action=DescribeInstances&Version=2016-11-15&InstanceId.1=i-0dead",
		"describe-security-groups": "Action=DescribeSecurityGroups&Version=2016-11-15&GroupId.1=sg-0a",
		"describe-route-tables":    "Action=DescribeRouteTables&Version=2016-11-15&RouteTableId.1=rtb-0a",
		"create-tags":              "Action=CreateTags&Version=2016-11-15&ResourceId.1=i-0a&Tag.1.Key=a&Tag.1.Value=%3Cb%3E",
		"invalid-action":           "Action=RunInstances&Version=2016-11-15",
		"get-caller-identity":      "Action=GetCallerIdentity&Version=2011-06-15",
		"assume-role-invalid":      "Action=AssumeRole&Version=2011-06-15&RoleArn=x%26y&RoleSessionName=ccm",
	}
	for name, query := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, Options{Clock: testingclock.NewFakePassiveClock(time.Unix(1_700_000_000, 0))})
			seed := c.Seed("demo")
			c.AddSecurityGroup(SecurityGroupSpec{ID: "sg-0a", VPC: seed.VPC, Name: "lb", Description: "a & b", Rules: []Rule{
				{"tcp", 80, 80, "10.0.0.0/8", "web"}, {"tcp", 80, 80, "2001:db8::/32", ""}, {Protocol: "-1", Source: seed.NodeGroup},
			}})
			seed.AddNode(InstanceSpec{ID: "i-0a", InterfaceSpec: InterfaceSpec{IPv6: true, Public: true}})
			c.AddRouteTable(RouteTableSpec{ID: "rtb-0a", VPC: seed.VPC, Routes: []RouteSpec{{Destination: "100.96.1.0/24", Instance: "i-0a"}}})
			golden(t, name, get(t, c, query))
		})
	}
}

// get sends a signed GET and returns the response.
func get(t *testing.T, c *Cloud, query string) string {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+"/?"+values.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	service := "ec2"
	if values.Get("Version") == "2011-06-15" {
		service = "sts"
	}
	id, secret := c.AccessKey()
	err = v4.NewSigner().SignHTTP(t.Context(), awssdk.Credentials{AccessKeyID: id, SecretAccessKey: secret}, r, emptyHash, service, c.Region(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := config(t, c).HTTPClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := changing.ReplaceAllString(string(body), "REQUEST-ID")

	return resp.Status + "\n" + resp.Header.Get("Content-Type") + "\n" + strings.ReplaceAll(text, "><", ">\n<") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
