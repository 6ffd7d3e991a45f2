package inventory

import (
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
)

// TestParseProviderID covers AWS-ID-1 and AWS-ID-2.
func TestParseProviderID(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, id, want string }{
		"as emitted":         {"zone and instance", "aws:///us-east-1a/i-0abc", "i-0abc"},
		"no zone":            {"an empty zone", "aws:////i-0abc", "i-0abc"},
		"no zone, no slash":  {"the instance alone", "aws:///i-0abc", "i-0abc"},
		"account":            {"the last part counts", "aws://123456789012/us-east-1a/i-0abc", "i-0abc"},
		"slash at the end":   {"an empty part at the end does not count", "aws:///us-east-1a/i-0abc/", "i-0abc"},
		"bare":               {"no scheme", "i-0abc", "i-0abc"},
		"fargate":            {"AWS-FARGATE-1: the name of a Fargate node", "aws:///us-east-1a/0123abc/fargate-ip-10-0-0-1.ec2.internal", "fargate-ip-10-0-0-1.ec2.internal"},
		"fargate address":    {"AWS-FARGATE-1: the address of a Fargate node", "aws:///us-east-1a/0123abc/fargate-10.0.0.1", "fargate-10.0.0.1"},
		"scheme in capitals": {"schemes have no case", "AWS:///us-east-1a/i-0abc", "i-0abc"},
		"empty":              {"an error", "", ""},
		"scheme alone":       {"an error", "aws://", ""},
		"volume":             {"an error", "aws:///us-east-1a/vol-0abc", ""},
		"zone alone":         {"an error", "aws:///us-east-1a/", ""},
		"name":               {"an error", "node-1", ""},
		"prefix alone":       {"EC2 has no such ID", "aws:///us-east-1a/i-", ""},
		"wildcard":           {"EC2 reads it as any instance", "aws:///us-east-1a/i-*", ""},
		"blank":              {"EC2 has no such ID", "aws:///us-east-1a/i-0 abc", ""},
		"another cloud":      {"AWS-ID-2: rejected", "gce://project/zone/i-0abc", ""},
		"another cloud, two": {"AWS-ID-2: rejected", "openstack:///i-0abc", ""},
		"no scheme":          {"AWS-ID-2: rejected", "://us-east-1a/i-0abc", ""},
		"two schemes":        {"AWS-ID-2: rejected", "aws:///gce://project/i-0abc", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseProviderID(tc.id)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%s: want %q, got %q, %v", tc.reason, tc.want, got, err)
			}
			if IsFargate(got) != strings.Contains(tc.want, "fargate") {
				t.Errorf("%s: IsFargate(%q) is %t", tc.reason, got, IsFargate(got))
			}
		})
	}
}

// FuzzProviderID: what is accepted names one instance, which is written and read
// back as itself, and is never of another cloud (AWS-ID-2).
func FuzzProviderID(f *testing.F) {
	for _, seed := range []string{"", "aws://", "aws:///us-east-1a/i-0abc", "i-0abc", "gce://p/z/i-1", "://i-0abc", "aws:///z/x/fargate-ip-10-0-0-1", "AWS:////i-1//", "aws:///i-*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseProviderID(text)
		if err != nil {
			if id != "" {
				t.Fatalf("%q: got %q together with %v", text, id, err)
			}

			return
		}
		if providerid.Classify(Scheme, text) == providerid.Foreign {
			t.Fatalf("%q is foreign", text)
		}
		if strings.Contains(id, "/") || !IsFargate(id) && !IsInstanceID(id) || !strings.HasSuffix(strings.TrimRight(text, "/"), id) {
			t.Fatalf("%q: got %q", text, id)
		}
		for _, form := range []string{FormatProviderID("us-east-1a", id), FormatProviderID("", id), id} {
			if again, err := ParseProviderID(form); again != id || err != nil {
				t.Fatalf("%q: got %q, %v", form, again, err)
			}
		}
	})
}

// TestRegionOf: the zone in a provider ID contains its region, where there is
// one.
func TestRegionOf(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"aws:///us-west-2a/i-0abc":                         "us-west-2",
		"aws:///us-west-2-lax-1a/i-0abc":                   "us-west-2",
		"aws:///us-east-1-wl1-bos-wlz-1/i-0abc":            "us-east-1",
		"aws:///us-gov-west-1b/i-0abc/":                    "us-gov-west-1",
		"aws://123456789012/eu-central-1a/i-0abc":          "eu-central-1",
		"aws://prod-1/eu-central-1a/i-0abc":                "eu-central-1",
		"aws:///us-west-2a/x/fargate-ip-10-0-1-2.internal": "us-west-2",
		"aws:////i-0abc":                                   "",
		"i-0abc":                                           "",
		"aws:///nova/i-0abc":                               "",
		"aws:///usw2-az1/i-0abc":                           "",
		"aws:///x/fargate-ip-10-0-1-2.us-east-1.internal":  "",
	} {
		if got := RegionOf(id); got != want {
			t.Errorf("%s is in %q, want %q", id, got, want)
		}
	}
}
