package aws

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

func parseConfig(t testing.TB, text string) *config.File {
	t.Helper()
	file, err := config.Parse("aws.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return file
}

func problemLines(problems config.Problems) []string {
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.Severity.String()+": "+problem.String())
	}

	return lines
}

// byDefault is what no file means.
func byDefault() Global {
	return Global{
		NodeIPFamilies: []string{"ipv4"},
		ClusterServiceLoadBalancerHealthProbeMode:       "ServiceNodePort",
		ClusterServiceSharedLoadBalancerHealthProbePort: 10256,
		ClusterServiceSharedLoadBalancerHealthProbePath: "/healthz",
		SupportedTopologyInstanceTypePattern:            `^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`,
	}
}

// TestDefaults covers AWS-CONFIG-1: no file, an empty one and an empty section
// mean the same.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]*config.File{
		"no file": nil, "empty": parseConfig(t, ""), "empty section": parseConfig(t, "[Global]\n"),
	} {
		cfg, problems := decode(file)
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problemLines(problems))
		}
		if diff := cmp.Diff(byDefault(), cfg.Global); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]address.Family{address.IPv4}, cfg.families); diff != "" {
			t.Errorf("%s: families (-want +got):\n%s", name, diff)
		}
		want := request.Config{SharedProbePort: 10256, SharedProbePath: "/healthz"}
		if diff := cmp.Diff(want, cfg.balancing(identity{})); diff != "" {
			t.Errorf("%s: what load balancers get (-want +got):\n%s", name, diff)
		}
		for kind, must := range map[string]bool{"p5.48xlarge": true, "hpc7a.96xlarge": true, "trn1n.32xlarge": true, "p": false, "m5.large": false, "g5.xlarge": false} {
			if got := cfg.topologyTypes.MatchString(kind); got != must {
				t.Errorf("%s: the topology of %s must be known: %v", name, kind, got)
			}
		}
	}
}

// TestEveryKey reads a file with every key, in letters of any case
// (AWS-CONFIG-1).
func TestEveryKey(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "config", "everything.conf"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems := decode(parseConfig(t, string(data)))
	if len(problems) > 0 {
		t.Fatalf("the file has problems: %v", problemLines(problems))
	}
	want := Global{
		Zone: "us-west-2-lax-1a", Region: "us-west-2", VPC: "vpc-1", SubnetID: "subnet-1", RouteTableID: "rtb-1",
		RoleARN: "arn:aws:iam::123456789012:role/ccm", SourceARN: "arn:aws:eks:us-west-2:123456789012:cluster/demo",
		KubernetesClusterTag: "demo", KubernetesClusterID: "demo",
		DisableSecurityGroupIngress: true, ElbSecurityGroup: "sg-1", NodeIPFamilies: []string{"ipv6", "ipv4"},
		ClusterServiceLoadBalancerHealthProbeMode: "Shared", ClusterServiceSharedLoadBalancerHealthProbePort: 10300,
		ClusterServiceSharedLoadBalancerHealthProbePath: "/ready", SupportedTopologyInstanceTypePattern: `^p5\.`,
		NLBSecurityGroupMode: "Managed",
	}
	if diff := cmp.Diff(want, cfg.Global); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]address.Family{address.IPv6, address.IPv4}, cfg.families); diff != "" {
		t.Errorf("families in the order of the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cluster.ID{Name: "demo", Legacy: true}, cfg.clusterID()); diff != "" {
		t.Errorf("KubernetesClusterTag switches the legacy tag on (-want +got):\n%s", diff)
	}
	balancing := request.Config{
		Cluster: cluster.ID{Name: "demo"}, VPC: "vpc-2", LeaveNodeSecurityGroups: true, ClassicSecurityGroup: "sg-1",
		ManagedNetworkGroups: true, SharedProbe: true, SharedProbePort: 10300, SharedProbePath: "/ready",
	}
	if diff := cmp.Diff(balancing, cfg.balancing(identity{VPC: "vpc-2", Cluster: cluster.ID{Name: "demo"}})); diff != "" {
		t.Errorf("what load balancers get (-want +got):\n%s", diff)
	}
	overrides := []client.Override{{
		Service: client.ServiceEC2, Region: "us-west-2", URL: "https://ec2.example.com/base", SigningRegion: "signing-1", SigningName: "myec2",
	}}
	if diff := cmp.Diff(overrides, cfg.overrides); diff != "" {
		t.Errorf("overrides, trimmed (-want +got):\n%s", diff)
	}
	if cfg.deletionLimit == nil || *cfg.deletionLimit != 50 {
		t.Error("[NodeDeletion] limit must count")
	}
	if !cfg.deleteByName || !cfg.topologyTypes.MatchString("p5.48xlarge") || cfg.topologyTypes.MatchString("p4d.24xlarge") {
		t.Error("[NodeDeletion] by-name and the topology pattern must count")
	}
}

// TestRegion covers AWS-CONFIG-2: how Zone and Region make the region.
func TestRegion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, zone, region, want string }{
		"zone":           {"the region is in the name", "eu-central-1b", "", "eu-central-1"},
		"local zone":     {"up to the first digits", "us-west-2-lax-1a", "", "us-west-2"},
		"wavelength":     {"the region of a Wavelength zone", "us-east-1-wl1-bos-wlz-1", "", "us-east-1"},
		"government":     {"several words", "us-gov-west-1a", "", "us-gov-west-1"},
		"no letter":      {"a region is a zone, too", "us-east-1", "", "us-east-1"},
		"zone wins":      {"Zone wins over Region", "us-east-1a", "us-west-2", "us-east-1"},
		"region":         {"Region without Zone", "", "us-west-2", "us-west-2"},
		"neither":        {"left to others", "", "", ""},
		"not like a one": {"any text is a region", "", "local", "local"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, problems := decode(parseConfig(t, "[Global]\nZone="+tc.zone+"\nRegion="+tc.region+"\n"))
			if err := problems.Err(); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if cfg.Global.Region != tc.want {
				t.Errorf("%s: region %q, want %q", tc.reason, cfg.Global.Region, tc.want)
			}
		})
	}
}

// TestProblems checks that what is wrong is reported with its position, and how
// bad it is.
func TestProblems(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, file string
		want         []string
	}{
		"zone": {"AWS-CONFIG-2: no region in the zone", "[Global]\nZone = 2a", []string{
			`error: aws.conf:2:1: [Global] Zone: "2a" is not an availability zone such as us-west-2a`,
		}},
		"zone and region": {"the zone wins, with a warning", "[Global]\nZone = us-east-1a\nRegion = us-west-2", []string{
			`warning: aws.conf:3:1: [Global] Region: us-west-2 is ignored: Zone is in us-east-1`,
		}},
		"region as a zone": {"AWS-CONFIG-2: the region is used", "[Global]\nZone = us-east-1", []string{
			`warning: aws.conf:2:1: [Global] Zone: "us-east-1" is a region: set Region, or a zone such as us-east-1a`,
		}},
		"region": {"AWS-CONFIG-11: no such direction", "[Global]\nRegion = eu-centrall-1", []string{
			`warning: aws.conf:2:1: [Global] Region: "eu-centrall-1" is not a known region, did you mean eu-central-1?`,
		}},
		"region of a zone": {"AWS-CONFIG-11: no such area", "[Global]\nZone = us-gvo-west-1a", []string{
			`warning: aws.conf:2:1: [Global] Zone: "us-gvo-west-1" is not a known region, did you mean us-gov-west-1?`,
		}},
		"another region": {"AWS-CONFIG-11: nothing is near", "[Global]\nRegion = moon-base-1", []string{
			`warning: aws.conf:2:1: [Global] Region: "moon-base-1" is not a known region`,
		}},
		"new region":       {"AWS-CONFIG-11: AWS adds numbers", "[Global]\nRegion = ap-southeast-99", nil},
		"sovereign region": {"AWS-CONFIG-11: two words", "[Global]\nZone = eusc-de-east-1a", nil},
		"own region":       {"AWS-CONFIG-11: a cloud with the API of AWS", "[Global]\nRegion = RegionOne\n" + full("1", "ec2", "RegionOne", "https://ec2.example.com"), nil},
		"IDs": {"AWS-CONFIG-11: names in place of IDs", "[Global]\nVPC = my vpc\nSubnetID = subnet-\nRouteTableID = main\nElbSecurityGroup = sg-0a1b", []string{
			`warning: aws.conf:2:1: [Global] VPC: "my vpc" is not an ID such as vpc-0123456789abcdef0`,
			`warning: aws.conf:3:1: [Global] SubnetID: "subnet-" is not an ID such as subnet-0123456789abcdef0`,
			`warning: aws.conf:4:1: [Global] RouteTableID: "main" is not an ID such as rtb-0123456789abcdef0`,
		}},
		"source": {"AWS-CONFIG-3: SourceARN is an ARN", "[Global]\nRoleARN = arn:aws:iam::123456789012:role/ccm\nSourceARN = demo", []string{
			`warning: aws.conf:3:1: [Global] SourceARN: "demo" is not an ARN such as arn:aws:eks:us-west-2:123456789012:cluster/name`,
		}},
		"probe path": {"AWS-CONFIG-11: AWS refuses it", "[Global]\nClusterServiceSharedLoadBalancerHealthProbePath = ready", []string{
			`warning: aws.conf:2:1: [Global] ClusterServiceSharedLoadBalancerHealthProbePath: "ready" does not begin with a slash, as in /healthz`,
		}},
		"plain endpoint": {
			"AWS-CONFIG-11: session tokens in plain text, but not of the metadata and of a tunnel",
			"[Global]\nRegion = eu-west-1\n" + full("1", "ec2", "eu-west-1", "http://ec2.example.com") +
				full("2", "ec2imds", "any", "http://169.254.169.254") + full("3", "sts", "eu-west-1", "http://localhost:8080"),
			[]string{
				`warning: aws.conf:6:1: [ServiceOverride "1"] URL: requests have credentials, which http does not encrypt: use https://`,
			},
		},
		"endpoint of a mistyped region": {
			"AWS-CONFIG-11: it has no effect", "[Global]\nRegion = eu-west-1\n" + full("1", "ec2", "eu-wset-1", "https://ec2.example.com") + full("2", "ec2", "eu-west-2", "https://ec2.example.com"), []string{
				`warning: aws.conf:5:1: [ServiceOverride "1"] Region: "eu-wset-1" is not a known region, did you mean eu-west-1?`,
			},
		},
		"role": {"AWS-CONFIG-3: RoleARN must be an ARN", "[Global]\nRoleARN = ccm", []string{
			`error: aws.conf:2:1: [Global] RoleARN: "ccm" is not an ARN such as arn:aws:iam::123456789012:role/name`,
		}},
		"role without account": {"the header needs the account", "[Global]\nRoleARN = arn:aws:iam:::role/ccm", []string{
			`error: aws.conf:2:1: [Global] RoleARN: "arn:aws:iam:::role/ccm" names no account`,
		}},
		"source alone": {"AWS-CONFIG-3: SourceARN only with RoleARN", "[Global]\nSourceARN = x", []string{
			`warning: aws.conf:2:1: [Global] SourceARN: is ignored without RoleARN`,
		}},
		"clusters": {"AWS-CONFIG-3: both set and different", "[Global]\nKubernetesClusterTag = a\nKubernetesClusterID = b", []string{
			`error: aws.conf:3:1: [Global] KubernetesClusterID: "b" is not the same as KubernetesClusterTag, which is "a"`,
		}},
		"one family": {"AWS-CONFIG-5: the unknown is ignored, at its own line", "[Global]\nNodeIPFamilies = ipx\nNodeIPFamilies = ipv4", []string{
			`warning: aws.conf:2:1: [Global] NodeIPFamilies: "ipx" must be ipv4 or ipv6: write one line for each, the preferred one first`,
		}},
		"no family": {"AWS-CONFIG-5: no usable family", "[Global]\nNodeIPFamilies = ipv4,ipv6", []string{
			`error: aws.conf:2:1: [Global] NodeIPFamilies: "ipv4,ipv6" must be ipv4 or ipv6: write one line for each, the preferred one first`,
		}},
		"family twice": {"AWS-CONFIG-5: the second one is ignored", "[Global]\nNodeIPFamilies = ipv4\nNodeIPFamilies = ipv4", []string{
			`warning: aws.conf:3:1: [Global] NodeIPFamilies: ipv4 is listed twice`,
		}},
		"topology": {"AWS-CONFIG-5: a bad expression is an error, no panic", "[Global]\nSupportedTopologyInstanceTypePattern = (", []string{
			"error: aws.conf:2:1: [Global] SupportedTopologyInstanceTypePattern: \"(\" is not a regular expression: error parsing regexp: missing closing ): `(`",
		}},
		"probe mode": {"AWS-CONFIG-6: a warning at the start", "[Global]\nClusterServiceLoadBalancerHealthProbeMode = shared", []string{
			`warning: aws.conf:2:1: [Global] ClusterServiceLoadBalancerHealthProbeMode: "shared" is not ServiceNodePort or Shared: Services that request a network load balancer do not get one`,
		}},
		"group mode": {"AWS-CONFIG-6: a warning at the start", "[Global]\nNLBSecurityGroupMode = managed", []string{
			`warning: aws.conf:2:1: [Global] NLBSecurityGroupMode: "managed" is not Managed: Services that request a network load balancer do not get one`,
		}},
		"port": {"a port has at most 65535", "[Global]\nClusterServiceSharedLoadBalancerHealthProbePort = 70000", []string{
			`error: aws.conf:2:1: [Global] ClusterServiceSharedLoadBalancerHealthProbePort: 70000 is not a port number (1 to 65535)`,
		}},
		"old key": {"files of the in-tree provider", "[Global]\nDisableStrictZoneCheck = true", []string{
			`note: aws.conf:2:1: [Global] DisableStrictZoneCheck is ignored: it is no longer used`,
		}},
		"mistyped": {"FW-CONFIG-7: unknown keys are warnings", "[Global]\nSubnet = x\n[Globel]\n", []string{
			`warning: aws.conf:2:1: unknown key [Global] Subnet, did you mean SubnetID?`,
			`warning: aws.conf:3:1: unknown section [Globel], did you mean [Global]?`,
		}},
		"strict": {"FW-CONFIG-7: an error in strict files", "[Multicloud]\nstrict\n[Global]\nZome = us-east-1a", []string{
			`error: aws.conf:4:1: unknown key [Global] Zome, did you mean Zone?`,
		}},
		"provider": {"FW-CONFIG-4: a file for another", "[Global]\nprovider = vsphere", []string{
			`error: aws.conf:2:1: [Global] provider: this file is for provider "vsphere", not for aws`,
		}},
		"yaml": {"FW-CONFIG-3: YAML is for vSphere only", "global:\n  provider: aws\n", []string{
			`error: aws.conf: a cloud-config for aws is not written in YAML but in sections such as [Global]`,
		}},
		"bool": {"a bad value is an error", "[Global]\nDisableSecurityGroupIngress = maybe", []string{
			`error: aws.conf:2:1: [Global] DisableSecurityGroupIngress: "maybe" must be true or false`,
		}},
		"all at once": {"one run reports everything", "[Global]\nZone = x\nRoleARN = y\n[Controllers]\nkube-api-qps = 0", []string{
			`error: aws.conf:2:1: [Global] Zone: "x" is not an availability zone such as us-west-2a`,
			`error: aws.conf:3:1: [Global] RoleARN: "y" is not an ARN such as arn:aws:iam::123456789012:role/name`,
			`error: aws.conf:5:1: [Controllers] kube-api-qps: must be a number above zero, got 0`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, problemLines(decodeProblems(parseConfig(t, tc.file), config.TextOnly))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBadNetworkSetting covers AWS-CONFIG-6: a bad mode keeps network load
// balancers from working and nothing else.
func TestBadNetworkSetting(t *testing.T) {
	t.Parallel()
	for key, text := range map[string]string{
		"ClusterServiceLoadBalancerHealthProbeMode": `the cloud-config is wrong for network load balancers: [Global] ClusterServiceLoadBalancerHealthProbeMode is "x", not ServiceNodePort or Shared`,
		"NLBSecurityGroupMode":                      `the cloud-config is wrong for network load balancers: [Global] NLBSecurityGroupMode is "x", not Managed`,
	} {
		cfg, problems := decode(parseConfig(t, "[Global]\n"+key+" = x\n"))
		if err := problems.Err(); err != nil {
			t.Errorf("AWS-CONFIG-6: the process must start: %v", err)
		}
		got := cfg.balancing(identity{})
		if got.BadNetworkSetting == nil || got.BadNetworkSetting.Error() != text || apierr.Code(got.BadNetworkSetting) != apierr.CodeInvalid {
			t.Errorf("AWS-CONFIG-6: got %v, want %q", got.BadNetworkSetting, text)
		}
		if got.SharedProbe || got.ManagedNetworkGroups {
			t.Errorf("AWS-CONFIG-6: a bad %s must switch nothing on", key)
		}
	}
}

// override is the text of a section.
func override(name string, lines ...string) string {
	return "[ServiceOverride \"" + name + "\"]\n" + strings.Join(lines, "\n") + "\n"
}

// full is a section with all that is required.
func full(name, service, region, url string) string {
	return override(name, "Service = "+service, "Region = "+region, "URL = "+url, "SigningRegion = s1")
}

// TestServiceNames covers AWS-CONFIG-9: which names mean which API.
func TestServiceNames(t *testing.T) {
	t.Parallel()
	unknown := func(name, near string) []string {
		return []string{`warning: aws.conf:2:1: [ServiceOverride "1"] Service: "` + name + `" is no service that this provider calls: [ServiceOverride "1"] is ignored` + near}
	}
	cases := map[string]struct {
		reason   string
		want     []client.Service
		problems []string
	}{
		"EC2":                       {reason: "the name in the SDK", want: []client.Service{client.ServiceEC2}},
		"Elastic Load Balancing":    {reason: "the name in the SDK", want: []client.Service{client.ServiceELB}},
		"Elastic Load Balancing v2": {reason: "the name in the SDK", want: []client.Service{client.ServiceELBV2}},
		"ec2imds":                   {reason: "the name in the SDK", want: []client.Service{client.ServiceIMDS}},
		"KMS":                       {reason: "known, and not called"},
		"ec2":                       {reason: "AWS-CONFIG-9: older name", want: []client.Service{client.ServiceEC2}},
		"elasticloadbalancing":      {reason: "AWS-CONFIG-9: both APIs", want: []client.Service{client.ServiceELB, client.ServiceELBV2}},
		"elasticloadbalancingv2":    {reason: "AWS-CONFIG-9: older name", want: []client.Service{client.ServiceELBV2}},
		"sts":                       {reason: "AWS-CONFIG-9, AWS-AUTH-3: STS can be overridden", want: []client.Service{client.ServiceSTS}},
		"STS":                       {reason: "AWS-CONFIG-9: whatever the case", want: []client.Service{client.ServiceSTS}},
		"eLasticLoadBalancing":      {reason: "AWS-CONFIG-9: whatever the case", want: []client.Service{client.ServiceELB, client.ServiceELBV2}},
		"ELASTIC LOAD BALANCING V2": {reason: "AWS-CONFIG-9: whatever the case", want: []client.Service{client.ServiceELBV2}},
		"kms":                       {reason: "AWS-CONFIG-9: known in any case"},
		"s3":                        {reason: "AWS-CONFIG-9: a warning", problems: unknown("s3", "")},
		"ec 2":                      {reason: "AWS-CONFIG-9: a warning", problems: unknown("ec 2", ", did you mean EC2?")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, problems := decode(parseConfig(t, full("1", name, "r1", "https://x.example.com")))
			if diff := cmp.Diff(tc.problems, problemLines(problems)); diff != "" {
				t.Errorf("%s: problems (-want +got):\n%s", tc.reason, diff)
			}
			var got []client.Service
			for _, o := range cfg.overrides {
				got = append(got, o.Service)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOverrides covers AWS-CONFIG-7, AWS-CONFIG-8 and AWS-CONFIG-9: what sections
// need, and which one counts.
func TestOverrides(t *testing.T) {
	t.Parallel()
	const u1, u2 = "https://one.example.com", "https://two.example.com"
	cases := map[string]struct {
		reason, file string
		// want are URLs by service and region.
		want     map[string]string
		problems []string
	}{
		"trimmed": {
			reason: "AWS-CONFIG-9: blanks in quotes do not count",
			file:   override("1", `Service = " EC2 "`, `Region = " r1"`, `URL = " `+u1+` "`, `SigningRegion = "s1 "`),
			want:   map[string]string{"EC2 r1": u1},
		},
		"nothing": {
			reason: "each missing value is an error that names the section",
			file:   override("my api"),
			problems: []string{
				`error: aws.conf:1:1: [ServiceOverride "my api"] Service: needs a value`,
				`error: aws.conf:1:1: [ServiceOverride "my api"] Region: needs a value`,
				`error: aws.conf:1:1: [ServiceOverride "my api"] URL: needs a value`,
				`error: aws.conf:1:1: [ServiceOverride "my api"] SigningRegion: needs a value`,
			},
		},
		"blank": {
			reason:   "required after trimming",
			file:     override("1", "Service = EC2", `Region = "  "`, "URL = "+u1, "SigningRegion = s1"),
			problems: []string{`error: aws.conf:3:1: [ServiceOverride "1"] Region: needs a value`},
		},
		"url": {
			reason:   "AWS-CONFIG-9: the URL must be one",
			file:     full("1", "EC2", "r1", "ec2.example.com"),
			problems: []string{`error: aws.conf:4:1: [ServiceOverride "1"] URL: "ec2.example.com" is not a URL such as https://ec2.example.com`},
		},
		"credentials": {
			reason:   "AWS-CONFIG-7: they are not shown",
			file:     full("1", "EC2", "r1", "ftp://me:s3cret@ec2.example.com"),
			problems: []string{`error: aws.conf:4:1: [ServiceOverride "1"] URL: "ftp://<redacted>@ec2.example.com" is not a URL such as https://ec2.example.com`},
		},
		"unparsable": {
			reason:   "AWS-CONFIG-7: every mistake is reported",
			file:     full("1", "EC2", "r1", "https://[::1"),
			problems: []string{`error: aws.conf:4:1: [ServiceOverride "1"] URL: "https://[::1" is not a URL such as https://ec2.example.com`},
		},
		"twice": {
			reason:   "the same service and region",
			file:     full("1", "EC2", "r1", u1) + full("2", `" EC2"`, "r1", u2),
			want:     map[string]string{"EC2 r1": u1},
			problems: []string{`error: aws.conf:7:1: [ServiceOverride "2"]: [ServiceOverride "1"] has an endpoint for EC2 in r1 already`},
		},
		"two regions": {
			reason: "they are for different regions",
			file:   full("1", "EC2", "r1", u1) + full("2", "EC2", "r2", u2),
			want:   map[string]string{"EC2 r1": u1, "EC2 r2": u2},
		},
		"old and new name": {
			reason:   "AWS-CONFIG-9: a file for several versions starts, and the name that always counted wins",
			file:     full("1", "ec2", "r1", u1) + full("2", "EC2", "r1", u2),
			want:     map[string]string{"EC2 r1": u2},
			problems: []string{`warning: aws.conf:2:1: [ServiceOverride "1"] is ignored: [ServiceOverride "2"] sets it for EC2`},
		},
		"both and one": {
			reason: "AWS-CONFIG-9: elasticloadbalancing is for what nothing else names",
			file:   full("1", "elasticloadbalancing", "r1", u1) + full("2", "elasticloadbalancingv2", "r1", u2),
			want:   map[string]string{"Elastic Load Balancing r1": u1, "Elastic Load Balancing v2 r1": u2},
		},
		"metadata": {
			reason: "the override of the metadata ignores the region",
			file:   full("1", "ec2imds", "r1", u1) + full("2", "ec2imds", "r2", u2),
			want:   map[string]string{"ec2imds r1": u1},
			problems: []string{
				`warning: aws.conf:7:1: [ServiceOverride "2"] is ignored: [ServiceOverride "1"] sets it for ec2imds`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, problems := decode(parseConfig(t, tc.file))
			if diff := cmp.Diff(tc.problems, problemLines(problems)); diff != "" {
				t.Errorf("%s: problems (-want +got):\n%s", tc.reason, diff)
			}
			got := map[string]string{}
			for _, o := range cfg.overrides {
				got[string(o.Service)+" "+o.Region] = o.URL
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// TestExplain checks that every effective key is listed with its source.
func TestExplain(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "config", "some.conf"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, s := range explain(parseConfig(t, string(data))) {
		got.WriteString(s.Name.String() + " = " + s.Value + "  # " + s.Source + "\n")
	}
	golden := filepath.Join("testdata", "config", "some.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(explain(nil)) == 0 {
		t.Error("without a file there are defaults to explain")
	}
}
